// One HTTP/1 connection (RFC 9112): reads a request, has it answered, reads the next. Knows when it may close.
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { BodyWriter } from '../../http1/body-writer.ts';
import type { Http1Error } from '../../http1/http1-error.ts';
import { type MessageEvents, RequestReader } from '../../http1/message-reader.ts';
import type { RequestHead } from '../../http1/request-head.ts';
import { sendingTogether } from '../../http1/sending.ts';
import { SentFields } from '../../http1/sent-fields.ts';
import type { Reason } from '../http/reasons.ts';
import { type ConnectionPeer, describePeer } from './connection-peer.ts';
import { type EarlyAnswer, endConnection, formatEarlyAnswer, refuseRequest } from './early-answer.ts';
import type { RawHeaders, UpgradedSocket } from '../http/exchange.ts';
import { Http1Exchange, type Http1ExchangeOwner } from './http1-exchange.ts';
import type { ClientConnection, PortContext } from './port-context.ts';
import { serveExchange } from './serve-exchange.ts';
import { becomeStream, receiveBytes } from './accepted-socket.ts';

/** Bytes that are held, of a body that nobody reads yet or of requests whose turn has not come, before the connection stops being read. */
const maxWaitingBytes = 65_536;
/** An unread body up to this size is swallowed so that the connection can go on; after that, or this long, it is cut. */
const unreadBodyBytes = 1_048_576;
const unreadBodyMs = 5_000;
/**
 * A client that has ended its direction may still wait for its answer, or be gone: nobody can tell. It gets what comes within this time.
 * In the middle of an answer it counts as gone at once: the streams of such clients must not stay open, not even until they are resumed.
 */
const halfClosedMs = 1_000;
/**
 * While draining, an idle connection closes after this much silence and not at once: a client that has just been answered
 * often has its next request on the way, and HTTP/1 has no way to refuse it safely.
 */
const quietMs = 500;

/** head: one is on its way. idle: nothing is. busy: a request is being answered. swallow: it is answered, its body still comes. closing: no more requests. */
type Phase = 'head' | 'idle' | 'busy' | 'swallow' | 'closing';

/** The requests of one socket, one after the other. */
export class Http1Connection implements ClientConnection, MessageEvents<RequestHead>, Http1ExchangeOwner {
  readonly socket: Socket;
  readonly writer: BodyWriter;
  readonly peer: ConnectionPeer;
  readonly keepAliveLines: string;
  readonly sentFields = new SentFields();
  readonly noteFlushed = (): void => this.#current?.settle(true);
  readonly #context: PortContext;
  readonly #reader: RequestReader;
  #current: Http1Exchange | undefined;
  #phase: Phase = 'head';
  /** When the phase began; busy: when the client ended its direction. */
  #since = performance.now();
  #isSocketPaused = false;
  #inputEnded = false;
  /** The next head was there before its turn came. */
  #isPipelined = false;
  #unreadLeft = 0;
  #draining = false;
  #quietTimer: NodeJS.Timeout | undefined;
  /** What was received when the last request had been served: more means that a head is on its way. */
  #bytesWhenIdle: number;
  readonly #onData = (bytes: Buffer): void => this.#receive(bytes);
  readonly #onEnd = (): void => this.#receiveEnd();
  readonly #onDrain = (): void => this.#current?.noteDrain();

