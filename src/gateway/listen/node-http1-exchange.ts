// One HTTP/1 request and its answer (RFC 9112) as an Exchange, over node's IncomingMessage and ServerResponse.
import {
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import type { Socket } from 'node:net';
import { BodyDelivery, deliverNothing } from './body-delivery.ts';
import type { ConnectionPeer } from './connection-peer.ts';
import type { BodyFlow, BodySink, Exchange, RawHeaders, UpgradedSocket } from './exchange.ts';
import { ExchangeUsageError } from './exchange-usage-error.ts';
import type { Http1RequestHead } from './http1-request-head.ts';
import { IncompleteBodyError } from './incomplete-body-error.ts';

type CloseCallback = (clean: boolean, bytesSent: number, bytesReceived: number) => void;

/** What the connection tells an exchange, and wants to hear from it. */
export interface Http1ExchangeParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: Socket;
  readonly peer: ConnectionPeer;
  readonly head: Extract<Http1RequestHead, { kind: 'accepted' }>;
  /** The client waits for 100 (Continue) before it sends the body. */
  readonly expectsContinue: boolean;
  /** Set for an upgrade: bytes that came with the head. */
  readonly upgradeHead: Buffer | undefined;
  /** Asked when the head goes out: must the connection close after this answer? */
  readonly shouldClose: () => boolean;
  /** The raw connection is about to be handed over. */
  readonly onUpgraded: () => void;
  /** The answer is flushed, or the connection is gone. */
  readonly onSettled: (exchange: NodeHttp1Exchange) => void;
  /** The head could not be sent as given. */
  readonly onInvalidHead: (error: unknown) => {
    readonly status: number;
    readonly headers: RawHeaders;
    readonly body: string;
  };
}

/** An unread body up to this size is swallowed so that the connection can go on; after that, or this long, it is cut. */
const unreadBodyBytes = 1_048_576;
const unreadBodyMs = 5_000;

