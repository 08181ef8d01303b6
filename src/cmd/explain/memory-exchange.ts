// A request without a connection, and its answer: what the request path gets from `explain` in place of a socket.
import { PassThrough } from 'node:stream';
import type { BodyFlow, BodySink, Exchange, RawHeaders, UpgradedSocket } from '../../gateway/http/exchange.ts';

/** The head and body of a request. */
interface MemoryRequest {
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  readonly scheme: 'http' | 'https';
  readonly headers: RawHeaders;
  readonly remoteAddress: string;
  readonly localPort: number;
  readonly serverName: string | undefined;
  /** Undefined: the request ends with its head. */
  readonly body: string | undefined;
}

/** What the client would have got. */
export interface MemoryAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  readonly body: string;
}

type CloseCallback = (clean: boolean, bytesSent: number, bytesReceived: number) => void;

/** One request that never was on a wire. */
export class MemoryExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  readonly scheme: 'http' | 'https';
  readonly httpVersion = '1.1';
  readonly headers: RawHeaders;
  readonly remoteAddress: string;
  readonly remotePort = 0;
  readonly localPort: number;
  readonly serverName: string | undefined;
  readonly hasBody: boolean;
  readonly upgradeProtocol = undefined;
  /** Resolves with the answer once it is complete; undefined when the exchange was broken off. */
  readonly answered: Promise<MemoryAnswer | undefined>;
  readonly #body: Buffer;
  readonly #settleAnswer: (answer: MemoryAnswer | undefined) => void;
  readonly #sent: Uint8Array[] = [];
  #head: { readonly status: number; readonly headers: RawHeaders } | undefined;
  #closeCallbacks: CloseCallback[] = [];

  constructor(request: MemoryRequest) {
    this.method = request.method;
    this.target = request.target;
    this.authority = request.authority;
    this.scheme = request.scheme;
    this.headers = request.headers;
    this.remoteAddress = request.remoteAddress;
    this.localPort = request.localPort;
    this.serverName = request.serverName;
    this.hasBody = request.body !== undefined;
    this.#body = Buffer.from(request.body ?? '');
    const { promise, resolve } = Promise.withResolvers<MemoryAnswer | undefined>();
    this.answered = promise;
    this.#settleAnswer = resolve;
  }

  get headSent(): boolean {
    return this.#head !== undefined;
  }

  /** There is no handshake: the client is taken to have what it needs. */
  isClientValidatedBy(): boolean {
    return true;
  }

  readBody(sink: BodySink): BodyFlow {
    let isWanted = true;
    // Later, never from inside this call: that is what the interface promises.
    queueMicrotask(() => {
      if (isWanted && this.#body.length > 0) sink.write(this.#body);
      if (isWanted) sink.end([]);
    });
    return { resume: () => {}, discard: () => void (isWanted = false) };
  }

  sendInformational(): void {}

  sendHead(status: number, headers: RawHeaders): void {
    this.#head ??= { status, headers };
  }

  write(chunk: Uint8Array): boolean {
    this.#sent.push(chunk);
    return true;
  }

  onDrain(): void {}

  end(): void {
    const body = Buffer.concat(this.#sent);
    this.#settle(this.#head === undefined ? undefined : { ...this.#head, body: body.toString('utf8') }, body.length);
  }

  respond(status: number, headers: RawHeaders, body: Uint8Array | string): void {
    this.sendHead(status, headers);
    this.write(typeof body === 'string' ? Buffer.from(body) : body);
    this.end();
  }

  abort(): void {
    this.#settle(undefined, 0);
  }

  acceptUpgrade(): UpgradedSocket {
    return { head: new Uint8Array(), stream: new PassThrough() };
  }

  onClose(callback: CloseCallback): void {
    this.#closeCallbacks.push(callback);
  }

  #settle(answer: MemoryAnswer | undefined, bytesSent: number): void {
    this.#settleAnswer(answer);
    const callbacks = this.#closeCallbacks;
    this.#closeCallbacks = [];
    for (const callback of callbacks) callback(answer !== undefined, bytesSent, this.#body.length);
  }
}
