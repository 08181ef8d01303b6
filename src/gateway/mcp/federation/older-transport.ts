// Targets with the HTTP+SSE transport of 2024-11-05: a GET opens the one stream on which all answers come, and tells where to post. The connection is the
// session; another process cannot go on with it.
import { randomBytes } from 'node:crypto';
import type { Endpoint } from '../../forward/upstream/upstreams.ts';
import { readMember, readMessageHead } from '../names/message-head.ts';
import { readAnnouncedTarget } from '../sessions/legacy-sse.ts';
import { describeRefusal, MessageExchange } from './message-exchange.ts';
import type {
  MessageChannel,
  MessageChannels,
  MessageEvents,
  MessageRequest,
  MessageSource,
  Refusal,
} from './message-source.ts';
import { writeGetHeaders } from './modern-request.ts';
import type { ReadMessage } from './read-messages.ts';
import { fail, type Sender, type TargetParts } from './target-parts.ts';
import type { TargetFailure } from './target.ts';

/** How many connections there may be to one target. */
const maxConnections = 1_000;
/** How long one is kept after its last use. */
const idleMs = 300_000;
const lookEveryMs = 30_000;

type Connected = Awaited<ReturnType<MessageChannels['connect']>>;

export class OlderConnections implements MessageChannels {
  readonly #parts: TargetParts;
  readonly #clock: () => number;
  /** In the order of last use. */
  readonly #byId = new Map<string, OlderConnection>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: TargetParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? (() => performance.now());
  }

  connect(sender: Sender, timeoutMs: number): Promise<Connected> {
    if (this.#byId.size >= maxConnections && !this.#dropIdle())
      return Promise.resolve({ ok: false, failure: fail('down', 'it has too many connections'), refusal: undefined });
    const connection = new OlderConnection(this.#parts, this.#clock, () => this.#byId.delete(connection.id));
    this.#byId.set(connection.id, connection);
    this.#timer ??= setInterval(() => this.#look(), lookEveryMs).unref();
    return connection.connect(sender, timeoutMs);
  }

  find(id: string): MessageChannel {
    const found = this.#byId.get(id);
    if (found === undefined) return lostChannel;
    this.#byId.delete(id);
    this.#byId.set(id, found);
    return found;
  }

  close(): void {
    clearInterval(this.#timer);
    for (const connection of this.#byId.values()) connection.close();
  }

  #dropIdle(): boolean {
    for (const connection of this.#byId.values()) {
      if (connection.idleSince === undefined) continue;
      connection.close();
      return true;
    }
    return false;
  }

  #look(): void {
    const before = this.#clock() - idleMs;
    for (const connection of this.#byId.values())
      if (connection.idleSince !== undefined && connection.idleSince <= before) connection.close();
    if (this.#byId.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** A request that waits for its answer. */
interface Waiting {
  readonly events: MessageEvents;
  /** JSON. */
  readonly token: string | undefined;
  readonly post: MessageExchange;
  readonly timer: NodeJS.Timeout | undefined;
  /** The server has taken it. */
  isAccepted: boolean;
}

class OlderConnection implements MessageChannel {
  readonly id = `sse-${randomBytes(16).toString('base64url')}`;
  path = '';
  tag: string | undefined;
  idleSince: number | undefined;
  readonly #parts: TargetParts;
  readonly #clock: () => number;
  readonly #onClose: () => void;
  readonly #waiting = new Map<string, Waiting>();
  readonly #listeners = new Set<MessageEvents>();
  #stream: MessageExchange | undefined;
  #endpoint: Endpoint | undefined;
  /** Why the stream has ended. */
  #failure: TargetFailure | undefined;

  constructor(parts: TargetParts, clock: () => number, onClose: () => void) {
    this.#parts = parts;
    this.#clock = clock;
    this.#onClose = onClose;
  }

  connect(sender: Sender, timeoutMs: number): Promise<Connected> {
    const { promise, resolve } = Promise.withResolvers<Connected>();
    const { hostHeader, mcp } = this.#parts.config.backend;
    const { path } = mcp!;
    let name = '';
    const refuse = (failure: TargetFailure, refusal?: Refusal): void => {
      clearTimeout(timer);
      this.#close(failure);
      resolve({ ok: false, failure, refusal });
    };
    const timer = setTimeout(() => refuse(fail('timeout', `no endpoint event within ${timeoutMs} ms`)), timeoutMs);
    const request: MessageRequest = {
      method: 'GET',
      path,
      host: sender.host,
      headers: writeGetHeaders(sender),
      body: undefined,
      tag: undefined,
      isUnlimited: true,
    };
    this.#stream = new MessageExchange(this.#parts, request, {
      onHead: (_status, _headers, endpoint) => {
        this.#endpoint = endpoint;
        ({ name } = endpoint.pool);
        this.tag = endpoint.tag;
      },
      onOtherEvent: (type, data) => {
        if (type !== 'endpoint') return;
        const announced = readAnnouncedTarget(data, path, [hostHeader || sender.host || name, name]);
        // A second one would lead later messages elsewhere.
        if (announced === undefined || this.path !== '')
          return refuse(fail('garbage', 'it announced an endpoint that cannot be used'));
        this.path = announced;
        clearTimeout(timer);
        this.#noteUse();
        resolve({ ok: true, channel: this });
      },
      onMessage: (message) => this.#onMessage(message),
      onEnd: () => refuse(fail('no-answer', 'its stream has ended')),
      onRefusal: (refusal) => refuse(describeRefusal(refusal), refusal),
      onFailure: (failure) => refuse(failure),
    });
    this.#stream.start();
    return promise;
  }

  open(request: MessageRequest, events: MessageEvents): MessageSource {
    if (request.method === 'GET') return this.#listen(events);
    if (request.method === 'DELETE') return this.#end(events);
    const head = readMessageHead(request.body ?? '');
    if (head?.kind !== 'request') return new MessageExchange(this.#parts, request, events);
    return this.#ask(request, events, head.id!);
  }

  close(): void {
    this.#close(fail('no-answer', 'the connection was closed'));
  }

  #listen(events: MessageEvents): MessageSource {
    return {
      start: () =>
        queueMicrotask(() => {
          if (this.#failure !== undefined) return events.onEnd();
          this.#listeners.add(events);
          this.#noteUse();
          events.onHead?.(200, [], this.#endpoint!);
        }),
      resume() {},
      abort: () => {
        this.#listeners.delete(events);
        this.#noteUse();
      },
      resumption: undefined,
    };
  }

  #end(events: MessageEvents): MessageSource {
    return {
      start: () =>
        queueMicrotask(() => {
          this.close();
          events.onEnd();
        }),
      resume() {},
      abort() {},
      resumption: undefined,
    };
  }

  #ask(request: MessageRequest, events: MessageEvents, id: string): MessageSource {
    const post = new MessageExchange(this.#parts, request, {
      // The server has taken it: the answer comes on the stream, and what it says here does not matter.
      onHead: () => {
        const waiting = this.#waiting.get(id);
        if (waiting === undefined || !isWaiting()) return;
        waiting.isAccepted = true;
        if (this.#failure !== undefined && this.#settle(id)) events.onFailure(this.#failure, false);
      },
      onMessage: () => true,
      onEnd() {},
      onRefusal: (refusal) => void (isWaiting() && this.#settle(id) && events.onRefusal(refusal)),
      onFailure: (failure, isUnsent) => {
        if (!isWaiting() || this.#waiting.get(id)?.isAccepted === true) return;
        this.#settle(id);
        events.onFailure(failure, isUnsent);
      },
    });
    const isWaiting = (): boolean => this.#waiting.get(id)?.post === post;
    return {
      start: () => {
        const { requestTimeoutMs } = this.#parts.config.backend;
        const giveUp = (): void => {
          if (!isWaiting()) return;
          this.#settle(id);
          post.abort();
          events.onFailure(fail('timeout', 'no answer in time'), false);
        };
        const timer = requestTimeoutMs > 0 ? setTimeout(giveUp, requestTimeoutMs) : undefined;
        const token = readMember(request.body!, ['params', '_meta', 'progressToken']);
        if (this.#failure !== undefined || this.#waiting.has(id)) {
          clearTimeout(timer);
          queueMicrotask(() => events.onRefusal(this.#failure === undefined ? doubled : lost));
          return;
        }
        this.#waiting.set(id, { events, token, post, timer, isAccepted: false });
        this.#noteUse();
        post.start();
      },
      resume() {},
      abort: () => {
        if (!isWaiting()) return;
        this.#settle(id);
        post.abort();
      },
      resumption: undefined,
    };
  }

  #settle(id: string): boolean {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return false;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    this.#noteUse();
    return true;
  }

  /** One stream for all: no call may hold up the others. */
  #onMessage(message: ReadMessage): boolean {
    const { kind, id } = message.head;
    if (kind === 'response') {
      const waiting = id === undefined ? undefined : this.#waiting.get(id);
      if (waiting === undefined || !this.#settle(id!)) return true;
      waiting.events.onMessage(message);
      waiting.events.onEnd();
      return true;
    }
    this.#findHearer(message)?.onMessage(message);
    return true;
  }

  /** A call for its own progress; else who listens; else the call that was sent last. */
  #findHearer({ text, head }: ReadMessage): MessageEvents | undefined {
    const waiting = [...this.#waiting.values()];
    if (head.method === 'notifications/progress') {
      const token = readMember(text, ['params', 'progressToken']);
      const own = token === undefined ? undefined : waiting.find((each) => each.token === token);
      if (own !== undefined) return own.events;
    }
    const [listener] = this.#listeners;
    return listener ?? waiting.at(-1)?.events;
  }

  #close(failure: TargetFailure): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure;
    this.#onClose();
    this.#stream?.abort();
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    // What the server has not taken yet it can still refuse, and then it can be sent again.
    for (const [id, { events, isAccepted }] of this.#waiting)
      if (isAccepted && this.#settle(id)) events.onFailure(failure, false);
    for (const listener of listeners) listener.onEnd();
  }

  #noteUse(): void {
    this.idleSince = this.#waiting.size === 0 && this.#listeners.size === 0 ? this.#clock() : undefined;
  }
}

const lost: Refusal = { status: 404, headers: [], message: undefined, code: undefined };
/** Two requests with one id at the same time: their answers could not be told apart. */
const doubled: Refusal = { status: 400, headers: [], message: undefined, code: undefined };

/** In place of a connection that is gone, or that another process had. */
const lostChannel: MessageChannel = {
  id: '',
  path: '',
  tag: undefined,
  open: (_request, events) => ({
    start: () => queueMicrotask(() => events.onRefusal(lost)),
    resume() {},
    abort() {},
    resumption: undefined,
  }),
};
