// RequestMirror: copies of a request to other backends, whose answers are thrown away. The copies follow the request but never hold it up:
// a copy that falls further behind than its buffer allows is given up, and its failures do not affect the request.
import type { Log } from '../../base/log.ts';
import type { RawHeaders } from '../http/exchange.ts';
import type { ForwardPlan } from './forward-plan.ts';
import { withoutFields } from '../http/headers.ts';
import type { UpstreamCall, UpstreamEvents, UpstreamRequest } from './upstream/upstream-call.ts';
import { describeError } from './upstream/upstream-error.ts';
import type { Upstreams } from './upstream/upstreams.ts';

/** One copy on its way. */
export interface Mirror {
  write(chunk: Uint8Array): void;
  end(trailers: RawHeaders): void;
  /** Nothing more of the body will come. A copy that is not complete is broken off, so that the mirror does not take it for complete. */
  stop(): void;
}

const noBody = new Uint8Array(0);
const tokenFields: ReadonlySet<string> = new Set(['authorization']);

/** Starts the copies of a request; `body` when all of it is there already. Requests that switch protocols have none. */
export function startMirrors(
  mirrors: ForwardPlan['mirrors'],
  request: UpstreamRequest,
  body: Uint8Array | undefined,
  upstreams: Upstreams,
  log: Log,
): readonly Mirror[] {
  if (request.upgrade !== undefined) return [];
  const started: Mirror[] = [];
  for (const { backend, target, host, withoutToken } of mirrors) {
    const endpoint = upstreams.get(backend.key)?.pick([]);
    if (endpoint === undefined) continue;
    const { mirrorBufferBytes, mirrorTimeoutMs } = upstreams.limits;
    const copy = new MirrorCopy(
      mirrorBufferBytes,
      mirrorTimeoutMs,
      log.child({ mirror: backend.key, endpoint: endpoint.pool.name }),
    );
    const headers = withoutToken ? withoutFields(request.headers, tokenFields) : request.headers;
    const call = endpoint.pool.createCall({ ...request, target, host, headers }, copy);
    copy.start(call, request.hasBody ? body : noBody);
    started.push(copy);
  }
  return started;
}

class MirrorCopy implements Mirror, UpstreamEvents {
  readonly #maxBytes: number;
  readonly #timeoutMs: number;
  readonly #log: Log;
  #call: UpstreamCall | undefined;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #writable = false;
  #bodyEnd: RawHeaders | undefined;
  #timer: NodeJS.Timeout | undefined;
  #done = false;

  constructor(maxBytes: number, timeoutMs: number, log: Log) {
    this.#maxBytes = maxBytes;
    this.#timeoutMs = timeoutMs;
    this.#log = log;
  }

  /** Undefined: the body is still to come. A body that is there is no copy of its own, so there is no limit for it. */
  start(call: UpstreamCall, body: Uint8Array | undefined): void {
    this.#call = call;
    if (body === undefined) return call.start();
    if (body.length > 0) this.#waiting.push(body);
    this.#waitingBytes = body.length;
    this.#complete([], () => call.start());
  }

  write(chunk: Uint8Array): void {
    if (this.#done) return;
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes > this.#maxBytes) this.#giveUp(`it is more than ${this.#maxBytes} bytes behind`);
    else this.#flush();
  }

  end(trailers: RawHeaders): void {
    if (!this.#done) this.#complete(trailers, () => this.#flush());
  }

  stop(): void {
    if (this.#bodyEnd === undefined) this.#giveUp('the request was broken off');
  }

  #complete(trailers: RawHeaders, next: () => void): void {
    this.#bodyEnd = trailers;
    // An endless answer (an event stream) must not stay open for a copy whose answer is thrown away.
    this.#timer = setTimeout(() => this.#giveUp('its answer took too long'), this.#timeoutMs);
    this.#timer.unref();
    next();
  }

  #flush(): void {
    while (this.#writable && this.#waiting.length > 0) {
      const chunk = this.#waiting.shift()!;
      this.#waitingBytes -= chunk.length;
      this.#writable = this.#call!.writeBody(chunk);
    }
    if (this.#writable && this.#bodyEnd !== undefined) {
      this.#writable = false;
      this.#call!.endBody(this.#bodyEnd);
    }
  }

  #giveUp(why: string): void {
    if (this.#done) return;
    this.#log.debug({ why }, 'gave up a mirrored request');
    this.#finish();
    this.#call?.abort();
  }

  #finish(): void {
    this.#done = true;
    this.#waiting = [];
    clearTimeout(this.#timer);
  }

  onStart(): void {
    this.onBodyDrain();
  }

  onBodyDrain(): void {
    this.#writable = true;
    this.#flush();
  }

  onBodyRefused(): void {
    this.#writable = false;
    this.#waiting = [];
  }

  onInformational(): void {}

  onHead(): void {}

  onData(): boolean {
    return true;
  }

  onEnd(): void {
    this.#finish();
  }

  onUpgrade(): void {
    this.#finish();
  }

  onError(error: Error): void {
    this.#log.debug({ detail: describeError(error) }, 'a mirrored request failed');
    this.#finish();
  }
}
