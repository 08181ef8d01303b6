// One HTTP/1 request and its answer (RFC 9112) as an Exchange, over the codec in src/http1.
import type { Socket } from 'node:net';
import type { BodyWriter } from '../../http1/body-writer.ts';
import { toLowerCaseName } from '../../http1/common-names.ts';
import { bodyUntilClose, chunkedBody, noLength, readContentLength } from '../../http1/framing.ts';
import {
  appendField,
  appendFields,
  finishHead,
  formatStatusLine,
  UnsendableHeadError,
} from '../../http1/message-head.ts';
import { noHeaders } from '../../http1/raw-headers.ts';
import type { RequestHead } from '../../http1/request-head.ts';
import type { SentFields } from '../../http1/sent-fields.ts';
import { deliverNothing } from './body-delivery.ts';
import { type ConnectionPeer, PeerFacts } from './connection-peer.ts';
import type { EarlyAnswer } from './early-answer.ts';
import type { BodyFlow, BodySink, Exchange, RawHeaders, UpgradedSocket } from '../http/exchange.ts';
import { ExchangeUsageError } from './exchange-usage-error.ts';
import { IncompleteBodyError } from './incomplete-body-error.ts';

const closeLine = '\r\nconnection: close';

type CloseCallback = (clean: boolean, bytesSent: number, bytesReceived: number) => void;

/** The connection, as far as its exchanges use it. */
export interface Http1ExchangeOwner {
  readonly socket: Socket;
  readonly writer: BodyWriter;
  readonly peer: ConnectionPeer;
  /** The header lines that tell a client how long the connection stays open for reuse. */
  readonly keepAliveLines: string;
  /** The fields sent upstream for requests of this connection. */
  readonly sentFields: SentFields;
  /** Whether the connection must close after this answer. Read when the head is sent. */
  readonly mustClose: boolean;
  /** To be called when the last byte of the answer has left. */
  readonly noteFlushed: () => void;
  /** Starts or resumes the delivery of the body. Never delivers from inside this call. */
  resumeBody(): void;
  pauseBody(): void;
  /** Hands the raw connection over. */
  release(): UpgradedSocket;
  /** The answer is flushed, or the connection is gone. */
  onSettled(exchange: Http1Exchange): void;
  /** Reports a head that cannot be sent, and returns the answer to send instead. */
  explainInvalidHead(error: unknown): EarlyAnswer;
}

/** The adapter. Its connection feeds it the request body and calls `settle` when the answer is flushed or the socket closed. */
export class Http1Exchange extends PeerFacts implements Exchange, BodyFlow {
  readonly headers: RawHeaders;
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  readonly httpVersion: '1.0' | '1.1';
  readonly hasBody: boolean;
  readonly upgradeProtocol: string | undefined;
  readonly #owner: Http1ExchangeOwner;
  readonly #expectsContinue: boolean;
  /** The whole request is here. */
  requestComplete = false;
  /** This exchange is the last one on its connection. Final once the head is sent. */
  closesConnection: boolean;
  #phase: 'waiting' | 'streaming' | 'ended' | 'upgraded' | 'closed' = 'waiting';
  #headSent = false;
  #bodyAllowed = true;
  /** Content-Length of the answer, -1 without one. */
  #declaredLength = -1;
  #isChunked = false;
  #bytesSent = 0;
  #bytesReceived = 0;
  #sink: BodySink | undefined;
  #bodyStarted = false;
  #resumes = 0;
  #sent100 = false;
  #drainCallback: (() => void) | undefined;
  #closeCallbacks: CloseCallback[] | undefined = [];
  #clean = false;
  #bytesAtUpgrade: { readonly read: number; readonly written: number } | undefined;

