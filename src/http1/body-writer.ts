// Sends messages over a connection: head, body in its framing (RFC 9112 section 6), trailers. What belongs together and is small leaves in one
// write: a head waits for what follows it, and so do small pieces of a body.
import type { Socket } from 'node:net';
import { appendFields, finishHead } from './message-head.ts';
import type { RawHeaders } from './raw-headers.ts';
import { chunkedBody } from './framing.ts';
import type { Sender, Sending } from './sending.ts';

/** A piece up to this size is copied behind what waits; a larger one is handed to the kernel as it is. */
const smallBytes = 4_096;
/** More than this does not wait. */
const maxHeldBytes = 16_384;

/** The sending side of one connection, for one message after the other: begin, write*, end. */
export class BodyWriter implements Sender {
  readonly #socket: Socket;
  readonly #isTls: boolean;
  /** How long it waits. */
  readonly #sending: Sending;
  #framing = 0;
  /** Not yet given to the socket. One character for each byte. */
  #held = '';
  #isScheduled = false;
  /** What is held is the end of the message, */
  #isLast = false;
  /** or was. */
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

  /** A head outside of a message, e.g. of an informational answer: it leaves at once. */
  writeAlone(head: string): void {
    this.#held += head;
    this.#send();
  }

  /**
   * Starts a message. `bodyLength` says how its body is framed; 0 is also right for one without a body. A head with a body waits for that until
   * `flushSoon`.
   */
  begin(head: string, bodyLength: number): void {
    this.#framing = bodyLength;
    this.#left = bodyLength;
    this.#isFlushed = false;
    this.#onFlushed = undefined;
    this.#held += head;
    if (bodyLength === 0) this.#sendLast();
  }

  /** A piece of the body, not longer than what is left of its length. False: wait for the socket's drain event. */
  write(chunk: Uint8Array): boolean {
    const socket = this.#socket;
    // As a chunk it would be the last one.
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
    // Goes with the size of the next chunk.
    if (isChunked) {
      this.#held = '\r\n';
      this.flushSoon();
    }
    return hasRoom && !socket.writableNeedDrain;
  }

  /**
   * The message is complete. The callback runs once, after the last byte has left the process; never when the connection breaks before, nor where
   * what is complete does not wait.
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

  /** Sends what waits. */
  flush(): void {
    if (this.#held !== '') this.#send();
  }

  /** What waits does not wait for more. */
  flushSoon(): void {
    if (this.#isScheduled || this.#held === '') return;
    this.#isScheduled = true;
    this.#sending.add(this);
  }

  /** @internal */
  send(): void {
    this.#isScheduled = false;
    if (this.#held === '') return;
    // A callback costs a tick. Nearly always the kernel takes all of it at once, which is seen as well.
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
    // To a server: nobody asks when it has left.
    if (!this.#sending.isLate) return this.#send();
    this.#isLast = true;
    this.flushSoon();
    return !this.#socket.writableNeedDrain;
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
