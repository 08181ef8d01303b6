// One HTTP/1.1 request whose body may end with trailers (RFC 9112 section 7.1.2), over node:http: undici cannot send request trailers.
// Bodies of unknown length are rare (MCP clients send a Content-Length), so each gets a connection of its own instead of a second
// pool beside undici's. It also sends the head at once, which undici does only with the first byte of the body.
import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { RawHeaders } from '../listen/exchange.ts';
import type { Connector } from './endpoint-connector.ts';
import type { UpstreamCall, UpstreamEvents, UpstreamRequest } from './upstream-call.ts';
import { UpstreamProtocolError } from './upstream-error.ts';

/** One request on a connection of its own. */
export class Http1TrailerCall implements UpstreamCall {
  readonly #connect: Connector;
  readonly #request: UpstreamRequest;
  readonly #events: UpstreamEvents;
  readonly #maxHeaderBytes: number;
  readonly #onDone: () => void;
  #message: ClientRequest | undefined;
  #response: IncomingMessage | undefined;
  #done = false;

  constructor(
    connect: Connector,
    request: UpstreamRequest,
    events: UpstreamEvents,
    limits: { readonly maxResponseHeaderBytes: number },
    onDone: () => void,
  ) {
    this.#connect = connect;
    this.#request = request;
    this.#events = events;
    this.#maxHeaderBytes = limits.maxResponseHeaderBytes;
    this.#onDone = onDone;
  }

  start(): void {
    this.#connect((error, socket) => {
      if (this.#done) {
        socket?.destroy();
        this.#onDone();
      } else if (error !== null) {
        this.#fail(error);
      } else {
        this.#send(socket);
      }
    });
  }

  #send(socket: Socket): void {
    const { method, target, host, headers } = this.#request;
    let message: ClientRequest;
    try {
      message = requestHttp({
        createConnection: () => socket,
        method,
        path: target,
        // Trailers need chunked framing, also when the client had given a length.
        headers: ['host', host, ...headers, 'connection', 'close', 'transfer-encoding', 'chunked'],
        setHost: false,
        setDefaultHeaders: false,
        maxHeaderSize: this.#maxHeaderBytes,
      });
    } catch (error) {
      socket.destroy();
      this.#fail(error as Error);
      return;
    }
    this.#message = message;
    message.on('error', (error) => this.#fail(error));
    message.on('drain', () => this.#events.onBodyDrain());
    message.on('continue', () => this.#events.onInformational(100, []));
    message.on('information', ({ statusCode, rawHeaders }) => this.#events.onInformational(statusCode, rawHeaders));
    message.on('upgrade', (_response, upgraded: Socket) => {
      upgraded.destroy();
      this.#fail(new UpstreamProtocolError('the upstream switched protocols without being asked'));
    });
    message.on('response', (response) => this.#receive(response));
    message.on('close', () => this.#fail(new Error('the connection was closed')));
    message.flushHeaders();
    this.#events.onStart();
  }

  #receive(response: IncomingMessage): void {
    if (this.#done) return;
    this.#response = response;
    response.on('data', (chunk: Buffer) => {
      if (!this.#done && !this.#events.onData(chunk)) response.pause();
    });
    response.on('error', (error) => this.#fail(error));
    response.on('end', () => {
      if (this.#done || !response.complete) return;
      this.#done = true;
      this.#events.onEnd(response.rawTrailers);
      this.#message?.destroy();
      this.#onDone();
    });
    this.#events.onHead(response.statusCode!, response.rawHeaders);
  }

  writeBody(chunk: Uint8Array): boolean {
    return this.#message?.write(chunk) ?? true;
  }

  endBody(trailers: RawHeaders): void {
    const pairs: [string, string][] = [];
    for (let i = 0; i < trailers.length; i += 2) pairs.push([trailers[i]!, trailers[i + 1]!]);
    if (pairs.length > 0) this.#message?.addTrailers(pairs);
    this.#message?.end();
  }

  resume(): void {
    this.#response?.resume();
  }

  abort(): void {
    if (this.#done) return;
    this.#done = true;
    // Still connecting: the connector's callback lets go of the place.
    if (this.#message === undefined) return;
    this.#message.destroy();
    this.#onDone();
  }

  #fail(error: Error): void {
    if (this.#done) return;
    this.#done = true;
    this.#message?.destroy();
    this.#onDone();
    this.#events.onError(error);
  }
}
