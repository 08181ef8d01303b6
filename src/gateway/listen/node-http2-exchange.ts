// One HTTP/2 request and its answer (RFC 9113, extended CONNECT: RFC 8441) as an Exchange, over node's ServerHttp2Stream.
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { closeWithTrailersDue } from '../../base/close-http2-stream.ts';
import { getHttp2 } from '../../base/node-parts.ts';
import type { Placed } from '../../base/placed-list.ts';
import { BodyDelivery, deliverNothing } from './body-delivery.ts';
import { type ConnectionPeer, PeerFacts } from './connection-peer.ts';
import type { BodyFlow, BodySink, Exchange, RawHeaders, UpgradedSocket } from '../http/exchange.ts';
import { ExchangeUsageError } from './exchange-usage-error.ts';
import { groupFields, readHttp2Fields } from './http2-fields.ts';
import type { Http2RequestHead } from './http2-request-head.ts';
import { Http2Tunnel } from './http2-tunnel.ts';
import { IncompleteBodyError } from './incomplete-body-error.ts';

type CloseCallback = (clean: boolean, bytesSent: number, bytesReceived: number) => void;

/** Inputs and callbacks that the connection gives to an exchange. */
interface Http2ExchangeParts {
  readonly stream: ServerHttp2Stream;
  readonly peer: ConnectionPeer;
  readonly head: Extract<Http2RequestHead, { kind: 'accepted' }>;
  readonly hasBody: boolean;
  /** Reports a head that cannot be sent, and returns the answer to send instead. */
  readonly onInvalidHead: (error: unknown) => {
    readonly status: number;
    readonly headers: RawHeaders;
    readonly body: string;
  };
}

/** The adapter; it follows the events of its stream. */
export class NodeHttp2Exchange extends PeerFacts implements Exchange, Placed {
  place = -1;
  readonly httpVersion = '2';
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  readonly headers: RawHeaders;
  readonly hasBody: boolean;
  readonly upgradeProtocol: string | undefined;
  readonly #parts: Http2ExchangeParts;
  readonly #stream: ServerHttp2Stream;
  #phase: 'waiting' | 'streaming' | 'ended' | 'aborted' | 'upgraded' | 'closed' = 'waiting';
  #headSent = false;
  #bodyAllowed = true;
  #endedWithHead = false;
  /** Content-Length of the answer, -1 without one. */
  #declaredLength = -1;
  #bytesSent = 0;
  #body: BodyDelivery | undefined;
  #bodyStarted = false;
  #requestTrailers: RawHeaders = [];
  #responseTrailers: RawHeaders = [];
  /** Node has not asked for the trailers of the answer yet. */
  #trailersDue = false;
  #sent100 = false;
  #tunnel: Http2Tunnel | undefined;
  #drainCallback: (() => void) | undefined;
  #closeCallbacks: CloseCallback[] | undefined = [];
  #clean = false;

