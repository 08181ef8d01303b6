// Reads the messages of one connection, one after the other, from bytes that arrive in any pieces (RFC 9112). The reader is
// strict: the first deviation is an error, and nothing after it is read.
import { ChunkSizeLine } from './chunk-size-line.ts';
import { readFieldLines } from './field-lines.ts';
import { bodyUntilClose, chunkedBody } from './framing.ts';
import { Http1Error } from './http1-error.ts';
import { KnownHead } from './known-head.ts';
import { areLinesClean } from './line-characters.ts';
import { noHeaders, type RawHeaders } from './raw-headers.ts';
import { readRequestHead, type RequestHead } from './request-head.ts';
import { readResponseHead, type ResponseHead } from './response-head.ts';

export interface ReaderLimits {
  /** Bytes of one head, start line included, and of one trailer section. */
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
}

/**
 * The events of a reader: onHead, onBody*, onEnd, and again. onError is the last one. Chunks are views of the pushed bytes: keeping a chunk
 * keeps those in memory. Every event handler may pause the reader.
 */
export interface MessageEvents<Head> {
  onHead(head: Head): void;
  onBody(chunk: Buffer): void;
  onEnd(trailers: RawHeaders): void;
  onError(error: Http1Error): void;
}

const inHead = 0;
const inLength = 1;
const inChunkSize = 2;
const inChunk = 3;
const afterChunk = 4;
const inTrailers = 5;
const untilClose = 6;
const stopped = 7;
type State = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const noBytes = Buffer.alloc(0);
const headEnd = Buffer.from('\r\n\r\n', 'latin1');

abstract class MessageReader<Head extends { readonly bodyLength: number; readonly headers: RawHeaders }> {
  protected readonly limits: ReaderLimits;
  protected readonly known = new KnownHead<Head>();
  readonly #events: MessageEvents<Head>;
  #state: State = inHead;
  /** Bytes left of the body or the chunk. */
  #left = 0;
  #chunkLine: ChunkSizeLine | undefined;
  /** The beginning of a head or trailer section whose end has not come yet, and how much of the buffer it fills. */
  #partial: Buffer | undefined;
  #partialLength = 0;
  /** Bytes that were pushed while the reader was paused. */
  #waiting: Buffer | undefined;
  #paused = false;
  #reading = false;
  /** The connection has no more bytes; waiting bytes are still to be read. */
  #ended = false;
  /** Bytes of the empty line before a start line that were skipped. */
  #emptyLineBytes = 0;
  /** Where the text that was gathered last ended. */
  #gathered = 0;
  /** The bytes being read. */
  #input: Buffer = noBytes;

  constructor(limits: ReaderLimits, events: MessageEvents<Head>) {
    this.limits = limits;
    this.#events = events;
  }

  /** The known head, if it repeats here and needs no parsing. */
  protected abstract findKnown(bytes: Buffer, at: number): Head | undefined;
  /** Parses a head. The text was compared with the known head before, and its changed lines have only allowed characters. */
  protected abstract readHead(text: string): Head;
  /** One empty line before the start line is skipped (RFC 9112 section 2.2). */
  protected abstract readonly allowsEmptyLine: boolean;

  /** Between two messages, and no byte of the next one has arrived. */
  get isIdle(): boolean {
    return this.#state === inHead && this.#partial === undefined && this.#waiting === undefined;
  }