  constructor(owner: Http1ExchangeOwner, head: RequestHead, upgradeProtocol: string | undefined) {
    super(owner.peer);
    this.#owner = owner;
    this.headers = head.headers;
    this.method = head.method;
    this.target = head.target;
    this.authority = head.authority;
    this.httpVersion = head.httpVersion;
    this.hasBody = head.bodyLength !== 0;
    this.upgradeProtocol = upgradeProtocol;
    this.#expectsContinue = head.expectsContinue;
    // A client that asked for another protocol may already be speaking it: nothing after such a request is read as HTTP.
    this.closesConnection = !head.keepsAlive || upgradeProtocol !== undefined || head.method === 'CONNECT';
  }

  get sentFields(): SentFields {
    return this.#owner.sentFields;
  }

  get headSent(): boolean {
    return this.#headSent;
  }

  /** The answer has begun and has not ended. */
  get isStreaming(): boolean {
    return this.#phase === 'streaming';
  }

  // ---- the body of the request

  readBody(sink: BodySink): BodyFlow {
    if (this.#bodyStarted) throw new ExchangeUsageError('readBody was called twice');
    this.#bodyStarted = true;
    if (!this.hasBody) return deliverNothing(() => sink.end([]));
    if (this.#phase === 'closed') return deliverNothing(() => sink.fail(new IncompleteBodyError()));
    if (this.#expectsContinue) this.#sendContinue();
    this.#sink = sink;
    this.#owner.resumeBody();
    return this;
  }

  resume(): void {
    this.#resumes += 1;
    if (this.#phase !== 'closed') this.#owner.resumeBody();
  }

  discard(): void {
    this.#sink = undefined;
    if (this.#phase !== 'closed') this.#owner.resumeBody();
  }

  /** A piece of the body has arrived. */
  receiveBody(chunk: Buffer): void {
    this.#bytesReceived += chunk.length;
    const sink = this.#sink;
    if (sink === undefined) return;
    // A sink may call resume before its write returns false: then there is nothing to wait for.
    const resumesBefore = this.#resumes;
    if (!sink.write(chunk) && this.#resumes === resumesBefore && this.#sink !== undefined) this.#owner.pauseBody();
  }

  /** The request is complete. */
  receiveEnd(trailers: RawHeaders): void {
    this.requestComplete = true;
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(trailers);
  }

  // ---- the answer

  sendInformational(status: number, headers: RawHeaders): void {
    if (this.#phase !== 'waiting' || this.httpVersion === '1.0' || status === 101) return;
    if (status === 100) {
      this.#sendContinue();
      return;
    }
    try {
      this.#owner.writer.writeAlone(finishHead(appendFields(formatStatusLine(status), headers)));
    } catch {
      // Informational answers are optional: one that cannot be sent is left out.
    }
  }

  sendHead(status: number, headers: RawHeaders): void {
    this.#openHead();
    if (this.#phase === 'closed') return;
    if (this.#writeHead(status, headers, -1)) this.#phase = 'streaming';
  }

  write(chunk: Uint8Array): boolean {
    if (this.#phase !== 'streaming' || !this.#bodyAllowed || chunk.length === 0) return true;
    this.#bytesSent += chunk.length;
    if (this.#declaredLength >= 0 && this.#bytesSent > this.#declaredLength) {
      // The client would read the excess bytes as the start of the next answer.
      this.abort();
      return true;
    }
    return this.#owner.writer.write(chunk);
  }

  get hasSentAll(): boolean {
    return this.#owner.socket.writableLength === 0;
  }

  onDrain(callback: () => void): void {
    this.#drainCallback = callback;
  }

  /** The socket accepts more bytes again. */
  noteDrain(): void {
    this.#drainCallback?.();
  }

  end(trailers: RawHeaders = noHeaders): void {
    if (this.#phase !== 'streaming') return;
    if (this.#bodyAllowed && this.#declaredLength >= 0 && this.#bytesSent < this.#declaredLength) {
      this.abort();
      return;
    }
    this.#phase = 'ended';
    const { writer, noteFlushed } = this.#owner;
    try {
      writer.end(trailers, noteFlushed);
    } catch {
      // The answer is complete without them, and half of a trailer section would be worse than none.
      writer.end(noHeaders, noteFlushed);
    }
  }

  respond(status: number, headers: RawHeaders, body: Uint8Array | string): void {
    this.#openHead();
    if (this.#phase === 'closed') return;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (!this.#writeHead(status, headers, bytes.length)) return;
    this.#phase = 'streaming';
    this.write(bytes);
    this.end();
  }

  abort(): void {
    if (this.#phase === 'closed') return;
    const { socket, writer } = this.#owner;
    // The client gets every byte that was written before the abort.
    writer.flush();
    // Without framing a plain close would look like the regular end of the answer.
    const endsWithConnection = this.#headSent && this.#bodyAllowed && !this.#isChunked && this.#declaredLength < 0;
    if (endsWithConnection && this.scheme === 'http') socket.resetAndDestroy();
    else socket.destroy();
    this.#phase = this.#phase === 'upgraded' ? 'upgraded' : 'ended';
  }

  acceptUpgrade(status: number, headers: RawHeaders): UpgradedSocket {
    if (this.upgradeProtocol === undefined) {
      throw new ExchangeUsageError('acceptUpgrade on a request that asked for no upgrade');
    }
    const text = formatSwitchingHead(status, headers, this.upgradeProtocol);
    this.#openHead();
    const { socket } = this.#owner;
    if (this.#phase !== 'waiting') return { head: Buffer.alloc(0), stream: socket };
    this.#phase = 'upgraded';
    const upgraded = this.#owner.release();
    socket.write(text, 'latin1');
    this.#bytesAtUpgrade = { read: socket.bytesRead - upgraded.head.length, written: socket.bytesWritten };
    return upgraded;
  }

  onClose(callback: CloseCallback): void {
    if (this.#closeCallbacks === undefined) callback(this.#clean, this.#bytesSent, this.#bytesReceived);
    else this.#closeCallbacks.push(callback);
  }

  /** The answer is flushed (clean), or the connection closed before that. */
  settle(clean: boolean, cause?: unknown): void {
    const callbacks = this.#closeCallbacks;
    if (callbacks === undefined) return;
    this.#closeCallbacks = undefined;
    this.#clean = clean && (this.#phase === 'ended' || this.#phase === 'upgraded');
    this.#phase = 'closed';
    if (this.#bytesAtUpgrade !== undefined) {
      const { socket } = this.#owner;
      this.#bytesReceived = socket.bytesRead - this.#bytesAtUpgrade.read;
      this.#bytesSent = socket.bytesWritten - this.#bytesAtUpgrade.written;
    }
    const sink = this.#sink;
    this.#sink = undefined;
    if (!this.#clean) sink?.fail(new IncompleteBodyError(cause));
    for (const callback of callbacks) callback(this.#clean, this.#bytesSent, this.#bytesReceived);
    this.#owner.onSettled(this);
  }

  #openHead(): void {
    if (this.#headSent) throw new ExchangeUsageError('the head of this answer was already sent');
    this.#headSent = true;
  }

  #sendContinue(): void {
    if (this.#sent100 || this.#phase !== 'waiting' || this.httpVersion === '1.0') return;
    this.#sent100 = true;
    this.#owner.writer.writeAlone('HTTP/1.1 100 Continue\r\n\r\n');
  }

  /** False: the head could not be sent, and the client got an internal error instead. */
  #writeHead(status: number, headers: RawHeaders, wholeBodyLength: number): boolean {
    this.#bodyAllowed = this.method !== 'HEAD' && status !== 204 && status !== 304;
    let text: string;
    try {
      text = this.#formatHead(status, headers, wholeBodyLength);
    } catch (error) {
      this.#sendInvalidHead(this.#owner.explainInvalidHead(error));
      return false;
    }
    const { writer } = this.#owner;
    writer.begin(text, this.#framing);
    writer.flushSoon();
    return true;
  }

  get #framing(): number {
    if (!this.#bodyAllowed) return 0;
    if (this.#isChunked) return chunkedBody;
    return this.#declaredLength >= 0 ? this.#declaredLength : bodyUntilClose;
  }

  /** Reads the framing from the headers and leaves out the fields that this adapter writes itself. */
  #formatHead(status: number, headers: RawHeaders, wholeBodyLength: number): string {
    let text = formatStatusLine(status);
    let trailer: string | undefined;
    let hasDate = false;
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index]!;
      const value = headers[index + 1]!;
      switch (name.length) {
        case 4:
          if (toLowerCaseName(name) === 'date') hasDate = true;
          break;
        case 7:
          if (toLowerCaseName(name) !== 'trailer') break;
          trailer = value;
          continue;
        case 10: {
          const lower = toLowerCaseName(name);
          if (lower === 'connection' || lower === 'keep-alive') continue;
          break;
        }
        case 14:
          if (toLowerCaseName(name) !== 'content-length') break;
          if (status === 204 || this.#declaredLength >= 0) continue;
          this.#declaredLength = readContentLength(value);
          if (this.#declaredLength === noLength) throw new UnsendableHeadError('the content-length');
          break;
        case 17:
          if (toLowerCaseName(name) === 'transfer-encoding') continue;
          break;
        default:
      }
      text = appendField(text, name, value);
    }
    if (this.#bodyAllowed && this.#declaredLength < 0) {
      if (wholeBodyLength >= 0) {
        this.#declaredLength = wholeBodyLength;
        text += `\r\ncontent-length: ${wholeBodyLength}`;
      } else if (this.httpVersion === '1.1') {
        this.#isChunked = true;
        // Trailers exist in chunked answers only.
        if (trailer !== undefined) text = appendField(text, 'trailer', trailer);
        text += '\r\ntransfer-encoding: chunked';
      } else {
        // An HTTP/1.0 client may not understand chunked coding.
        this.closesConnection = true;
      }
    }
    if (!hasDate) text += currentHttpDate();
    // Without the 100 (Continue) the client may or may not send its body, so the next bytes are ambiguous.
    if (this.#owner.mustClose || (this.#expectsContinue && !this.#sent100)) this.closesConnection = true;
    return finishHead(text + (this.closesConnection ? closeLine : this.#owner.keepAliveLines));
  }

  #sendInvalidHead({ status, headers, body }: EarlyAnswer): void {
    const isHead = this.method === 'HEAD';
    this.closesConnection = true;
    this.#bodyAllowed = !isHead;
    const { writer, noteFlushed } = this.#owner;
    const text = finishHead(appendFields(formatStatusLine(status), headers) + currentHttpDate() + closeLine);
    const bytes = Buffer.from(body);
    writer.begin(text, isHead ? 0 : bytes.length);
    if (!isHead) writer.write(bytes);
    this.#phase = 'ended';
    writer.end(noHeaders, noteFlushed);
  }
}

/**
 * The head of an answer that switches protocols (RFC 9110 section 7.8). Drops the connection and body fields of `headers`, and adds Upgrade if it is missing.
 * Throws an UnsendableHeadError.
 */
function formatSwitchingHead(status: number, headers: RawHeaders, protocol: string): string {
  let head = `${formatStatusLine(status)}\r\nConnection: Upgrade`;
  let isNamed = false;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const lower = name.toLowerCase();
    if (lower === 'connection' || lower === 'content-length' || lower === 'transfer-encoding') continue;
    if (lower === 'upgrade') isNamed = true;
    head = appendField(head, name, headers[index + 1]!);
  }
  return finishHead(isNamed ? head : appendField(head, 'Upgrade', protocol));
}

let dateLine = '';
let dateSecond = -1;

/** CRLF and the Date header of answers that have none (RFC 9110 section 6.6.1), made once a second. */
function currentHttpDate(): string {
  const now = Date.now();
  const second = Math.floor(now / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateLine = `\r\ndate: ${new Date(now).toUTCString()}`;
  }
  return dateLine;
}
