// One HTTP exchange with a target: an endpoint, another one while not a byte was sent, the time limits of the backend, and the bytes of the answer.
import type { BackendConfig } from '../../config/runtime-config.ts';
import { classifyUpstreamError, describeError, type UpstreamPhase } from '../../forward/upstream/upstream-error.ts';
import type { UpstreamCall, UpstreamEvents, UpstreamRequest } from '../../forward/upstream/upstream-call.ts';
import type { SilenceWatch, Watched } from '../../forward/upstream/silence-watch.ts';
import type { Endpoint } from '../../forward/upstream/upstreams.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { ExchangeRequest } from './message-source.ts';
import { fail, type TargetParts } from './target-parts.ts';
import type { TargetFailure } from './target.ts';

/** Nothing comes after `onEnd` or `onFailure`, nor after `abort`, and nothing from inside `start`. */
export interface ExchangeEvents {
  onHead(status: number, headers: RawHeaders, endpoint: Endpoint): void;
  /** False: no more until `resume`. */
  onData(chunk: Uint8Array): boolean;
  onEnd(): void;
  /** `isUnsent`: not a byte of the request has left. */
  onFailure(failure: TargetFailure, isUnsent: boolean): void;
}

/** A proxy before the server says that the server is not there. */
function isAway(status: number): boolean {
  return status === 502 || status === 503 || status === 504;
}

const defaultMaxRetries = 2;
const noFields: RawHeaders = [];

export class TargetExchange implements UpstreamEvents, Watched {
  place = -1;
  silentLooks = 0;
  readonly #parts: TargetParts;
  readonly #request: ExchangeRequest;
  readonly #events: ExchangeEvents;
  readonly #body: Uint8Array | undefined;
  #tried: readonly Endpoint[] = [];
  #endpoint: Endpoint | undefined;
  #call: UpstreamCall | undefined;
  #phase: UpstreamPhase = 'connecting';
  #silence: SilenceWatch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isPaused = false;
  #isDone = false;

  constructor(parts: TargetParts, request: ExchangeRequest, events: ExchangeEvents) {
    this.#parts = parts;
    this.#request = request;
    this.#events = events;
    this.#body = request.body === undefined ? undefined : Buffer.from(request.body);
  }

  /** Undefined before there is one. */
  get endpoint(): Endpoint | undefined {
    return this.#endpoint;
  }

