// One HTTP/1.1 connection to an endpoint (RFC 9112). It carries one request at a time, and is reused only when nothing is
// left over: the answer is complete, the request was sent completely, and no unsolicited byte has arrived.
//
// It is made to cost little: a request has no object, timer or stream of its own here, and the listeners are the same for all sockets.
import type { Socket } from 'node:net';
import { BodyWriter } from '../../../http1/body-writer.ts';
import { chunkedBody } from '../../../http1/framing.ts';
import type { Http1Error } from '../../../http1/http1-error.ts';
import { appendField, appendFields, finishHead, formatRequestLine } from '../../../http1/message-head.ts';
import { ResponseReader, type MessageEvents, type ReaderLimits } from '../../../http1/message-reader.ts';
import type { RawHeaders } from '../../../http1/raw-headers.ts';
import type { ResponseHead } from '../../../http1/response-head.ts';
import { sendingSoon } from '../../../http1/sending.ts';
import type { UpstreamCall, UpstreamEvents, UpstreamRequest } from './upstream-call.ts';
import { UpstreamProtocolError } from './upstream-error.ts';

/** The sender of a request over a connection. */
export interface ConnectionUser extends UpstreamEvents {
  /** The connection is done with the request: before onEnd and onError, and after an upgrade when the connection closes. */
  onRelease(): void;
}

/** The owner of the idle connections. */
export interface ConnectionOwner {
  /** It could carry another request. `keepAliveSeconds`: as the server said. */
  onFree(connection: Http1Connection, keepAliveSeconds: number | undefined): void;
  /** A free one is closed. */
  onGone(connection: Http1Connection): void;
}

/** A read of this size may have left something behind in the kernel. */
const fullReadBytes = 65_536;

const connectionOf = Symbol('connection');
interface ConnectionSocket extends Socket {
  [connectionOf]?: Http1Connection;
}

/** A connection and the request on it, if there is one. */
export class Http1Connection implements Omit<UpstreamCall, 'start'>, MessageEvents<ResponseHead> {
  /** When a free connection is not kept any longer, by the clock of its owner; 0 while it is in use. */
  expiresAt = 0;
  readonly #socket: ConnectionSocket;
  readonly #reader: ResponseReader;
  readonly #writer: BodyWriter;
  readonly #owner: ConnectionOwner;
  /** Undefined: no request. */
  #user: ConnectionUser | undefined;
  #wantsUpgrade = false;
  /** What is left of a body with a length. */
  #bodyLeft = 0;
  #isChunked = false;
  #isBodyEnded = true;
  /** A head held until the end of a body that must be empty: sending it would complete the request. */
  #heldHead: string | undefined;
  /** `writeBody` returned false. */
  #isFull = false;
  /** Of the answer. */
  #keepsAlive = false;
  #keepAliveSeconds: number | undefined;
  /** The head that came last was not the final one. */
  #isInterim = false;
  /** The 101 that was asked for, until the bytes after it are put back. */
  #switched: ResponseHead | undefined;
  /** Set when the answer is complete, until the bytes that came with it are looked at. */
  #trailers: RawHeaders | undefined;
  /** The user takes no more of the answer. */
  #isPaused = false;
  /** Resumed while a chunk is handed over. */
  #isResumed = false;
  #isReadFull = false;
  #isEnded = false;
  /** Closed, or broken and about to be. */
  #isClosed = false;
  /** The answer cannot be read any further. */
  #isBroken = false;

  constructor(socket: Socket, limits: ReaderLimits, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#reader = new ResponseReader(limits, this);
    this.#writer = new BodyWriter(socket, sendingSoon);
    this.#owner = owner;
    this.#socket[connectionOf] = this;
    socket.on('data', deliverBytes);
    socket.on('end', onSocketEnd);
    socket.on('drain', onSocketDrain);
    socket.on('error', onSocketError);
    socket.on('close', onSocketClose);
    // The client's connection keeps the process alive for as long as there is a request.
    socket.unref();
  }

  /** True while another request is possible. A broken socket emits an event before the next turn of the event loop. */
  get isUsable(): boolean {
    return !this.#isEnded && !this.#isClosed;
  }

