// The live page at the admin port: requests as they end, by server-sent events. Nothing is collected while nobody watches.
import type { LiveBatch, LiveRequests } from '../observe/live-requests.ts';
import { liveScript } from './live-script.ts';
import { answerPage } from './page-frame.ts';
import {
  answerError,
  type PlainAnswer,
  type PlainRequest,
  type PlainStream,
  type StreamOutlet,
} from './plain-server.ts';

/** Pages that may watch at the same time. */
export const maxViewers = 10;
/** Shows that the gateway is still there, and finds viewers that are gone. */
const beatMs = 15_000;
/** A viewer that takes nothing for so long is given up, so that another one has its place. */
const stallMs = 30_000;

/** What can be watched. */
export type WatchableRequests = Pick<LiveRequests, 'watch' | 'watchers'>;

/** Answers GET /live. */
export function answerLivePage(): PlainAnswer {
  return answerPage(
    'Live requests - mcp-gatehouse admin',
    `<h1>Live requests</h1>
<p class="soft">Requests as they end, the latest first: while this page is open and not paused. No query, header, argument or claim is shown.
Policies' decisions are under <a href="/requests">requests</a>.</p>
<noscript><p class="notice bad">This page needs its script. Without one, <a href="/requests">requests</a> shows what policies judged.</p></noscript>
<div class="bar"><button id="pause" type="button" disabled>Pause</button> <button id="clear" type="button" disabled>Clear</button>
<span id="state" role="status">not connected</span> <span id="skipped" class="soft"></span></div>
<table class="cards live"><caption class="hidden">Requests, the latest first</caption>
<colgroup><col class="share-15"><col class="share-20"><col class="share-20"><col class="share-20"><col class="share-15"><col class="share-10"></colgroup>
<thead><tr><th scope="col">Time</th><th scope="col">Outcome</th><th scope="col">Request</th><th scope="col">MCP message</th><th scope="col">Route</th><th scope="col" class="number">Took</th></tr></thead>
<tbody id="requests"></tbody></table>
<p id="empty" class="soft">No request has ended since this page was opened.</p>
<script src="/live/script.js"></script>`,
    { current: '/live', wide: true, hasScript: true },
  );
}

/** Answers GET /live/script.js. */
export function answerLiveScript(): PlainAnswer {
  return { status: 200, contentType: 'text/javascript; charset=utf-8', body: liveScript };
}

/** Answers GET /live/events. A link that leads a browser there shows the page instead, and takes nobody's place. */
export function answerLiveEvents(
  request: Pick<PlainRequest, 'accept'>,
  live: WatchableRequests,
  now: () => number = () => performance.now(),
): PlainAnswer | PlainStream {
  if (/\btext\/html\b/.test(request.accept))
    return { status: 303, contentType: 'text/plain', body: '', headers: { location: '/live' } };
  if (live.watchers >= maxViewers)
    return answerError(
      503,
      'too_many_viewers',
      `${maxViewers} pages watch the requests of this gateway already. Close or pause one of them.`,
    );
  return { contentType: 'text/event-stream', start: (outlet) => new Viewer(outlet, live, now).watch() };
}

/** One page that watches. A page that does not keep up misses requests, and is told how many. */
class Viewer {
  readonly #outlet: StreamOutlet;
  readonly #live: WatchableRequests;
  readonly #now: () => number;
  /** When it stopped reading; undefined: it reads. */
  #blockedAt: number | undefined;
  #missed = 0;

  constructor(outlet: StreamOutlet, live: WatchableRequests, now: () => number) {
    this.#outlet = outlet;
    this.#live = live;
    this.#now = now;
  }

  watch(): () => void {
    const beat = setInterval(() => this.#beat(), beatMs).unref();
    const unwatch = this.#live.watch((batch) => this.#take(batch));
    this.#write('retry: 2000\nevent: hello\ndata: {}\n\n');
    return () => {
      clearInterval(beat);
      unwatch();
    };
  }

  #take({ requests, skipped }: LiveBatch): void {
    if (this.#blockedAt !== undefined) {
      this.#missed += requests.length + skipped;
      return;
    }
    const batch: LiveBatch = { requests, skipped: skipped + this.#missed };
    this.#missed = 0;
    this.#write(`event: requests\ndata: ${JSON.stringify(batch)}\n\n`);
  }

  #beat(): void {
    if (this.#blockedAt === undefined) this.#write(': still here\n\n');
    else if (this.#now() - this.#blockedAt >= stallMs) this.#outlet.giveUp();
  }

  #write(text: string): void {
    if (this.#outlet.write(text)) return;
    this.#blockedAt = this.#now();
    this.#outlet.onDrain(() => (this.#blockedAt = undefined));
  }
}
