// Puts events of the gateway's own between those of an upstream. The stream itself is not read for it: its last bytes say whether an event has
// just ended.
import { cr, EventSplitter, lf, withoutByteOrderMark } from '../answer/event-stream-splitter.ts';
import type { ListName } from './list-changed-rules.ts';
import type { StreamVoice } from './list-changed-notification.ts';
import type { StreamPosition } from '../../http/answer-filter.ts';

const noBytes = new Uint8Array(0);

/** One stream, and what waits to be told on it. A list that changes again before the client was told is told of once. */
export class EventInsertion {
  readonly #voice: StreamVoice;
  readonly #waiting = new Set<ListName>();
  /** The last bytes that the client got; undefined before the first. */
  #last: number | undefined;
  #second: number | undefined;
  #third: number | undefined;
  /** The client has something of ours before anything of the upstream. */
  #isAhead = false;

  constructor(voice: StreamVoice) {
    this.#voice = voice;
  }

  get position(): StreamPosition {
    return { isBetweenEvents: this.#isBetweenEvents(), lastByte: this.#last };
  }

  /** To be told as soon as possible. */
  add(lists: Iterable<ListName>): void {
    for (const list of lists) this.#waiting.add(list);
  }

  /** What can be told right now; empty when there is nothing, or an event has begun. */
  take(): Uint8Array {
    if (this.#waiting.size === 0 || !this.#voice.isReady || !this.#isBetweenEvents()) return noBytes;
    if (this.#last === undefined) this.#isAhead = true;
    const text = Array.from(this.#waiting, (list) => this.#voice.announce(list)).join('');
    this.#waiting.clear();
    return text === '' ? noBytes : Buffer.from(text);
  }

  /** The chunk as the client gets it, with what waits at the first place between two events. */
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