  /** Sends a request. An error before onStart: not a byte of it was written. */
  begin(request: UpstreamRequest, user: ConnectionUser): void {
    let head: string;
    const bodyLength = readBodyLength(request);
    try {
      head = formatUpstreamHead(request, bodyLength);
    } catch (error) {
      this.destroy();
      user.onRelease();
      user.onError(error as Error);
      return;
    }
    this.#user = user;
    this.#wantsUpgrade = request.upgrade !== undefined;
    this.#isBodyEnded = !request.hasBody;
    this.#isChunked = bodyLength < 0;
    this.#bodyLeft = bodyLength;
    this.#isFull = false;
    this.#reader.isToHead = request.method === 'HEAD';
    if (request.hasBody && bodyLength === 0) this.#heldHead = head;
    else this.#writer.begin(head, bodyLength);
    user.onStart();
    // After the writes that onStart caused.
    this.#writer.flushSoon();
  }

  writeBody(chunk: Uint8Array): boolean {
    // As a chunk it would be the last one.
    if (chunk.length === 0) return true;
    if (!this.#isChunked) {
      if (chunk.length > this.#bodyLeft) {
        this.#fail(new Error('the body is longer than its Content-Length'));
        return true;
      }
      this.#bodyLeft -= chunk.length;
    }
    const hasRoom = this.#writer.write(chunk);
    this.#isFull = !hasRoom;
    return hasRoom;
  }

  get hasSentAll(): boolean {
    return this.#socket.writableLength === 0;
  }