/** The adapter; its connection calls `settle` when the socket closes. */
export class NodeHttp1Exchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  readonly httpVersion: '1.0' | '1.1';
  readonly headers: RawHeaders;
  readonly hasBody: boolean;
  readonly upgradeProtocol: string | undefined;
  readonly #parts: Http1ExchangeParts;
  readonly #response: ServerResponse;
  #phase: 'waiting' | 'streaming' | 'ended' | 'upgraded' | 'closed' = 'waiting';
  #headSent = false;
  #flushed = false;
  #bodyAllowed = true;
  /** Content-Length of the answer, -1 without one. */
  #declaredLength = -1;
  #bytesSent = 0;
  #body: BodyDelivery | undefined;
  #bodyStarted = false;
  #sent100 = false;
  #drainCallback: (() => void) | undefined;
  #closeCallbacks: CloseCallback[] | undefined = [];
  #clean = false;
  #bytesAtUpgrade: { readonly read: number; readonly written: number } | undefined;

  constructor(parts: Http1ExchangeParts) {
    const { request, response, head } = parts;
    this.#parts = parts;
    this.#response = response;
    this.method = request.method ?? '';
    this.target = head.target;
    this.authority = head.authority;
    this.httpVersion = request.httpVersion === '1.0' ? '1.0' : '1.1';
    this.headers = request.rawHeaders;
    this.hasBody = head.hasBody;
    this.upgradeProtocol = parts.upgradeHead === undefined ? undefined : head.upgradeProtocol;
    // A 1.0 client cannot be trusted with chunks, even if it sends `TE: chunked` as node would have it.
    if (this.httpVersion === '1.0') response.useChunkedEncodingByDefault = false;
    // Errors of a response are errors of its socket, and the socket's close tells about those.
    response.on('error', ignore);
    // First in line: node's own listener may already destroy the socket.
    response.prependListener('finish', () => this.settle(!parts.socket.destroyed));
  }

  get scheme(): 'http' | 'https' {
    return this.#parts.peer.scheme;
  }

  get remoteAddress(): string {
    return this.#parts.peer.remoteAddress;
  }

  get remotePort(): number {
    return this.#parts.peer.remotePort;
  }

  get localPort(): number {
    return this.#parts.peer.localPort;
  }

  get serverName(): string | undefined {
    return this.#parts.peer.serverName;
  }

  isClientValidatedBy(authorities: string): boolean {
    return this.#parts.peer.validatedBy === authorities;
  }

  get headSent(): boolean {
    return this.#headSent;
  }

  /** True when the whole request is here. */
  get requestComplete(): boolean {
    return this.#parts.request.complete;
  }

  /** Nothing can be answered on this connection after this exchange. Settled when the head is out. */
  get closesConnection(): boolean {
    const endsWithConnection = this.httpVersion === '1.0' && this.#bodyAllowed && this.#declaredLength < 0;
    return !this.#response.shouldKeepAlive || endsWithConnection;
  }

  readBody(sink: BodySink): BodyFlow {
    if (this.#bodyStarted) throw new ExchangeUsageError('readBody was called twice');
    this.#bodyStarted = true;
    const { request, expectsContinue } = this.#parts;
    if (!this.hasBody) return deliverNothing(() => sink.end([]));
    if (this.#phase === 'closed') return deliverNothing(() => sink.fail(new IncompleteBodyError()));
    if (expectsContinue) this.#sendContinue();
    this.#body = new BodyDelivery(request, sink, () => request.rawTrailers);
    return this.#body;
  }

  sendInformational(status: number, headers: RawHeaders): void {
    if (this.#phase !== 'waiting' || this.httpVersion === '1.0' || status === 101) return;
    if (status === 100) {
      this.#sendContinue();
      return;
    }
    try {
      this.#response.writeInformation(status, [...headers]);
    } catch {
      // Nothing depends on an informational answer: one that cannot be written is left out.
    }
  }

  sendHead(status: number, headers: RawHeaders): void {
    this.#openHead();
    if (this.#phase === 'closed') return;
    if (!this.#writeHead(status, headers)) return;
    this.#phase = 'streaming';
    // Head and first chunk leave in one write when the chunk is already there; otherwise the head must not wait for it.
    process.nextTick(() => {
      if (this.#flushed || this.#phase !== 'streaming') return;
      this.#flushed = true;
      this.#response.flushHeaders();
    });
  }

  write(chunk: Uint8Array): boolean {
    if (this.#phase !== 'streaming' || !this.#bodyAllowed || chunk.length === 0) return true;
    this.#bytesSent += chunk.length;
    if (this.#declaredLength >= 0 && this.#bytesSent > this.#declaredLength) {
      // More would be read as the start of the next answer.
      this.abort();
      return true;
    }
    this.#flushed = true;
    return this.#response.write(chunk);
  }

  onDrain(callback: () => void): void {
    if (this.#drainCallback === undefined) this.#response.on('drain', () => this.#drainCallback?.());
    this.#drainCallback = callback;
  }

  end(trailers: RawHeaders = []): void {
    if (this.#phase !== 'streaming') return;
    if (this.#bodyAllowed && this.#declaredLength >= 0 && this.#bytesSent < this.#declaredLength) {
      this.abort();
      return;
    }
    if (trailers.length > 0 && this.#response.chunkedEncoding) this.#addTrailers(trailers);
    this.#phase = 'ended';
    this.#flushed = true;
    this.#response.end();
  }

  respond(status: number, headers: RawHeaders, body: Uint8Array | string): void {
    this.#openHead();
    if (this.#phase === 'closed') return;
    // Always bytes: node would encode a head that travels in one string with the body as UTF-8.
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (!this.#writeHead(status, headers, bytes.length)) return;
    this.#phase = 'streaming';
    this.write(bytes);
    this.end();
  }

  abort(): void {
    if (this.#phase === 'closed') return;
    const { socket } = this.#parts;
    const endsWithConnection = this.#headSent && !this.#response.chunkedEncoding && this.#declaredLength < 0;
    // Without framing a plain close would look like the regular end of the answer.
    if (endsWithConnection && this.scheme === 'http') socket.resetAndDestroy();
    else socket.destroy();
    this.#phase = this.#phase === 'upgraded' ? 'upgraded' : 'ended';
  }

  acceptUpgrade(status: number, headers: RawHeaders): UpgradedSocket {
    const { socket, upgradeHead } = this.#parts;
    if (this.upgradeProtocol === undefined || upgradeHead === undefined) {
      throw new ExchangeUsageError('acceptUpgrade on a request that asked for no upgrade');
    }
    const head = formatSwitchingHead(status, headers, this.upgradeProtocol);
    this.#openHead();
    if (this.#phase === 'waiting') {
      this.#phase = 'upgraded';
      this.#response.detachSocket(socket);
      this.#parts.onUpgraded();
      socket.write(head, 'latin1');
      this.#bytesAtUpgrade = { read: socket.bytesRead - upgradeHead.length, written: socket.bytesWritten };
    }
    return { head: upgradeHead, stream: socket };
  }

  onClose(callback: CloseCallback): void {
    if (this.#closeCallbacks === undefined) callback(this.#clean, this.#bytesSent, this.#body?.bytes ?? 0);
    else this.#closeCallbacks.push(callback);
  }

  /** The answer is out (clean), or the connection went away before it was. Called by the connection, too. */
  settle(clean: boolean): void {
    const callbacks = this.#closeCallbacks;
    if (callbacks === undefined) return;
    this.#closeCallbacks = undefined;
    this.#clean = clean && (this.#phase === 'ended' || this.#phase === 'upgraded');
    this.#phase = 'closed';
    let bytesReceived = this.#body?.bytes ?? 0;
    if (this.#bytesAtUpgrade !== undefined) {
      bytesReceived = this.#parts.socket.bytesRead - this.#bytesAtUpgrade.read;
      this.#bytesSent = this.#parts.socket.bytesWritten - this.#bytesAtUpgrade.written;
    }
    if (!this.#clean) this.#body?.fail();
    else if (!this.#parts.request.complete) this.#swallowUnreadBody();
    for (const callback of callbacks) callback(this.#clean, this.#bytesSent, bytesReceived);
    this.#parts.onSettled(this);
  }

  #openHead(): void {
    if (this.#headSent) throw new ExchangeUsageError('the head of this answer was already sent');
    this.#headSent = true;
  }

  #sendContinue(): void {
    if (this.#sent100 || this.#phase !== 'waiting' || this.httpVersion === '1.0') return;
    this.#sent100 = true;
    this.#response.writeContinue();
  }

  /** False when the head was not fit to be sent and the client got an internal error in its place. */
  #writeHead(status: number, headers: RawHeaders, wholeBodyLength = -1): boolean {
    const response = this.#response;
    this.#bodyAllowed = this.method !== 'HEAD' && status !== 204 && status !== 304;
    if (this.#parts.shouldClose()) response.shouldKeepAlive = false;
    try {
      const fields = this.#readFraming(status, headers);
      if (wholeBodyLength >= 0 && this.#bodyAllowed && this.#declaredLength < 0) {
        this.#declaredLength = wholeBodyLength;
        fields.push('content-length', String(wholeBodyLength));
      }
      response.writeHead(status, STATUS_CODES[status] ?? '', fields);
      return true;
    } catch (error) {
      const answer = this.#parts.onInvalidHead(error);
      response.shouldKeepAlive = false;
      response.writeHead(answer.status, STATUS_CODES[answer.status] ?? '', [...answer.headers]);
      this.#phase = 'ended';
      if (this.method === 'HEAD') response.end();
      else response.end(Buffer.from(answer.body));
      return false;
    }
  }

  /** Takes note of the framing and leaves out what is this adapter's business or would contradict it. */
  #readFraming(status: number, headers: RawHeaders): string[] {
    const fields: string[] = [];
    let trailer: string | undefined;
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index]!;
      const value = headers[index + 1]!;
      switch (name.length) {
        case 7:
          if (name.toLowerCase() !== 'trailer') break;
          trailer = value;
          continue;
        case 10: {
          const lower = name.toLowerCase();
          if (lower === 'connection' || lower === 'keep-alive') continue;
          break;
        }
        case 14:
          if (name.toLowerCase() !== 'content-length') break;
          if (status === 204 || this.#declaredLength >= 0) continue;
          this.#declaredLength = Number(value);
          break;
        case 17:
          if (name.toLowerCase() === 'transfer-encoding') continue;
          break;
        default:
      }
      fields.push(name, value);
    }
    // Trailers exist in chunked answers only, and node refuses to announce them elsewhere.
    const chunked = this.#bodyAllowed && this.#declaredLength < 0 && this.httpVersion === '1.1';
    if (trailer !== undefined && chunked) fields.push('trailer', trailer);
    return fields;
  }

  #addTrailers(trailers: RawHeaders): void {
    const pairs: [string, string][] = [];
    for (let index = 0; index < trailers.length; index += 2) pairs.push([trailers[index]!, trailers[index + 1]!]);
    try {
      this.#response.addTrailers(pairs);
    } catch {
      // The answer is complete without them, and half of a trailer section would be worse than none.
      this.#response.addTrailers([]);
    }
  }

  /** Nobody read all of the body and the answer is out: swallow a little, so that a client that is still sending sees it. */
  #swallowUnreadBody(): void {
    const { request, socket } = this.#parts;
    if (socket.destroyed) return;
    this.#body?.discard();
    if (this.closesConnection) {
      // Node is about to destroy the socket: with bytes unread that is a reset, which can take the answer with it.
      const destroySoon = socket.destroySoon.bind(socket);
      socket.destroySoon = () => socket.end();
      request.once('end', destroySoon);
    }
    let left = unreadBodyBytes;
    const timer = setTimeout(() => socket.destroy(), unreadBodyMs);
    timer.unref();
    const stop = (): void => clearTimeout(timer);
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) socket.destroy();
    });
    request.once('end', stop);
    request.once('error', stop);
    request.once('close', stop);
  }
}

function ignore(): void {
  // Nothing to do.
}

function formatSwitchingHead(status: number, headers: RawHeaders, protocol: string): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nConnection: Upgrade\r\n`;
  let upgrade = `Upgrade: ${protocol}\r\n`;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1]!;
    const lower = name.toLowerCase();
    if (lower === 'connection' || lower === 'content-length' || lower === 'transfer-encoding') continue;
    if (lower === 'upgrade') upgrade = '';
    validateHeaderName(name);
    validateHeaderValue(name, value);
    head += `${name}: ${value}\r\n`;
  }
  return `${head}${upgrade}\r\n`;
}