  start(): void {
    const backend = this.#parts.findBackend();
    const { tag } = this.#request;
    const endpoint = tag === undefined ? backend?.pick([]) : backend?.findByTag(tag);
    if (backend === undefined || endpoint === undefined) {
      const detail = tag === undefined ? 'it has no endpoints' : 'the endpoint of the session is gone';
      queueMicrotask(() => this.#fail(fail('down', detail), true));
      return;
    }
    const { requestTimeoutMs } = backend.config;
    if (requestTimeoutMs > 0 && this.#request.isUnlimited !== true)
      this.#timer = setTimeout(() => this.#giveUp(), requestTimeoutMs);
    this.#silence = backend.silence;
    this.#attempt(endpoint, backend.config);
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.silentLooks = 0;
    this.#call?.resume();
  }

  abort(): void {
    if (this.#isDone) return;
    this.#finish();
    this.#call?.abort();
  }

  #attempt(endpoint: Endpoint, config: BackendConfig): void {
    this.#endpoint = endpoint;
    const { method, path, host, headers } = this.#request;
    const request: UpstreamRequest = {
      method,
      target: path,
      host: config.hostHeader || host || endpoint.pool.name,
      headers,
      hasBody: this.#body !== undefined,
      contentLength: this.#body?.length,
      wantsTrailers: false,
      upgrade: undefined,
    };
    this.#call = endpoint.pool.createCall(request, this);
    this.#call.start();
  }

  onStart(): void {
    if (this.#isDone) return;
    this.#phase = 'sent';
    this.#silence?.begin(this);
    if (this.#body === undefined) return;
    this.#call!.writeBody(this.#body);
    this.#call!.endBody(noFields);
  }

  onInformational(): void {
    this.silentLooks = 0;
  }

  onHead(status: number, headers: RawHeaders): void {
    if (this.#isDone) return;
    this.#phase = 'answering';
    this.silentLooks = 0;
    if (!isAway(status)) this.#parts.health?.noteUp();
    try {
      this.#events.onHead(status, headers, this.#endpoint!);
    } catch (error) {
      this.#breakOff(error);
    }
  }

  onData(chunk: Uint8Array): boolean {
    if (this.#isDone) return true;
    this.silentLooks = 0;
    try {
      if (this.#events.onData(chunk)) return true;
    } catch (error) {
      this.#breakOff(error);
      return true;
    }
    // What was called may have ended the exchange.
    if (this.#isDone) return true;
    this.#isPaused = true;
    return false;
  }

  onEnd(): void {
    if (this.#isDone) return;
    this.#finish();
    try {
      this.#events.onEnd();
    } catch (error) {
      this.#events.onFailure(this.#describeBug(error), false);
    }
  }

  onUpgrade(...[, , stream]: Parameters<UpstreamEvents['onUpgrade']>): void {
    stream.destroy();
    this.#fail(fail('garbage', 'it switched protocols without being asked'), false);
  }

  onBodyDrain(): void {}

  onBodyRefused(): void {}

  onError(error: Error): void {
    if (this.#isDone) return;
    const { findBackend, maxRetries = defaultMaxRetries } = this.#parts;
    const isUnsent = this.#phase === 'connecting';
    const reason = classifyUpstreamError(error, this.#phase);
    const detail = `${this.#endpoint!.pool.name}: ${describeError(error)}`;
    if (reason === 'internal_error')
      return this.#fail({ kind: 'refused', status: 400, headers: noFields, detail }, isUnsent);
    if (isUnsent && this.#request.tag === undefined) {
      this.#tried = [...this.#tried, this.#endpoint!];
      const backend = findBackend();
      const next = this.#tried.length <= maxRetries ? backend?.pick(this.#tried) : undefined;
      if (backend !== undefined && next !== undefined) return this.#attempt(next, backend.config);
    }
    if (isUnsent) {
      const kind = reason === 'upstream_overloaded' ? 'timeout' : 'down';
      return this.#fail(fail(kind, detail), true);
    }
    this.#fail(fail('no-answer', detail), false);
  }

  onSilence(): void {
    if (!this.#isPaused) this.#giveUp();
  }

  /** What nobody foresaw in an answer fails one exchange: connections may carry others, and have nobody else who catches it. */
  #breakOff(error: unknown): void {
    if (this.#isDone) return;
    this.#call?.abort();
    this.#fail(this.#describeBug(error), false);
  }

  #describeBug(error: unknown): TargetFailure {
    this.#parts.log.error(
      { target: this.#parts.config.name, err: error },
      'an answer of a target could not be handled',
    );
    return fail('garbage', 'its answer cannot be handled');
  }

  #giveUp(): void {
    if (this.#isDone) return;
    const isUnsent = this.#phase === 'connecting';
    this.#call?.abort();
    this.#fail(fail('timeout', `${this.#endpoint!.pool.name}: no answer in time`), isUnsent);
  }

  #fail(failure: TargetFailure, isUnsent: boolean): void {
    if (this.#isDone) return;
    this.#finish();
    if (failure.kind === 'down' && this.#isWhole()) this.#parts.health?.noteDown(failure.detail);
    this.#events.onFailure(failure, isUnsent);
  }

  /** Whether what cannot be reached is all of the target: the endpoint of one session is not, when there are others. */
  #isWhole(): boolean {
    const { tag } = this.#request;
    const backend = this.#parts.findBackend();
    if (tag === undefined || backend === undefined) return true;
    return backend.endpoints.every((endpoint) => endpoint.tag === tag);
  }

  #finish(): void {
    this.#isDone = true;
    clearTimeout(this.#timer);
    this.#silence?.end(this);
  }
}
