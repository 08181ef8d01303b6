// Sends messages over a connection: head, body in its framing (RFC 9112 section 6), trailers. Small parts of a message leave in one
// write: a head waits for the bytes that follow it, and so do small pieces of a body.
import type { Socket } from 'node:net';
import { appendFields, finishHead } from './message-head.ts';
import type { RawHeaders } from './raw-headers.ts';
import { chunkedBody } from './framing.ts';
import type { Sender, Sending } from './sending.ts';

/** A piece up to this size is copied behind the held bytes; a larger one is handed to the kernel without a copy. */
const smallBytes = 4_096;
/** When more than this is held, it is sent at once. */
const maxHeldBytes = 16_384;

/** The sending side of one connection, for one message after the other: begin, write*, end. */
export class BodyWriter implements Sender {
  readonly #socket: Socket;
  readonly #isTls: boolean;
  /** When held bytes are sent. */
  readonly #sending: Sending;
  #framing = 0;
  /** Not yet given to the socket. One character for each byte. */
  #held = '';
  #isScheduled = false;
  /** The held bytes include the end of the message. */
  #isLast = false;
  /** The bytes sent last included the end of the message. */
  #isLastSent = false;
  /** Bytes of a body with a length that are still to come. */
  #left = 0;
  #isFlushed = false;
  #onFlushed: (() => void) | undefined;
  readonly #noteFlushed = (error?: Error | null): void => {
    if (error !== undefined && error !== null) return;
    const callback = this.#onFlushed;
    this.#onFlushed = undefined;
    if (callback === undefined) this.#isFlushed = true;
    else callback();
  };

  constructor(socket: Socket, sending: Sending) {
    this.#socket = socket;
    this.#isTls = 'encrypted' in socket;
    this.#sending = sending;
  }

  /** Sends a head without a message, e.g. an informational answer, at once. */
  writeAlone(head: string): void {
    this.#held += head;
    this.#send();
  }

  /**
   * Starts a message. `bodyLength` says how its body is framed; 0 also fits a message without a body. A head with a body is held until the body
   * comes, or until `flushSoon`.
   */
  begin(head: string, bodyLength: number): void {
    this.#framing = bodyLength;
    this.#left = bodyLength;
    this.#isFlushed = false;
    this.#onFlushed = undefined;
    this.#held += head;
    if (bodyLength === 0) this.#sendLast();
  }

  /** Writes a piece of the body, not longer than the rest of the declared length. False: wait for the socket's drain event. */
  write(chunk: Uint8Array): boolean {
    const socket = this.#socket;
    // An empty chunk would end a chunked body.
    if (chunk.length === 0) return !socket.writableNeedDrain;
    const isChunked = this.#framing === chunkedBody;
    if (isChunked) this.#held += `${chunk.length.toString(16)}\r\n`;
    this.#left -= chunk.length;
    if (chunk.length <= smallBytes) {
      this.#held += toBuffer(chunk).toString('latin1');
      if (isChunked) this.#held += '\r\n';
      if (this.#left === 0) return this.#sendLast();
      if (this.#held.length >= maxHeldBytes) return this.#send();
      this.flushSoon();
      return !socket.writableNeedDrain;
    }
    const isLast = this.#left === 0;
    let hasRoom: boolean;
    if (this.#held === '') {
      hasRoom = socket.write(chunk, isLast ? this.#noteFlushed : undefined);
    } else {
      socket.cork();
      this.#send();
      hasRoom = socket.write(chunk, isLast ? this.#noteFlushed : undefined);
      socket.uncork();
    }
    // This line end is held and leaves together with the size of the next chunk.
    if (isChunked) {
      this.#held = '\r\n';
      this.flushSoon();
    }
    return hasRoom && !socket.writableNeedDrain;
  }

  /**
   * Completes the message. The callback runs once, after the last byte has left the process; never if the connection breaks before, nor with a
   * `Sending` that sends complete messages at once.
   */
  end(trailers: RawHeaders, onFlushed: () => void): void {
    if (this.#framing === chunkedBody) {
      this.#held += trailers.length === 0 ? '0\r\n\r\n' : finishHead(appendFields('0', trailers));
      this.#onFlushed = onFlushed;
      this.#sendLast();
    } else if (this.#left === 0) {
      if (this.#isFlushed) process.nextTick(onFlushed);
      else this.#onFlushed = onFlushed;
    } else {
      // Without a length: the end of the connection is the end of the message.
      this.flush();
      this.#socket.end(onFlushed);
    }
  }

  /** Sends the held bytes. */
  flush(): void {
    if (this.#held !== '') this.#send();
  }

  /** Lets the held bytes leave without waiting for more. */
  flushSoon(): void {
    if (this.#isScheduled || this.#held === '') return;
    this.#isScheduled = true;
    this.#sending.add(this);
  }

  /** @internal */
  send(): void {
    this.#isScheduled = false;
    if (this.#held === '') return;
    // A callback costs a tick. Nearly always the kernel takes all bytes at once, and that shows without one.
    this.#isLastSent = this.#isLast && !this.#isTls;
    if (this.#isLastSent) this.#isLast = false;
    this.#send();
  }

  /** @internal */
  noteSent(): void {
    if (!this.#isLastSent) return;
    this.#isLastSent = false;
    const socket = this.#socket;
    if (socket.writableLength > 0) socket.write('', 'latin1', this.#noteFlushed);
    else if (!socket.destroyed && socket.errored === null) this.#noteFlushed();
  }

  #send(): boolean {
    const text = this.#held;
    const isLast = this.#isLast;
    this.#held = '';
    this.#isLast = false;
    return this.#socket.write(text, 'latin1', isLast ? this.#noteFlushed : undefined);
  }

  #sendLast(): boolean {
    // Towards upstreams, where no callback is needed.
    if (!this.#sending.isLate) return this.#send();
    this.#isLast = true;
    this.flushSoon();
    return !this.#socket.writableNeedDrain;
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
