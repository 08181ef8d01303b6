// Restores the name that the client sent in the answer of a server that got a stand-in name (stand-in.ts).
import type { RawHeaders } from '../../http/exchange.ts';
import { hasContentEncoding, readContentLength, withoutBodyFields } from './filter-answer-headers.ts';
import type {
  AnswerTreatment,
  FilterAnswer,
  FilteredBody,
  FilteredBytes,
  StreamFilter,
  StreamPosition,
} from '../../http/answer-filter.ts';
import type { ReplacedPart } from './stand-in.ts';

/** Restores the asked names in the filtered answer. */
export function restoreNames(filter: FilterAnswer, parts: readonly ReplacedPart[], maxBytes: number): FilterAnswer {
  const restorer = new NameRestorer(parts);
  return (status, headers) => treat(filter(status, headers), restorer, maxBytes, status, headers);
}

/** The same in one message of such an answer. */
export function restoreMessage(text: string, parts: readonly ReplacedPart[]): string {
  const bytes = Buffer.from(text);
  const restored = new NameRestorer(parts).restore(bytes);
  return restored === bytes ? text : Buffer.from(restored).toString();
}

function treat(
  treatment: AnswerTreatment,
  restorer: NameRestorer,
  maxBytes: number,
  status: number,
  headers: RawHeaders,
): AnswerTreatment {
  switch (treatment.kind) {
    case 'refuse':
      return treatment;
    case 'stream':
      return { kind: 'stream', filter: new RestoringFilter(treatment.filter, restorer) };
    case 'collect':
      return { ...treatment, filter: (body) => restoreBody(restorer, body, treatment.filter(body)) };
    case 'pass':
      if (status === 204 || status === 304) return treatment;
      if (hasContentEncoding(headers))
        return {
          kind: 'refuse',
          detail: 'the upstream sent an answer with a content-encoding that it was not asked for',
        };
      return treatPassed(restorer, maxBytes, readContentLength(headers));
  }
}

/** Keeps a content length where the upstream sent one, so that the framing does not reveal the replacement. */
function treatPassed(restorer: NameRestorer, maxBytes: number, length: number | undefined): AnswerTreatment {
  if (length === undefined) return { kind: 'stream', filter: new RestoringFilter(passAll, restorer) };
  if (length > maxBytes)
    return { kind: 'refuse', detail: `an answer about a hidden item is larger than ${maxBytes} bytes` };
  return { kind: 'collect', maxBytes, filter: (body) => restoreBody(restorer, body, unchanged) };
}

const unchanged: FilteredBody = { ok: true, changed: undefined, note: undefined };

function restoreBody(restorer: NameRestorer, body: Uint8Array, filtered: FilteredBody): FilteredBody {
  if (!filtered.ok) return filtered;
  const before = filtered.changed?.body ?? body;
  const restored = restorer.restore(before);
  if (restored === before) return filtered;
  return { ...filtered, changed: { body: restored, isNew: filtered.changed?.isNew ?? false } };
}

class NameRestorer {
  readonly #parts: readonly { readonly sent: Buffer; readonly asked: Buffer }[];

  constructor(parts: readonly ReplacedPart[]) {
    // Within the texts of a JSON document, which answers are.
    this.#parts = parts.map(({ sent, asked }) => ({
      sent: Buffer.from(sent),
      asked: Buffer.from(JSON.stringify(asked).slice(1, -1)),
    }));
  }

  /** The same object when there is nothing to restore. */
  restore(bytes: Uint8Array): Uint8Array {
    return this.#parts.reduce<Uint8Array>(replaceAll, bytes);
  }

  /** How many bytes at the end could be the beginning of a name. */
  countUndecided(bytes: Uint8Array): number {
    let longest = 0;
    for (const { sent } of this.#parts) {
      for (let length = Math.min(sent.length - 1, bytes.length); length > longest; length -= 1) {
        if (sent.subarray(0, length).equals(bytes.subarray(bytes.length - length))) longest = length;
      }
    }
    return longest;
  }
}

function replaceAll(bytes: Uint8Array, { sent, asked }: { readonly sent: Buffer; readonly asked: Buffer }): Uint8Array {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const pieces: Buffer[] = [];
  let from = 0;
  for (let at = buffer.indexOf(sent); at !== -1; at = buffer.indexOf(sent, from)) {
    pieces.push(buffer.subarray(from, at), asked);
    from = at + sent.length;
  }
  return pieces.length === 0 ? bytes : Buffer.concat([...pieces, buffer.subarray(from)]);
}

const noBytes = new Uint8Array(0);

/** Changes nothing, and remembers nothing. */
const passAll: StreamFilter = {
  prepareHeaders: (headers) => headers,
  begin: () => noBytes,
  joinAt: () => {},
  push: (bytes) => ({ ok: true, bytes, note: undefined }),
  flush: () => ({ ok: true, bytes: noBytes, note: undefined }),
  release: () => noBytes,
  isChanged: false,
};

/** Restores names in a stream, also across chunk borders. Only bytes that could begin a name are held back. */
class RestoringFilter implements StreamFilter {
  readonly #inner: StreamFilter;
  readonly #restorer: NameRestorer;
  #rest: Uint8Array = noBytes;
  #isChanged = false;

  constructor(inner: StreamFilter, restorer: NameRestorer) {
    this.#inner = inner;
    this.#restorer = restorer;
  }

  get isChanged(): boolean {
    return this.#isChanged || this.#inner.isChanged;
  }

  prepareHeaders(headers: RawHeaders): RawHeaders {
    return withoutBodyFields(this.#inner.prepareHeaders(headers));
  }

  begin(): Uint8Array {
    return this.#inner.begin();
  }

  joinAt(position: StreamPosition): void {
    this.#inner.joinAt(position);
  }

  push(chunk: Uint8Array): FilteredBytes {
    return this.#restore(this.#inner.push(chunk), (bytes) => this.#restorer.countUndecided(bytes));
  }

  flush(): FilteredBytes {
    return this.#restore(this.#inner.flush(), () => 0);
  }

  release(): Uint8Array {
    const held = Buffer.concat([this.#rest, this.#inner.release()]);
    this.#rest = noBytes;
    return held;
  }

  #restore(filtered: FilteredBytes, countHeld: (bytes: Uint8Array) => number): FilteredBytes {
    if (!filtered.ok) return filtered;
    const all = this.#rest.length === 0 ? filtered.bytes : Buffer.concat([this.#rest, filtered.bytes]);
    const restored = this.#restorer.restore(all);
    if (restored !== all) this.#isChanged = true;
    const held = countHeld(restored);
    // A copy: the chunk's memory is used again.
    this.#rest = held === 0 ? noBytes : Uint8Array.from(restored.subarray(restored.length - held));
    return { ...filtered, bytes: held === 0 ? restored : restored.subarray(0, restored.length - held) };
  }
}
