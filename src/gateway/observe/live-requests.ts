// Requests as they end, for the people who watch the live page now. An observer of requests that does nothing, but for one look at a boolean, while nobody
// watches. Bounded: so many requests per second, the others are only counted. It holds names and outcomes: no query, header, argument or claim.
import { cutText } from '../../base/cut-text.ts';
import { redactText } from '../../base/redact.ts';
import { measureDuration, type RequestContext } from '../request/request-context.ts';
import type { RequestObserver } from '../request/request-observer.ts';
import { showMessage, type ShownMessage } from '../request/seen-message.ts';
import { BodyGlances } from './glance-body.ts';

/** A request that has ended. Plain data: it travels from workers and to browsers. What is unknown is null. */
export interface LiveRequest {
  readonly id: string;
  /** When its head had arrived (ISO 8601). */
  readonly time: string;
  readonly milliseconds: number;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** namespace/name of the HTTPRoute, and the rule. */
  readonly route: string | null;
  /** The MCP message: of a batch the first one. */
  readonly message: {
    readonly method: string;
    readonly kind: ShownMessage['kind'] | null;
    readonly item: string | null;
    readonly count: number;
  } | null;
  readonly status: number;
  readonly reason: string | null;
  /** Policies had a say: the journal has their decisions. */
  readonly isJudged: boolean;
}

/** What has ended since the batch before. */
export interface LiveBatch {
  readonly requests: readonly LiveRequest[];
  /** Further ones that were only counted. */
  readonly skipped: number;
}

export interface LiveLimits {
  /** How often watchers are told. */
  readonly flushMs: number;
  /** Requests in one batch. */
  readonly maxPerBatch: number;
}

/** 100 per second: more than anybody can read. */
export const liveLimits: LiveLimits = { flushMs: 250, maxPerBatch: 25 };

const maxPathLength = 256;

type Watcher = (batch: LiveBatch) => void;

/** The requests that end now, for whoever watches. */
export class LiveRequests implements RequestObserver {
  readonly #limits: LiveLimits;
  readonly #watchers = new Set<Watcher>();
  readonly #glances = new BodyGlances();
  readonly #followers: ((isWatched: boolean) => void)[] = [];
  #isWatched = false;
  #requests: LiveRequest[] = [];
  #skipped = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLogged = false;

  constructor(limits: LiveLimits = liveLimits) {
    this.#limits = limits;
  }

  /** From now on, requests are looked at for the log, too: people who read it want to know the tool whether anybody watches or not. */
  lookForLog(): void {
    this.#isLogged = true;
  }

  get isWatched(): boolean {
    return this.#isWatched;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Is told when the first watcher comes and when the last one leaves. */
  follow(follower: (isWatched: boolean) => void): void {
    this.#followers.push(follower);
  }

  /** Watches from now on. Returns the function that ends it. */
  watch(watcher: Watcher): () => void {
    // What ended before is for those who were there.
    this.#flush();
    this.#watchers.add(watcher);
    if (!this.#isWatched) this.#setWatched(true);
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0 && this.#isWatched) this.#setWatched(false);
    };
  }

  start(context: RequestContext): void {
    if (this.#isWatched || this.#isLogged) this.#glances.open(context);
  }

  finish(context: RequestContext): void {
    if (this.#isWatched || this.#isLogged) this.#glances.close(context);
    if (this.#isWatched) this.#note(context);
  }

  /** Takes the batch of another process. */
  take({ requests, skipped }: LiveBatch): void {
    if (!this.#isWatched) return;
    const fitting = requests.slice(0, Math.max(0, this.#limits.maxPerBatch - this.#requests.length));
    this.#requests.push(...fitting);
    this.#skipped += skipped + requests.length - fitting.length;
  }

  #note(context: RequestContext): void {
    if (this.#requests.length >= this.#limits.maxPerBatch) {
      this.#skipped += 1;
      return;
    }
    const message = context.mcpMessage ?? context.glimpsed;
    this.#requests.push(describeRequest(context, message === undefined ? undefined : showMessage(message)));
  }

  #setWatched(isWatched: boolean): void {
    this.#isWatched = isWatched;
    clearInterval(this.#timer);
    if (isWatched) this.#timer = setInterval(() => this.#flush(), this.#limits.flushMs).unref();
    this.#requests = [];
    this.#skipped = 0;
    if (!this.#isLogged) this.#glances.forget();
    for (const follower of this.#followers) follower(isWatched);
  }

  #flush(): void {
    if (this.#requests.length === 0 && this.#skipped === 0) return;
    const batch = { requests: this.#requests, skipped: this.#skipped };
    this.#requests = [];
    this.#skipped = 0;
    for (const watcher of this.#watchers) watcher(batch);
  }
}

function describeRequest(context: RequestContext, message: ShownMessage | undefined): LiveRequest {
  const { route } = context;
  return {
    id: context.requestId,
    time: new Date(context.startedAtMs).toISOString(),
    milliseconds: Math.round(measureDuration(context) * 10) / 10,
    method: cutText(context.exchange.method, maxPathLength),
    path: cutText(redactText(context.path), maxPathLength),
    route:
      route === undefined
        ? null
        : `${route.httpRoute} rule ${route.ruleName === '' ? String(route.ruleIndex) : route.ruleName}`,
    message:
      message === undefined
        ? null
        : { method: message.method, kind: message.kind ?? null, item: message.item ?? null, count: message.count },
    status: context.status,
    reason: context.reason ?? null,
    isJudged: context.decisions.length > 0,
  };
}