  /** Bytes that were pushed and not read yet. */
  get waitingBytes(): number {
    return this.#waiting?.length ?? 0;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** An event handler is running. */
  get isReading(): boolean {
    return this.#reading;
  }

  /** Takes the next bytes of the connection. */
  push(bytes: Buffer): void {
    if (this.#paused || this.#reading || this.#waiting !== undefined) {
      if (this.#state === stopped) return;
      this.#waiting = this.#waiting === undefined ? bytes : Buffer.concat([this.#waiting, bytes]);
      return;
    }
    this.#read(bytes);
  }

  /** The connection has no more bytes. */
  end(): void {
    this.#ended = true;
    if (!this.#paused && !this.#reading && this.#waiting === undefined) this.#finish();
  }

  /** Holds the following bytes. May be called from an event handler. */
  pause(): void {
    this.#paused = true;
  }

  /** Continues with the waiting bytes. Called from an event handler, it takes effect after the handler. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#reading) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) this.#read(waiting);
    else if (this.#ended) this.#finish();
  }

  /** Stops reading. Returns the bytes after the last message, or after the head when called from onHead. */
  stop(): Buffer {
    this.#state = stopped;
    const rest = this.#reading ? this.#input.subarray(this.#gathered) : (this.#waiting ?? noBytes);
    this.#waiting = undefined;
    this.#partial = undefined;
    return rest;
  }

  #read(bytes: Buffer): void {
    this.#reading = true;
    try {
      let at = 0;
      let current = bytes;
      for (;;) {
        this.#input = current;
        while (at < current.length && !this.#paused && this.#state !== stopped) at = this.#step(current, at);
        if (this.#state === stopped) break;
        if (at < current.length) {
          this.#keep(current.subarray(at));
          break;
        }
        // More bytes were pushed from inside an event handler.
        if (this.#waiting === undefined || this.#paused) break;
        current = this.#waiting;
        this.#waiting = undefined;
        at = 0;
      }
    } catch (error) {
      if (!(error instanceof Http1Error)) throw error;
      this.#fail(error);
    } finally {
      this.#reading = false;
      this.#input = noBytes;
    }
    if (this.#ended && !this.#paused) this.#finish();
  }

  #finish(): void {
    if (this.#state === stopped) return;
    if (this.#state === untilClose) {
      this.#state = stopped;
      this.#events.onEnd(noHeaders);
    } else if (this.isIdle) {
      this.#state = stopped;
    } else {
      this.#fail(new Http1Error('incomplete', 'the connection was closed in the middle of a message'));
    }
  }

  #keep(rest: Buffer): void {
    this.#waiting = this.#waiting === undefined ? rest : Buffer.concat([rest, this.#waiting]);
  }

  #fail(error: Http1Error): void {
    this.#state = stopped;
    this.#waiting = undefined;
    this.#partial = undefined;
    this.#events.onError(error);
  }

  /** Reads one piece and returns where the next one begins. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case inHead:
        return this.#readHead(bytes, at);
      case inLength:
      case inChunk:
        return this.#readCounted(bytes, at);
      case inChunkSize:
        return this.#readChunkSize(bytes, at);
      case afterChunk:
        return this.#readChunkEnd(bytes, at);
      case inTrailers:
        return this.#readTrailers(bytes, at);
      default:
        this.#events.onBody(at === 0 ? bytes : bytes.subarray(at));
        return bytes.length;
    }
  }

  #readHead(bytes: Buffer, start: number): number {
    let at = start;
    if (this.#partial === undefined && this.allowsEmptyLine) {
      at = this.#skipEmptyLine(bytes, at);
      if (at === bytes.length) return at;
    }
    let head = this.#partial === undefined ? this.findKnown(bytes, at) : undefined;
    if (head !== undefined) {
      this.#gathered = at + this.known.length;
    } else {
      const text = this.#gather(bytes, at, true);
      if (text === undefined) return bytes.length;
      head = this.readHead(text);
    }
    const next = this.#gathered;
    this.#beginBody(head.bodyLength);
    this.#events.onHead(head);
    if (head.bodyLength === 0 && this.#state === inLength) this.#endMessage(noHeaders);
    return next;
  }

  #skipEmptyLine(bytes: Buffer, start: number): number {
    let at = start;
    if (this.#emptyLineBytes === 0 && bytes[at] === carriageReturn) {
      this.#emptyLineBytes = 1;
      at += 1;
    }
    if (this.#emptyLineBytes === 1 && at < bytes.length) {
      if (bytes[at] !== lineFeed) throw new Http1Error('bad_request', 'a carriage return without a line feed');
      this.#emptyLineBytes = 2;
      at += 1;
    }
    return at;
  }

  /** The text up to the empty line, or undefined while that has not arrived. Records where the text ended. */
  #gather(bytes: Buffer, at: number, isHead: boolean): string | undefined {
    const { maxHeaderBytes } = this.limits;
    if (this.#partial === undefined) {
      const found = bytes.indexOf(headEnd, at);
      if (found >= 0) {
        if (found + 4 - at > maxHeaderBytes) throw tooLarge(maxHeaderBytes);
        this.#gathered = found + 4;
        return this.#take(bytes, at, found + 4, isHead);
      }
      const length = bytes.length - at;
      if (length > maxHeaderBytes) throw tooLarge(maxHeaderBytes);
      this.#partial = Buffer.allocUnsafe(Math.max(1_024, length * 2));
      bytes.copy(this.#partial, 0, at);
      this.#partialLength = length;
      checkPartialLines(this.#partial, 0, length);
      return undefined;
    }
    const before = this.#partialLength;
    const taken = Math.min(bytes.length - at, maxHeaderBytes + 4 - before);
    const length = before + taken;
    if (length > this.#partial.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, this.#partial.length * 2));
      this.#partial.copy(larger, 0, 0, before);
      this.#partial = larger;
    }
    bytes.copy(this.#partial, before, at, at + taken);
    const partial = this.#partial.subarray(0, length);
    const found = partial.indexOf(headEnd, Math.max(0, before - 3));
    if (found >= 0 && found + 4 <= maxHeaderBytes) {
      this.#partial = undefined;
      this.#gathered = at + found + 4 - before;
      return this.#take(partial, 0, found + 4, isHead);
    }
    if (length > maxHeaderBytes) throw tooLarge(maxHeaderBytes);
    this.#partialLength = length;
    checkPartialLines(partial, before, length);
    return undefined;
  }

  #take(bytes: Buffer, start: number, end: number, isHead: boolean): string {
    const text = bytes.toString('latin1', start, end);
    const changes = isHead ? this.known.compare(text) : undefined;
    if (changes === undefined) checkLines(bytes, start, end);
    else for (const { from, to } of changes) checkLines(bytes, start + from, start + to);
    return text;
  }

  #beginBody(bodyLength: number): void {
    if (bodyLength === chunkedBody) {
      this.#chunkLine ??= new ChunkSizeLine();
      this.#chunkLine.begin();
      this.#state = inChunkSize;
    } else if (bodyLength === bodyUntilClose) {
      this.#state = untilClose;
    } else {
      this.#left = bodyLength;
      this.#state = inLength;
    }
  }

  #readCounted(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    const isLast = this.#left === 0;
    if (isLast && this.#state === inChunk) this.#state = afterChunk;
    this.#events.onBody(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    if (isLast && this.#state === inLength) this.#endMessage(noHeaders);
    return end;
  }

  #readChunkSize(bytes: Buffer, at: number): number {
    const line = this.#chunkLine!;
    const end = line.read(bytes, at);
    if (end < 0) return bytes.length;
    this.#left = line.size;
    this.#state = line.size === 0 ? inTrailers : inChunk;
    return end;
  }

  #readChunkEnd(bytes: Buffer, at: number): number {
    // `left` is 0 here, and counts the CR and LF.
    if (bytes[at] !== (this.#left === 0 ? carriageReturn : lineFeed))
      throw new Http1Error('bad_request', 'a chunk that does not end where its size says');
    this.#left += 1;
    if (this.#left === 2) this.#state = inChunkSize;
    return at + 1;
  }

  #readTrailers(bytes: Buffer, at: number): number {
    // Fast path: no trailers, and the empty line arrived whole. In pieces it is gathered like any other line.
    if (this.#partial === undefined && bytes[at] === carriageReturn && bytes[at + 1] === lineFeed) {
      this.#endMessage(noHeaders);
      return at + 2;
    }
    if (this.#partial !== undefined && this.#partialLength === 1 && this.#partial[0] === carriageReturn) {
      if (bytes[at] !== lineFeed) throw new Http1Error('bad_request', 'a carriage return without a line feed');
      this.#partial = undefined;
      this.#endMessage(noHeaders);
      return at + 1;
    }
    const text = this.#gather(bytes, at, false);
    if (text === undefined) return bytes.length;
    const next = this.#gathered;
    const trailers = readFieldLines(text, 0, this.limits.maxHeaderCount);
    checkTrailers(trailers);
    this.#endMessage(trailers);
    return next;
  }

  #endMessage(trailers: RawHeaders): void {
    this.#state = inHead;
    this.#emptyLineBytes = 0;
    this.#events.onEnd(trailers);
  }
}

/** Reads requests. */
export class RequestReader extends MessageReader<RequestHead> {
  protected override readonly allowsEmptyLine = true;

  readonly #before = { url: '', authority: '' };

  protected override findKnown(bytes: Buffer, at: number): RequestHead | undefined {
    return this.known.find(bytes, at);
  }

  protected override readHead(text: string): RequestHead {
    const { known } = this;
    if (known.isSame) return known.head!;
    const head = readRequestHead(text, this.limits.maxHeaderCount, this.#before, known);
    known.keep(text, head);
    return head;
  }
}

/** Reads responses. */
export class ResponseReader extends MessageReader<ResponseHead> {
  /** The next final answer is to a HEAD request: it has no body, whatever its headers say. */
  isToHead = false;
  protected override readonly allowsEmptyLine = false;

  protected override findKnown(bytes: Buffer, at: number): ResponseHead | undefined {
    return this.isToHead ? undefined : this.known.find(bytes, at);
  }

  protected override readHead(text: string): ResponseHead {
    const { known, isToHead } = this;
    if (known.isSame && !isToHead) return known.head!;
    const head = readResponseHead(text, isToHead, this.limits.maxHeaderCount, known);
    // In an answer to HEAD the same text means something else.
    if (!isToHead) known.keep(text, head);
    return head;
  }
}

function tooLarge(maxHeaderBytes: number): Http1Error {
  return new Http1Error('headers_too_large', `more than ${maxHeaderBytes} bytes of header fields`);
}

function checkLines(bytes: Buffer, start: number, end: number): void {
  if (!areLinesClean(bytes, start, end))
    throw new Http1Error('bad_request', 'a control character, or a CR or LF alone, in a header line');
}

/** An invalid line is an error at once, not only when the head is complete or the client has given up. */
function checkPartialLines(bytes: Buffer, added: number, end: number): void {
  // A CR at the end is checked later, together with the next byte, which must be an LF.
  const start = added > 0 && bytes[added - 1] === carriageReturn ? added - 1 : added;
  checkLines(bytes, start, bytes[end - 1] === carriageReturn ? end - 1 : end);
}

/** Framing fields must come before the body (RFC 9110 section 6.5.1). The forwarder drops other fields that are not allowed in trailers. */
function checkTrailers(trailers: RawHeaders): void {
  for (let index = 0; index < trailers.length; index += 2) {
    const { length } = trailers[index]!;
    if (length !== 14 && length !== 17) continue;
    const name = trailers[index]!.toLowerCase();
    if (name === 'content-length' || name === 'transfer-encoding')
      throw new Http1Error('bad_request', 'a framing field among the trailers');
  }
}