  constructor(socket: Socket, context: PortContext, alreadyReceived: number) {
    this.socket = socket;
    this.#context = context;
    this.peer = describePeer(socket);
    this.writer = new BodyWriter(socket, sendingTogether);
    this.#reader = new RequestReader(context.limits, this);
    this.keepAliveLines = formatKeepAlive(context.limits.idleTimeoutMs);
    this.#bytesWhenIdle = socket.bytesRead - alreadyReceived;
    receiveBytes(socket, this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('drain', this.#onDrain);
    socket.once('close', (hadError) => this.#onSocketClose(hadError));
  }

  startDraining(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#closeWhenQuiet();
  }

  abort(): void {
    this.#current?.abort();
    this.socket.destroy();
  }

  /** Called now and then with the time. */
  checkTime(now: number): void {
    const elapsed = now - this.#since;
    const { headerTimeoutMs, idleTimeoutMs } = this.#context.limits;
    switch (this.#phase) {
      case 'head':
        if (elapsed > headerTimeoutMs) this.#refuse('header_timeout', 'an incomplete head');
        break;
      case 'idle':
        if (elapsed > idleTimeoutMs) this.socket.destroy();
        break;
      case 'swallow':
        if (elapsed > unreadBodyMs) this.socket.destroy();
        break;
      case 'busy':
        if (this.#inputEnded && elapsed > halfClosedMs) this.socket.destroy();
        break;
      default:
    }
  }

  // ---- bytes

  /** What was read before this connection was made of the socket. */
  receiveFirst(bytes: Buffer): void {
    this.#receive(bytes);
  }

  #receive(bytes: Buffer): void {
    this.#reader.push(bytes);
    if (this.#current === undefined) {
      if (this.#phase === 'idle' && !this.#reader.isIdle) this.#enter('head');
      return;
    }
    if (this.#reader.waitingBytes > maxWaitingBytes) this.#pauseSocket();
  }

  #receiveEnd(): void {
    this.#inputEnded = true;
    this.#reader.end();
    if (this.#phase === 'busy' && this.#current?.isStreaming === true) this.socket.destroy();
    else if (this.#phase === 'busy') this.#since = performance.now();
    else if (this.#phase === 'idle' || this.#phase === 'head') this.socket.end();
    else this.socket.destroySoon();
  }

  /** Also when it was paused before: a pause right after a resume does not hold (Node starts to read one tick later, whatever came between). */
  #pauseSocket(): void {
    this.#isSocketPaused = true;
    this.socket.pause();
  }

  #resumeReading(): void {
    this.#reader.resume();
    if (!this.#isSocketPaused || this.#reader.waitingBytes > 0) return;
    // Nobody takes more of the body. Once all of it is here the socket is read again, to see whether the client leaves.
    if (this.#reader.isPaused && this.#current?.requestComplete === false) return;
    this.#isSocketPaused = false;
    this.socket.resume();
  }

  // ---- what the reader tells

  onHead(head: RequestHead): void {
    if (head.bodyLength !== 0) this.#reader.pause();
    clearTimeout(this.#quietTimer);
    this.#phase = 'busy';
    // A switch of protocols behind requests that are still being answered is not worth its risks: Upgrade may be ignored.
    const exchange = new Http1Exchange(this, head, this.#isPipelined ? undefined : head.upgradeProtocol);
    this.#isPipelined = false;
    this.#current = exchange;
    serveExchange(this.#context, exchange);
  }

  onBody(chunk: Buffer): void {
    if (this.#current !== undefined) {
      this.#current.receiveBody(chunk);
      return;
    }
    this.#unreadLeft -= chunk.length;
    if (this.#unreadLeft < 0) this.socket.destroy();
  }

  onEnd(trailers: RawHeaders): void {
    const exchange = this.#current;
    if (exchange !== undefined) {
      this.#reader.pause();
      exchange.receiveEnd(trailers);
    } else if (this.#phase === 'swallow') {
      this.#waitForNext();
    } else if (this.#phase === 'closing') {
      this.socket.destroySoon();
    }
  }

  onError(error: Http1Error): void {
    const exchange = this.#current;
    if (error.code === 'incomplete' || this.#phase === 'swallow' || this.#phase === 'closing') {
      this.socket.destroy();
    } else if (exchange === undefined) {
      this.#refuse(error.code, error.message);
    } else if (exchange.headSent) {
      // The broken bytes belong to the body of a request whose answer is under way.
      this.socket.destroy();
    } else {
      this.#current = undefined;
      this.#refuse(error.code, error.message);
      exchange.settle(false, error);
    }
  }

  // ---- what an exchange asks for

  get mustClose(): boolean {
    return this.#inputEnded || (this.#draining && this.#reader.waitingBytes === 0);
  }

  resumeBody(): void {
    if (this.#reader.isReading) this.#reader.resume();
    else process.nextTick(resumeReading, this);
  }

  /** @internal */
  resumeWhenAsked(): void {
    // In the meantime the request may have ended, and the reader waits for the answer.
    if (this.#current?.requestComplete === false) this.#resumeReading();
  }

  pauseBody(): void {
    this.#reader.pause();
    this.#pauseSocket();
  }

  release(): UpgradedSocket {
    const { socket } = this;
    socket.off('end', this.#onEnd);
    socket.off('drain', this.#onDrain);
    this.#phase = 'closing';
    return { head: this.#reader.stop(), stream: becomeStream(socket, this.#onData) };
  }

  explainInvalidHead(error: unknown): EarlyAnswer {
    const context = this.#context;
    context.log.error({ bindKey: context.bindKey, err: error }, 'an answer had a head that cannot be sent');
    return refuseRequest(context, this.peer.remoteAddress, 'internal_error', 'invalid answer head');
  }

  onSettled(exchange: Http1Exchange): void {
    if (this.#current !== exchange) return;
    this.#current = undefined;
    if (this.socket.destroyed || this.socket.writableEnded) return;
    if (exchange.requestComplete) {
      if (exchange.closesConnection || this.#inputEnded) this.#close();
      else this.#waitForNext();
      return;
    }
    // Nobody read all of the body and the answer is out: swallow a little, so that a client that is still sending sees it.
    this.#unreadLeft = unreadBodyBytes;
    this.#enter('swallow');
    if (exchange.closesConnection) {
      this.#phase = 'closing';
      endConnection(this.socket, '');
    }
    this.#resumeReading();
  }

  // ---- between requests

  #enter(phase: Phase): void {
    this.#phase = phase;
    this.#since = performance.now();
  }

  #waitForNext(): void {
    this.#enter('idle');
    this.#bytesWhenIdle = this.socket.bytesRead;
    this.#isPipelined = this.#reader.waitingBytes > 0;
    this.#resumeReading();
    if (this.#phase !== 'idle') return;
    this.#isPipelined = false;
    if (!this.#reader.isIdle) this.#enter('head');
    if (this.#draining) this.#closeWhenQuiet();
  }

  #close(): void {
    this.#phase = 'closing';
    this.#reader.stop();
    if (this.#inputEnded) this.socket.destroySoon();
    else endConnection(this.socket, '');
  }

  #refuse(reason: Reason, detail: string): void {
    this.#phase = 'closing';
    this.#reader.stop();
    this.writer.flush();
    endConnection(
      this.socket,
      formatEarlyAnswer(refuseRequest(this.#context, this.peer.remoteAddress, reason, detail)),
    );
  }

  #closeWhenQuiet(): void {
    clearTimeout(this.#quietTimer);
    if (this.#current !== undefined || this.socket.destroyed) return;
    this.#quietTimer = setTimeout(() => {
      // After a poll for I/O: what had arrived by now has been read.
      setImmediate(() => {
        if (this.#current !== undefined || this.socket.destroyed) return;
        if (this.socket.bytesRead === this.#bytesWhenIdle) this.socket.destroySoon();
        else this.#closeWhenQuiet();
      });
    }, quietMs);
  }

  #onSocketClose(hadError: boolean): void {
    clearTimeout(this.#quietTimer);
    this.#reader.stop();
    const { socket } = this;
    this.#current?.settle(!hadError && socket.readableEnded && socket.writableFinished);
  }
}

function resumeReading(connection: Http1Connection): void {
  connection.resumeWhenAsked();
}

let keepAlive = { forMs: -1, lines: '' };

function formatKeepAlive(idleTimeoutMs: number): string {
  if (keepAlive.forMs !== idleTimeoutMs)
    keepAlive = {
      forMs: idleTimeoutMs,
      lines: `\r\nconnection: keep-alive\r\nkeep-alive: timeout=${Math.floor(idleTimeoutMs / 1_000)}`,
    };
  return keepAlive.lines;
}