  constructor(parts: Http2ExchangeParts) {
    super(parts.peer);
    const { stream, head } = parts;
    this.#parts = parts;
    this.#stream = stream;
    this.method = head.method;
    this.target = head.target;
    this.authority = head.authority;
    this.headers = head.headers;
    this.hasBody = parts.hasBody;
    this.upgradeProtocol = head.protocol;
    stream.on('error', () => {});
    stream.on('trailers', (_headers: unknown, _flags: unknown, rawTrailers?: RawHeaders) => {
      this.#requestTrailers = rawTrailers ?? [];
    });
    stream.on('finish', () => this.#onFinish());
    stream.on('wantTrailers', () => this.#sendTrailers());
    stream.on('close', () =>
      this.#settle(this.#endedWithHead && stream.rstCode === getHttp2().constants.NGHTTP2_NO_ERROR),
    );
  }

  get headSent(): boolean {
    return this.#headSent;
  }

  readBody(sink: BodySink): BodyFlow {
    if (this.#bodyStarted) throw new ExchangeUsageError('readBody was called twice');
    this.#bodyStarted = true;
    if (!this.hasBody) return deliverNothing(() => sink.end([]));
    if (!this.#usable) return deliverNothing(() => sink.fail(new IncompleteBodyError()));
    if (this.#parts.head.expectsContinue) this.sendInformational(100, []);
    this.#body = new BodyDelivery(this.#stream, sink, () => this.#requestTrailers);
    return this.#body;
  }

  sendInformational(status: number, headers: RawHeaders): void {
    if (this.#phase !== 'waiting' || !this.#usable || status === 101) return;
    if (status === 100) {
      if (this.#sent100) return;
      this.#sent100 = true;
    }
    try {
      const fields = groupFields(readHttp2Fields(headers, []));
      this.#stream.additionalHeaders({ ':status': status, ...fields });
    } catch {
      // Informational answers are optional: one that cannot be sent is left out.
    }
  }

  sendHead(status: number, headers: RawHeaders): void {
    this.#openHead();
    if (!this.#usable) return;
    if (this.#writeHead(status, headers, -1)) this.#phase = 'streaming';
  }

  write(chunk: Uint8Array): boolean {
    if (this.#phase !== 'streaming' || !this.#bodyAllowed || chunk.length === 0 || !this.#usable) return true;
    this.#bytesSent += chunk.length;
    if (this.#declaredLength >= 0 && this.#bytesSent > this.#declaredLength) {
      this.abort();
      return true;
    }
    return this.#stream.write(chunk);
  }

  onDrain(callback: () => void): void {
    if (this.#drainCallback === undefined) this.#stream.on('drain', () => this.#drainCallback?.());
    this.#drainCallback = callback;
  }

  end(trailers: RawHeaders = []): void {
    if (this.#phase !== 'streaming') return;
    if (this.#bodyAllowed && this.#declaredLength >= 0 && this.#bytesSent < this.#declaredLength) {
      this.abort();
      return;
    }
    this.#phase = 'ended';
    this.#responseTrailers = trailers;
    if (!this.#bodyAllowed) this.#finishWithoutBody();
    else if (this.#usable) this.#stream.end();
  }

  respond(status: number, headers: RawHeaders, body: Uint8Array | string): void {
    this.#openHead();
    if (!this.#usable) return;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (!this.#writeHead(status, headers, bytes.length)) return;
    this.#phase = 'streaming';
    this.write(bytes);
    this.end();
  }

  abort(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'aborted';
    const stream = this.#stream;
    if (stream.destroyed) return;
    if (this.#trailersDue) closeWithTrailersDue(stream, getHttp2().constants.NGHTTP2_INTERNAL_ERROR);
    else stream.close(getHttp2().constants.NGHTTP2_INTERNAL_ERROR);
  }

  acceptUpgrade(_status: number, headers: RawHeaders): UpgradedSocket {
    if (this.upgradeProtocol === undefined) {
      throw new ExchangeUsageError('acceptUpgrade on a request that asked for no upgrade');
    }
    // RFC 8441, 5: the answer to an extended CONNECT is a plain 200, without Sec-WebSocket-Accept.
    const fields = readHttp2Fields(headers, ['sec-websocket-accept', 'content-length']);
    this.#openHead();
    const tunnel = new Http2Tunnel(this.#stream);
    this.#tunnel = tunnel;
    if (this.#usable) {
      this.#phase = 'upgraded';
      this.#stream.respond([':status', '200', ...fields]);
    } else {
      tunnel.destroy();
    }
    return { head: new Uint8Array(0), stream: tunnel };
  }

  onClose(callback: CloseCallback): void {
    if (this.#closeCallbacks === undefined) callback(this.#clean, this.#sent, this.#received);
    else this.#closeCallbacks.push(callback);
  }

  get #usable(): boolean {
    const isOver = this.#phase === 'closed' || this.#phase === 'aborted';
    return !isOver && !this.#stream.destroyed && !this.#stream.closed;
  }

  get #received(): number {
    return this.#tunnel?.bytesRead ?? this.#body?.bytes ?? 0;
  }

  get #sent(): number {
    return this.#tunnel?.bytesWritten ?? this.#bytesSent;
  }

  #openHead(): void {
    if (this.#headSent) throw new ExchangeUsageError('the head of this answer was already sent');
    this.#headSent = true;
  }

  /** False: the head could not be sent, and the client got an internal error instead. */
  #writeHead(status: number, headers: RawHeaders, wholeBodyLength: number): boolean {
    const stream = this.#stream;
    this.#bodyAllowed = this.method !== 'HEAD' && status !== 204 && status !== 304;
    try {
      const fields = readHttp2Fields(headers, status === 204 ? ['content-length'] : []);
      this.#declaredLength = findContentLength(fields);
      if (wholeBodyLength >= 0 && this.#bodyAllowed && this.#declaredLength < 0) {
        this.#declaredLength = wholeBodyLength;
        fields.push('content-length', String(wholeBodyLength));
      }
      const endStream = !this.#bodyAllowed;
      // Trailers are possible in every streamed answer, and node must know before the first byte.
      const waitForTrailers = !endStream && wholeBodyLength < 0;
      stream.respond([':status', String(status), ...fields], { endStream, waitForTrailers });
      this.#trailersDue = waitForTrailers;
      return true;
    } catch (error) {
      const answer = this.#parts.onInvalidHead(error);
      this.#phase = 'ended';
      this.#bodyAllowed = this.method !== 'HEAD';
      stream.respond([':status', String(answer.status), ...answer.headers], { endStream: !this.#bodyAllowed });
      if (this.#bodyAllowed) stream.end(answer.body);
      else this.#finishWithoutBody();
      return false;
    }
  }

  #sendTrailers(): void {
    const stream = this.#stream;
    this.#trailersDue = false;
    if (stream.destroyed || stream.closed) return;
    let trailers: OutgoingHttpHeaders = {};
    try {
      trailers = groupFields(readHttp2Fields(this.#responseTrailers, []));
    } catch {
      // The answer is complete without them.
    }
    stream.sendTrailers(trailers);
    if (this.#phase === 'closed') this.#dropRequest();
  }

  /** An answer without a body is complete with its head, so the writable side of the stream has finished before. */
  #finishWithoutBody(): void {
    this.#endedWithHead = true;
    setImmediate(() => this.#settle(true));
  }

  #onFinish(): void {
    if (this.#bodyAllowed && (this.#phase === 'ended' || this.#phase === 'upgraded')) {
      // A tunnel is over when both directions are.
      if (this.#phase === 'ended') this.#settle(!this.#stream.aborted);
    }
  }

  #settle(flushed: boolean): void {
    const callbacks = this.#closeCallbacks;
    if (callbacks === undefined) return;
    this.#closeCallbacks = undefined;
    this.#clean = flushed || (this.#phase === 'upgraded' && this.#tunnel?.endedWell === true);
    this.#phase = 'closed';
    if (this.#clean) this.#dropRequest();
    else this.#body?.fail();
    for (const callback of callbacks) callback(this.#clean, this.#sent, this.#received);
  }

  /** The answer is sent and the rest of the request is not needed (RFC 9113, 8.1): tells the client to stop sending. */
  #dropRequest(): void {
    const stream = this.#stream;
    this.#body?.discard();
    // While the client's flow-control window is closed, the end of the answer is not sent: a reset would replace it.
    if (!this.hasBody || stream.readableEnded || this.#tunnel !== undefined || this.#trailersDue) return;
    // Node sends the trailers in the turn after it has asked for them.
    setImmediate(() =>
      setImmediate(() => {
        if (!stream.destroyed && !stream.closed) stream.close(getHttp2().constants.NGHTTP2_NO_ERROR);
      }),
    );
  }
}

function findContentLength(fields: readonly string[]): number {
  const index = fields.findIndex((field, position) => position % 2 === 0 && field === 'content-length');
  return index < 0 ? -1 : Number(fields[index + 1]);
}
