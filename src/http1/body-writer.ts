// Sends messages over a connection: head, body in its framing (RFC 9112 section 6), trailers. What belongs together and is small leaves in one
// write: a head waits for what follows it in the same turn of the event loop, and so do small pieces of a body.
import type { Socket } from 'node:net';
import { appendFields, finishHead } from './message-head.ts';
import type { RawHeaders } from './raw-headers.ts';
import { chunkedBody } from './framing.ts';

/** A piece up to this size is copied behind what waits; a larger one is handed to the kernel as it is. */
const smallBytes = 4_096;
/** More than this does not wait. */
const maxHeldBytes = 16_384;

/** The sending side of one connection, for one message after the other: begin, write*, end. */
export class BodyWriter {
  readonly #socket: Socket;
  #framing = 0;
  /** Not yet given to the socket. One character for each byte. */
  #held = '';
  #isScheduled = false;
  /** A head that is alone waits for one tick more: the body is often asked for in the same tick that sends the head, and comes in the next. */
  #isHeadAlone = false;
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

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** A head outside of a message, e.g. of an informational answer: it leaves at once. */
  writeAlone(head: string): void {
    this.#held += head;
    this.#send();
  }

  /** Starts a message. `bodyLength` says how its body is framed; 0 is also right for one without a body. */
  begin(head: string, bodyLength: number): void {
    this.#framing = bodyLength;
    this.#left = bodyLength;
    this.#isFlushed = false;
    this.#onFlushed = undefined;
    this.#held += head;
    if (bodyLength === 0) return void this.#sendLast();
    this.#isHeadAlone = true;
    this.#schedule();
  }

  /** A piece of the body, not longer than what is left of its length. False: wait for the socket's drain event. */
  write(chunk: Uint8Array): boolean {
    const socket = this.#socket;
    // As a chunk it would be the last one.
    if (chunk.length === 0) return !socket.writableNeedDrain;
    const isChunked = this.#framing === chunkedBody;
    this.#isHeadAlone = false;
    if (isChunked) this.#held += `${chunk.length.toString(16)}\r\n`;
    this.#left -= chunk.length;
    if (chunk.length <= smallBytes) {
      this.#held += toBuffer(chunk).toString('latin1');
      if (isChunked) this.#held += '\r\n';
      if (this.#left === 0) return this.#sendLast();
      if (this.#held.length >= maxHeldBytes) return this.#send();
      this.#schedule();
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
      this.#schedule();
    }
    return hasRoom && !socket.writableNeedDrain;
  }

  /** The message is complete. The callback runs once, after the last byte has left the process; never when the connection breaks before. */
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

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(flushHeld, this);
  }

  /** @internal */
  flushScheduled(): void {
    this.#isScheduled = false;
    if (!this.#isHeadAlone || this.#held === '') return this.flush();
    this.#isHeadAlone = false;
    this.#schedule();
  }

  #send(): boolean {
    const text = this.#held;
    this.#held = '';
    return this.#socket.write(text, 'latin1');
  }

  #sendLast(): boolean {
    const text = this.#held;
    this.#held = '';
    return this.#socket.write(text, 'latin1', this.#noteFlushed);
  }
}

function flushHeld(writer: BodyWriter): void {
  writer.flushScheduled();
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
