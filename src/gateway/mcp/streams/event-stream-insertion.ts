// Inserts the gateway's own events between those of an upstream. The stream is not parsed: its last bytes tell whether an event has
// just ended.
import { cr, EventSplitter, lf, withoutByteOrderMark } from '../answer/event-stream-splitter.ts';
import type { ListName } from './list-changed-rules.ts';
import type { StreamVoice } from './list-changed-notification.ts';
import type { StreamPosition } from '../../http/answer-filter.ts';

const noBytes = new Uint8Array(0);

/** One stream and its pending notifications. A list that changes again before the client is notified is announced only once. */
export class EventInsertion {
  readonly #voice: StreamVoice;
  readonly #waiting = new Set<ListName>();
  /** The last bytes that the client got; undefined before the first. */
  #last: number | undefined;
  #second: number | undefined;
  #third: number | undefined;
  /** The client got an event of the gateway before the first byte of the upstream. */
  #isAhead = false;

  constructor(voice: StreamVoice) {
    this.#voice = voice;
  }

  get position(): StreamPosition {
    return { isBetweenEvents: this.#isBetweenEvents(), lastByte: this.#last };
  }

  /** Queues notifications about these lists. */
  add(lists: Iterable<ListName>): void {
    for (const list of lists) this.#waiting.add(list);
  }

  /** The notifications that can be sent now; empty when there are none, or while an upstream event is incomplete. */
  take(): Uint8Array {
    if (this.#waiting.size === 0 || !this.#voice.isReady || !this.#isBetweenEvents()) return noBytes;
    if (this.#last === undefined) this.#isAhead = true;
    const text = Array.from(this.#waiting, (list) => this.#voice.announce(list)).join('');
    this.#waiting.clear();
    return text === '' ? noBytes : Buffer.from(text);
  }

  /** The chunk with the pending notifications inserted at the first boundary between events. */
  pass(chunk: Uint8Array): Uint8Array {
    if (chunk.length === 0) return chunk;
    const bytes = this.#isAhead && this.#last === undefined ? withoutByteOrderMark(chunk) : chunk;
    if (this.#waiting.size === 0) {
      this.#follow(bytes);
      return bytes;
    }
    const before = this.take();
    const end = findEventEnd(bytes, this.position);
    this.#follow(bytes.subarray(0, end));
    const between = this.take();
    this.#follow(bytes.subarray(end));
    return Buffer.concat([before, bytes.subarray(0, end), between, bytes.subarray(end), this.take()]);
  }

  #follow(bytes: Uint8Array): void {
    const { length } = bytes;
    if (length === 0) return;
    this.#third = length > 2 ? bytes[length - 3] : length === 2 ? this.#last : this.#second;
    this.#second = length > 1 ? bytes[length - 2] : this.#last;
    this.#last = bytes[length - 1];
    this.#voice.hear(bytes);
  }

  /** The last line is a blank one: its end, and before that another end, or nothing. */
  #isBetweenEvents(): boolean {
    if (this.#last === undefined) return true;
    if (!isLineEnd(this.#last)) return false;
    const before = this.#last === lf && this.#second === cr ? this.#third : this.#second;
    return before === undefined || isLineEnd(before);
  }
}

function isLineEnd(byte: number): boolean {
  return byte === lf || byte === cr;
}

/** Where the first event ends; the end of the bytes when it goes on. */
function findEventEnd(bytes: Uint8Array, position: StreamPosition): number {
  const [event = bytes] = new EventSplitter(position).push(bytes);
  return event.length;
}
