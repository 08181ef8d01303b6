// Splits an event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html) into its events, independent of chunk borders. Lines end
// with LF, CR or CRLF; a blank line ends an event.
import { GrowingBytes } from '../../../base/growing-bytes.ts';
import type { StreamPosition } from '../../http/answer-filter.ts';

export const lf = 0x0a;
export const cr = 0x0d;

/** Collects bytes until an event is complete. The events, concatenated, are exactly the stream. */
export class EventSplitter {
  readonly #held = new GrowingBytes();
  /** A LF that comes next is the second half of a CRLF. */
  #isAfterCr: boolean;
  #isLineEmpty: boolean;

  /** At the beginning of a stream, or anywhere in it. */
  constructor(position?: StreamPosition) {
    const lastByte = position?.lastByte;
    this.#isAfterCr = lastByte === cr;
    this.#isLineEmpty = lastByte === undefined || lastByte === cr || lastByte === lf;
  }

  /** Bytes of the event that is not complete yet. */
  get heldBytes(): number {
    return this.#held.size;
  }

  /** The events that are complete with this chunk, each with its blank line. */
  push(chunk: Uint8Array): Uint8Array[] {
    const events: Uint8Array[] = [];
    if (chunk.length === 0) return events;
    let eventStart = 0;
    let at = this.#isAfterCr && chunk[0] === lf ? 1 : 0;
    this.#isAfterCr = false;
    let nextLf = chunk.indexOf(lf, at);
    let nextCr = chunk.indexOf(cr, at);
    while (nextLf !== -1 || nextCr !== -1) {
      const isCr = nextLf === -1 || (nextCr !== -1 && nextCr < nextLf);
      const lineEnd = isCr ? nextCr : nextLf;
      const isBlank = this.#isLineEmpty && lineEnd === at;
      at = isCr && lineEnd + 1 === nextLf ? lineEnd + 2 : lineEnd + 1;
      this.#isAfterCr = isCr && at === chunk.length && chunk[at - 1] === cr;
      this.#isLineEmpty = true;
      if (isBlank) {
        events.push(this.#complete(chunk.subarray(eventStart, at)));
        eventStart = at;
      }
      if (nextLf !== -1 && nextLf < at) nextLf = chunk.indexOf(lf, at);
      if (nextCr !== -1 && nextCr < at) nextCr = chunk.indexOf(cr, at);
    }
    if (at < chunk.length) this.#isLineEmpty = false;
    if (eventStart < chunk.length) this.#held.append(chunk.subarray(eventStart));
    return events;
  }

  /** Returns and releases the held bytes of an incomplete event. */
  take(): Uint8Array {
    return this.#held.take();
  }

  #complete(last: Uint8Array): Uint8Array {
    if (this.#held.size === 0) return last;
    this.#held.append(last);
    return this.#held.take();
  }
}

/** A stream may begin with one; it is no part of the first event. */
export function withoutByteOrderMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}
