// Filters lists and resource notifications in an event stream, event by event. Other events pass byte for byte; a changed event keeps
// its id and all its other fields. Only events that could hold a list or a notification are parsed.
import type { RawHeaders } from '../../http/exchange.ts';
import { decodeData, readEventData, replaceEventData, splitEventLines } from './event-stream-event.ts';
import { cr, EventSplitter, lf, withoutByteOrderMark } from './event-stream-splitter.ts';
import { withoutBodyFields } from './filter-answer-headers.ts';
import { filterLists, findOnlyId, formatUnreadable, type ListExpectation, mayHoldItems } from './filter-list.ts';
import type { FilteredBytes, StreamFilter, StreamPosition } from '../../http/answer-filter.ts';

export interface EventStreamFilterOptions extends ListExpectation {
  /** JSON texts of messages that the client gets first, each as an event. */
  readonly injected: readonly string[];
  /** An event larger than this ends the stream. */
  readonly maxEventBytes: number;
}

const noBytes = new Uint8Array(0);

/** The filter for one stream. */
export class EventStreamFilter implements StreamFilter {
  readonly #options: EventStreamFilterOptions;
  #splitter = new EventSplitter();
  /** No byte of the stream has passed yet. */
  #isAtStart = true;
  /** The client has already received the beginning of the event. */
  #isInside = false;
  /** The last event was removed and ended with a CR: an LF that follows is removed too. */
  #isCrLeftOut = false;
  #isChanged = false;

  constructor(options: EventStreamFilterOptions) {
    this.#options = options;
  }

  get isChanged(): boolean {
    return this.#isChanged;
  }

  prepareHeaders(headers: RawHeaders): RawHeaders {
    return withoutBodyFields(headers);
  }

  begin(): Uint8Array {
    const { injected } = this.#options;
    if (injected.length === 0) return noBytes;
    this.#isChanged = true;
    return Buffer.from(injected.map((json) => `event: message\ndata: ${json}\n\n`).join(''));
  }

  joinAt(position: StreamPosition): void {
    this.#splitter = new EventSplitter(position);
    this.#isAtStart = position.lastByte === undefined;
    this.#isInside = !position.isBetweenEvents;
  }

  push(chunk: Uint8Array): FilteredBytes {
    const { maxEventBytes } = this.#options;
    const passed: Uint8Array[] = [];
    let note: string | undefined;
    for (const event of this.#splitter.push(chunk)) {
      if (event.length > maxEventBytes) return tooLarge(maxEventBytes);
      const filtered = this.#filter(this.#withoutLostLf(event));
      passed.push(filtered.bytes);
      note ??= filtered.note;
    }
    if (this.#splitter.heldBytes > maxEventBytes) return tooLarge(maxEventBytes);
    return { ok: true, bytes: join(passed), note };
  }

  flush(): FilteredBytes {
    // An event without its blank line. Clients should ignore it, but not all do.
    const rest = this.release();
    return rest.length === 0 ? { ok: true, bytes: rest, note: undefined } : { ok: true, ...this.#filter(rest) };
  }

  release(): Uint8Array {
    return this.#withoutLostLf(this.#splitter.take());
  }

  #withoutLostLf(event: Uint8Array): Uint8Array {
    if (!this.#isCrLeftOut || event.length === 0) return event;
    this.#isCrLeftOut = false;
    return event[0] === lf ? event.subarray(1) : event;
  }

  #filter(event: Uint8Array): { readonly bytes: Uint8Array; readonly note: string | undefined } {
    const isFirst = this.#isAtStart;
    const isInside = this.#isInside;
    this.#isAtStart = false;
    this.#isInside = false;
    const bytes = isFirst && this.#options.injected.length > 0 ? withoutByteOrderMark(event) : event;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    if (isInside || !mayHoldItems(text)) return { bytes, note: undefined };
    const lines = splitEventLines(text);
    const data = readEventData(lines, isFirst);
    // Neither an object nor an array: no JSON-RPC message.
    if (data === undefined || !/^(?:\xef\xbb\xbf)?\s*[[{]/.test(data)) return { bytes, note: undefined };
    const filtered = this.#filterData(data);
    if (filtered === undefined) return { bytes, note: undefined };
    this.#isChanged = true;
    const replaced = replaceEventData(lines, isFirst, filtered.text || undefined);
    if (replaced.length > 0) return { bytes: replaced, note: filtered.problem };
    this.#isCrLeftOut = bytes.at(-1) === cr;
    // A LF before the first line belongs to the CR of the event before.
    return { bytes: bytes.subarray(0, bytes[0] === lf ? 1 : 0), note: filtered.problem };
  }

  /** Undefined: the event is unchanged. An empty text: its data is removed. */
  #filterData(data: string): { readonly text: string; readonly problem: string | undefined } | undefined {
    const json = decodeData(data);
    const filtered = json === undefined ? notText : filterLists(json, this.#options);
    if (filtered.kind === 'unchanged') return undefined;
    if (filtered.kind === 'changed') return filtered.text === '[]' ? { ...filtered, text: '' } : filtered;
    const id = findOnlyId(this.#options);
    return { text: id === undefined ? '' : formatUnreadable(id), problem: filtered.problem };
  }
}

const notText = { kind: 'unreadable', problem: 'the upstream sent a list that is not UTF-8' } as const;

function tooLarge(maxEventBytes: number): FilteredBytes {
  return { ok: false, detail: `an event of the upstream is larger than ${maxEventBytes} bytes` };
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  return parts.length === 0 ? noBytes : Buffer.concat(parts);
}