  endBody(trailers: RawHeaders): void {
    if (this.#isBodyEnded) return;
    if (this.#isChunked) this.#writer.end(trailers, ignore);
    else if (this.#bodyLeft > 0) return this.#fail(new Error('the body is shorter than its Content-Length'));
    this.#isBodyEnded = true;
    if (this.#heldHead === undefined) return;
    this.#writer.begin(this.#heldHead, 0);
    this.#heldHead = undefined;
  }

  resume(): void {
    this.#isResumed = true;
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#read('rest');
    if (this.#user !== undefined && !this.#isPaused) this.#socket.resume();
  }

  abort(): void {
    const user = this.#user;
    if (user === undefined) return;
    this.#user = undefined;
    this.destroy();
    user.onRelease();
  }

  /** Closes it. */
  destroy(): void {
    this.#isClosed = true;
    this.#reader.stop();
    this.#socket.destroy();
  }

  // ---- events of the socket

  /** @internal */
  receive(bytes: Buffer): void {
    if (this.#user === undefined) return this.destroy();
    this.#isReadFull = bytes.length >= fullReadBytes;
    this.#read(bytes);
    // A pause right after a resume has no effect: Node starts to read one tick later, whatever came between.
    if (this.#isPaused) this.#socket.pause();
  }

  /** @internal */
  receiveEnd(): void {
    this.#isEnded = true;
    if (this.#user === undefined) return this.destroy();
    this.#read('end');
  }

  /** @internal */
  tellDrain(): void {
    const user = this.#user;
    if (!this.#isFull || user === undefined) return;
    this.#isFull = false;
    try {
      user.onBodyDrain();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** @internal */
  receiveError(error: Error): void {
    this.#fail(error);
  }

  /** @internal */
  receiveClose(): void {
    this.#isClosed = true;
    if (this.#user === undefined) this.#owner.onGone(this);
    else this.#fail(new Error('the connection was closed'));
  }

  /** An exception of an event handler fails this connection, not the process. */
  #read(what: Buffer | 'rest' | 'end'): void {
    try {
      if (what === 'rest') this.#reader.resume();
      else if (what === 'end') this.#reader.end();
      else this.#reader.push(what);
      this.#settle();
    } catch (error) {
      this.#fail(error as Error);
    }
    if (this.#isEnded && this.#user !== undefined && !this.#isPaused && !this.#isBroken)
      this.#fail(new Error('the upstream closed the connection before it answered'));
  }

  /** Handles the outcomes that must wait until the reader has returned. */
  #settle(): void {
    if (this.#trailers !== undefined) this.#complete(this.#trailers);
    else if (this.#switched !== undefined) this.#switch(this.#switched);
  }

  #complete(trailers: RawHeaders): void {
    const user = this.#user!;
    const isBodyEnded = this.#isBodyEnded;
    const isClean = isBodyEnded && this.#keepsAlive && this.#reader.isIdle && !this.#isReadFull;
    this.#user = undefined;
    this.#trailers = undefined;
    if (isClean && this.isUsable && this.#socket.writableLength === 0) {
      this.#reader.resume();
      if (this.#isPaused) this.#socket.resume();
      this.#isPaused = false;
      this.#owner.onFree(this, this.#keepAliveSeconds);
    } else {
      this.destroy();
    }
    if (!isBodyEnded) user.onBodyRefused();
    user.onRelease();
    user.onEnd(trailers);
  }

  #switch({ status, headers }: ResponseHead): void {
    const user = this.#user!;
    const socket = this.#socket;
    this.#user = undefined;
    this.#switched = undefined;
    socket.removeListener('data', deliverBytes);
    socket.removeListener('end', onSocketEnd);
    socket.removeListener('drain', onSocketDrain);
    socket.removeListener('error', onSocketError);
    socket.removeListener('close', onSocketClose);
    delete socket[connectionOf];
    // The connection leaves the pool's use, but keeps its place until it closes. It is paused until it is read.
    socket.once('close', () => user.onRelease());
    socket.ref();
    socket.pause();
    const rest = this.#reader.stop();
    if (rest.length > 0) socket.unshift(rest);
    user.onUpgrade(status, headers, socket);
  }

  #fail(error: Error): void {
    const user = this.#user;
    this.#user = undefined;
    this.destroy();
    if (user === undefined) return;
    user.onRelease();
    user.onError(error);
  }

  // ---- events of the reader

  /** @internal */
  onHead(head: ResponseHead): void {
    this.#isInterim = head.status < 200;
    if (!this.#isInterim) {
      this.#keepsAlive = head.keepsAlive;
      this.#keepAliveSeconds = head.keepAliveSeconds;
      this.#user!.onHead(head.status, head.headers);
    } else if (head.status !== 101) {
      this.#user!.onInformational(head.status, head.headers);
    } else if (this.#wantsUpgrade) {
      this.#switched = head;
      this.#reader.pause();
    } else {
      this.#fail(new UpstreamProtocolError('the upstream switched protocols without being asked'));
    }
  }

  /** @internal */
  onBody(chunk: Buffer): void {
    const user = this.#user!;
    this.#isResumed = false;
    const goesOn = user.onData(chunk);
    // A resume that came while the chunk was handed over belongs to this pause.
    if (goesOn || this.#isResumed || this.#user !== user) return;
    this.#isPaused = true;
    this.#reader.pause();
    this.#socket.pause();
  }

  /** @internal */
  onEnd(trailers: RawHeaders): void {
    if (this.#isInterim) return;
    // Bytes after the answer are not read but kept, and prevent the reuse of the connection.
    this.#reader.pause();
    this.#trailers = trailers;
  }

  /** @internal Not at once: what came before it may still be on its way to the client. */
  onError({ code, message }: Http1Error): void {
    const error = code === 'incomplete' ? new Error(message) : new UpstreamProtocolError(`a broken answer: ${message}`);
    this.#isBroken = true;
    process.nextTick(() => this.#fail(error));
  }
}

/** The bytes of a socket that has a connection. */
export function deliverBytes(this: ConnectionSocket, bytes: Buffer): void {
  this[connectionOf]?.receive(bytes);
}

function onSocketEnd(this: ConnectionSocket): void {
  this[connectionOf]!.receiveEnd();
}

function onSocketDrain(this: ConnectionSocket): void {
  this[connectionOf]!.tellDrain();
}

function onSocketError(this: ConnectionSocket, error: Error): void {
  this[connectionOf]!.receiveError(error);
}

function onSocketClose(this: ConnectionSocket): void {
  this[connectionOf]!.receiveClose();
}

function ignore(): void {}

/** Methods of which a server may expect a body: that there is none is said (RFC 9110 section 8.6). */
const methodsWithBody: ReadonlySet<string> = new Set(['PATCH', 'POST', 'PROPFIND', 'PROPPATCH', 'PUT', 'QUERY']);

/** Bytes of the body; `chunkedBody` when they are not known, or when trailers may follow them. */
function readBodyLength({ hasBody, contentLength, wantsTrailers }: UpstreamRequest): number {
  if (!hasBody) return 0;
  return wantsTrailers ? chunkedBody : (contentLength ?? chunkedBody);
}

/** The head from the request line to the empty line (RFC 9112 sections 3 and 6). Throws an UnsendableHeadError. */
function formatUpstreamHead(request: UpstreamRequest, bodyLength: number): string {
  const { method, target, host, headers, hasBody, upgrade, sentFields } = request;
  const start = appendField(formatRequestLine(method, target), 'host', host);
  let head = sentFields === undefined ? appendFields(start, headers) : start + sentFields.format(headers);
  if (upgrade !== undefined) head = appendField(`${head}\r\nconnection: upgrade`, 'upgrade', upgrade);
  if (bodyLength === chunkedBody) head += '\r\ntransfer-encoding: chunked';
  else if (hasBody || methodsWithBody.has(method)) head += `\r\ncontent-length: ${bodyLength}`;
  return finishHead(head);
}
