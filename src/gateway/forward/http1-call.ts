// One HTTP/1.1 request over undici (RFC 9112). undici writes the head together with the first body byte and cannot send request
// trailers (lib/dispatcher/client-h1.js ends every chunked body with a bare last chunk): http1-trailer-call.ts is for those.
//
// What undici lets us know about "did it reach the upstream": `onRequestStart` is called on a connected socket right before the head is
// written, in the same turn. An error before it means that nothing was written: the connection could not be made. A reused
// connection that turns out to be closed before that moment is replaced by undici itself. After it nothing is certain any more.
import { Readable, type Duplex } from 'node:stream';
import type { Client, Dispatcher } from 'undici';
import type { UpstreamCall, UpstreamEvents, UpstreamRequest } from './upstream-call.ts';
import type { RawHeaders } from '../listen/exchange.ts';

/** How a call left its connection behind. */
export type ConnectionState = 'reusable' | 'spent';

/** One request on one undici Client, which carries one request at a time. */
export class Http1Call implements UpstreamCall, Dispatcher.DispatchHandler {
  readonly #client: Client;
  readonly #request: UpstreamRequest;
  readonly #events: UpstreamEvents;
  readonly #onDone: (state: ConnectionState) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #body: RequestBody | undefined;
  #done = false;
  /** Inside a parser callback, where undici must not be resumed. */
  #inCallback = false;
  #resumeWanted = false;

  constructor(
    client: Client,
    request: UpstreamRequest,
    events: UpstreamEvents,
    onDone: (state: ConnectionState) => void,
  ) {
    this.#client = client;
    this.#request = request;
    this.#events = events;
    this.#onDone = onDone;
  }

  start(): void {
    const { method, target, host, headers, hasBody, contentLength, upgrade } = this.#request;
    if (hasBody) this.#body = new RequestBody(this.#events);
    const sent = [...headers, 'host', host];
    if (hasBody && contentLength !== undefined) sent.push('content-length', String(contentLength));
    this.#client.dispatch(
      {
        path: target,
        method,
        headers: sent,
        body: this.#body ?? null,
        ...(upgrade === undefined ? {} : { upgrade }),
      },
      this,
    );
  }

  writeBody(chunk: Uint8Array): boolean {
    return this.#body?.push(chunk) ?? true;
  }

  endBody(): void {
    this.#body?.push(null);
  }

  resume(): void {
    if (this.#done) return;
    if (this.#inCallback) this.#resumeWanted = true;
    else this.#controller?.resume();
  }

  abort(): void {
    if (this.#done) return;
    this.#done = true;
    this.#body?.destroy();
    // Without a controller it still waits for its connection. undici cannot take it out of there: onRequestStart does, before a byte is written.
    if (this.#controller !== undefined) {
      this.#controller.abort(new Error('the request was given up'));
      this.#onDone('spent');
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#done) {
      controller.abort(new Error('the request was given up'));
      // Nothing was written, but undici closes the connection of an aborted request in any case.
      this.#onDone('spent');
      return;
    }
    this.#events.onStart();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (this.#done) return;
    this.#inCallback = true;
    const headers = decodeHeaders(controller.rawHeaders);
    if (status < 200) this.#events.onInformational(status, headers);
    else this.#events.onHead(status, headers);
    this.#inCallback = false;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done) return;
    this.#inCallback = true;
    const goOn = this.#events.onData(chunk);
    this.#inCallback = false;
    // A resume that came while the chunk was handed over belongs to this pause.
    if (!goOn && !this.#resumeWanted) controller.pause();
    this.#resumeWanted = false;
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#done) return;
    this.#done = true;
    this.#events.onEnd(decodeHeaders(controller.rawTrailers));
    this.#onDone('reusable');
  }

  onRequestUpgrade(controller: Dispatcher.DispatchController, status: number, _headers: unknown, socket: Duplex): void {
    if (this.#done) {
      socket.destroy();
      return;
    }
    this.#done = true;
    // The socket left the pool, but its place is taken until it closes.
    socket.once('close', () => this.#onDone('spent'));
    this.#events.onUpgrade(status, decodeHeaders(controller.rawHeaders), socket);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#done) {
      // Given up while it waited for its connection, which then failed.
      if (this.#controller === undefined) this.#onDone('spent');
      return;
    }
    this.#done = true;
    this.#body?.destroy();
    this.#onDone('spent');
    this.#events.onError(error);
  }
}

// Chunks go straight through: the high-water mark only bounds what lies between the client's socket and the upstream's.
class RequestBody extends Readable {
  readonly #events: UpstreamEvents;
  #full = false;

  constructor(events: UpstreamEvents) {
    super({ highWaterMark: 65_536 });
    this.#events = events;
  }

  override push(chunk: Uint8Array | null): boolean {
    if (this.destroyed) return true;
    const room = super.push(chunk);
    this.#full = !room;
    return room;
  }

  override _read(): void {
    if (!this.#full) return;
    this.#full = false;
    this.#events.onBodyDrain();
  }

  override _destroy(_error: Error | null, callback: (error?: Error | null) => void): void {
    // Also after a complete body, where nobody listens any more.
    if (!this.readableEnded) this.#events.onBodyRefused();
    callback(null);
  }
}

function decodeHeaders(raw: unknown): RawHeaders {
  if (!Array.isArray(raw)) return [];
  const list = raw as (Buffer | string)[];
  const decoded: string[] = Array.from({ length: list.length });
  for (let i = 0; i < list.length; i++) {
    const item = list[i]!;
    decoded[i] = typeof item === 'string' ? item : item.toString('latin1');
  }
  return decoded;
}
