// One HTTP/1 connection (RFC 9112): reads a request, has it answered, reads the next, and decides when the connection closes.
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

/** Bytes of an unread body or of pipelined requests that are buffered before the socket is paused. */
const maxWaitingBytes = 65_536;
/** An unread body is swallowed up to this size and this long, so that the connection can be used again; after that it is cut. */
const unreadBodyBytes = 1_048_576;
const unreadBodyMs = 5_000;
/**
 * A client that half-closed its connection may still wait for its answer, or be gone: this cannot be told apart. It gets what comes within this time.
 * In the middle of an answer it counts as gone at once: streams to such clients must not stay open, not even until they are resumed.
 */
const halfClosedMs = 1_000;
/**
 * While draining, an idle connection closes after this much silence and not at once: a client that has just been answered
 * often has its next request on the way, and HTTP/1 has no way to refuse it safely.
 */
const quietMs = 500;

/** head: a request head is arriving. idle: between requests. busy: a request is being answered. swallow: answered, but its body still arrives. closing: no more requests. */
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
  /** When the phase began; in `busy`: when the client half-closed the connection. */
  #since = performance.now();
  #isSocketPaused = false;
  #inputEnded = false;
  /** The next head arrived while the previous request was still being answered. */
  #isPipelined = false;
  #unreadLeft = 0;
  #draining = false;
  #quietTimer: NodeJS.Timeout | undefined;
  /** Bytes received when the last request had been served: more means that a head is arriving. */
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

  /** Checks the timeouts; called periodically. */
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

  /** Takes the bytes that were read before this connection took over the socket. */
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

  /** Pauses even a paused socket: a pause right after a resume has no effect (Node starts to read one tick later, whatever came between). */
  #pauseSocket(): void {
    this.#isSocketPaused = true;
    this.socket.pause();
  }

  #resumeReading(): void {
    this.#reader.resume();
    if (!this.#isSocketPaused || this.#reader.waitingBytes > 0) return;
    // The body is not being read. Once it has arrived completely, the socket is read again, to notice when the client leaves.
    if (this.#reader.isPaused && this.#current?.requestComplete === false) return;
    this.#isSocketPaused = false;
    this.socket.resume();
  }

  // ---- events of the reader

  onHead(head: RequestHead): void {
    if (head.bodyLength !== 0) this.#reader.pause();
    clearTimeout(this.#quietTimer);
    this.#phase = 'busy';
    // A pipelined request may not switch protocols: the risk is not worth it, and a server may ignore Upgrade.
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

  // ---- calls of an exchange

  get mustClose(): boolean {
    return this.#inputEnded || (this.#draining && this.#reader.waitingBytes === 0);
  }

  resumeBody(): void {
    if (this.#reader.isReading) this.#reader.resume();
    else process.nextTick(resumeReading, this);
  }

  /** @internal */
  resumeWhenAsked(): void {
    // The request may have ended in the meantime; then the reader waits for the answer.
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
    context.log.error({ bindKey: context.bindKey, err: error }, 'cannot send the head of an answer');
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
    // The answer is out but the body is not read: swallow a little of it, so that a client that is still sending sees the answer.
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
      // Runs after a poll for I/O: everything that has arrived by now is read first.
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
