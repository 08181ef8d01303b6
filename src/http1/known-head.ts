// Caches the last head of a connection. Two heads in a row are often equal, or differ only in a length, a date or a token. Bytes that repeat are not
// parsed again: whole heads, or all lines except the changed ones.
// A known line includes its line end and is compared only where a line begins, so that it cannot be read in two ways.
import { checkFieldCount, readFieldLines, readFieldLinesUpTo } from './field-lines.ts';
import type { RawHeaders } from './raw-headers.ts';

/** Longer heads are not kept. */
const maxKnownLength = 8_192;
/** After this many heads in a row that share less than half of their lines with the known one, the last of them replaces it. */
const maxOthers = 16;

/** Changed lines of a text: where they begin and end in it, and which known lines they replace. */
interface Change {
  from: number;
  to: number;
  firstLine: number;
  /** The first known line that follows unchanged. */
  nextLine: number;
}

/** The head that one connection knows. */
export class KnownHead<Head extends { readonly headers: RawHeaders }> {
  /** The text compared last equals the known one. */
  isSame = false;
  #head: Head | undefined;
  #text = '';
  /** The bytes of the known text, once it has come a second time. */
  #bytes: Buffer | undefined;
  /** The known start line and field lines, once another text was compared with them. */
  #lines: readonly string[] = [];
  #others = 0;
  /** The changed parts of the text compared last. */
  #changes: Change[] = [];
  /** The unchanged parts before, between and after the changes. Mostly the same lines change each time. */
  #kept: string[] = [];

  /** The known head, if exactly its bytes begin here. Skipped unless the text compared last was the known one. */
  find(bytes: Buffer, at: number): Head | undefined {
    const known = this.#bytes;
    if (known === undefined || !this.isSame) return undefined;
    const end = at + known.length;
    if (end > bytes.length || bytes.compare(known, 0, known.length, at, end) !== 0) return undefined;
    return this.#head;
  }

  /** The known head; undefined: none yet. */
  get head(): Head | undefined {
    return this.#head;
  }

  /** The length of the known text. */
  get length(): number {
    return this.#text.length;
  }

  /** Compares the text of a whole head with the known one. Returns the parts that must be parsed; undefined: no head is known. */
  compare(text: string): readonly Readonly<Pick<Change, 'from' | 'to'>>[] | undefined {
    if (this.#head === undefined) return undefined;
    this.isSame = text === this.#text;
    if (this.isSame) {
      this.#others = 0;
      this.#bytes ??= Buffer.from(text, 'latin1');
      return noChanges;
    }
    if (!this.#changedAsBefore(text)) this.#findChanges(text);
    return this.#changes;
  }

  /** Whether exactly the same lines changed as last time. */
  #changedAsBefore(text: string): boolean {
    const kept = this.#kept;
    if (kept.length === 0) return false;
    let at = 0;
    for (let index = 0; ; index++) {
      const part = kept[index]!;
      if (!isAt(text, part, at)) return false;
      at += part.length;
      if (index === kept.length - 1) return at === text.length;
      const change = this.#changes[index]!;
      change.from = at;
      // A change of several lines is found the other way.
      at = findLineEnd(text, at);
      change.to = at;
    }
  }

  #findChanges(text: string): void {
    if (this.#lines.length === 0) this.#lines = cutLines(this.#text);
    this.#changes = findChangedLines(text, this.#lines) ?? [findChangedPart(text, this.#lines)];
    this.#kept = this.#cutKept();
  }

  /** Cuts the kept parts out of the known text: slices of another text would keep that text in memory. */
  #cutKept(): string[] {
    const kept: string[] = [];
    let line = 0;
    let at = 0;
    const goTo = (next: number): number => {
      const from = at;
      for (; line < next; line++) at += this.#lines[line]!.length;
      return from;
    };
    for (const { firstLine, nextLine } of this.#changes) {
      kept.push(this.#text.slice(goTo(firstLine), at));
      goTo(nextLine);
    }
    kept.push(this.#text.slice(at));
    return kept;
  }

  /** The fields of the text compared last; they begin at `start`. Throws an Http1Error. */
  readFields(text: string, start: number, maxCount: number): RawHeaders {
    if (this.#head === undefined) return readFieldLines(text, start, maxCount);
    const known = this.#head.headers;
    if (this.isSame) return known;
    const fields = known.slice();
    for (const { from, to, firstLine, nextLine } of this.#changes) {
      const changed: string[] = [];
      readFieldLinesUpTo(changed, text, Math.max(start, from), to, maxCount);
      // The start line is not a field.
      const first = Math.max(0, firstLine - 1) * 2;
      const count = (nextLine - 1) * 2 - first;
      if (changed.length === count) for (let each = 0; each < count; each++) fields[first + each] = changed[each]!;
      // Happens only with a single change, so the other fields stay in place.
      else fields.splice(first, count, ...changed);
    }
    checkFieldCount(fields, maxCount);
    return fields;
  }

  /** Remembers a head that was read and is valid. */
  keep(text: string, head: Head): void {
    if (this.#head !== undefined) {
      let others = 0;
      for (const { firstLine, nextLine } of this.#changes) others += nextLine - firstLine;
      this.#others = others * 2 > this.#lines.length ? this.#others + 1 : 0;
      if (this.#others < maxOthers) return;
    }
    if (text.length > maxKnownLength) return;
    this.#head = head;
    this.#text = text;
    this.#bytes = undefined;
    this.#lines = [];
    this.#kept = [];
    this.#others = 0;
  }
}

const noChanges: readonly Change[] = [];

/** Compares line by line, if there are as many lines as known ones. */
function findChangedLines(text: string, lines: readonly string[]): Change[] | undefined {
  const changes: Change[] = [];
  let at = 0;
  for (const [index, line] of lines.entries()) {
    const from = at;
    if (isAt(text, line, at)) {
      at += line.length;
    } else {
      at = findLineEnd(text, at);
      changes.push({ from, to: at, firstLine: index, nextLine: index + 1 });
    }
  }
  return at === text.length - 2 ? changes : undefined;
}

/** The part from the first changed line to the last. */
function findChangedPart(text: string, lines: readonly string[]): Change {
  let from = 0;
  let firstLine = 0;
  while (firstLine < lines.length && isAt(text, lines[firstLine]!, from)) from += lines[firstLine++]!.length;
  let to = text.length - 2;
  let nextLine = lines.length;
  // The start line can only match as the first line.
  while (nextLine > Math.max(firstLine, 1)) {
    const line = lines[nextLine - 1]!;
    const start = to - line.length;
    const isLineStart = start === from || (start > from && text.charCodeAt(start - 1) === lineFeed);
    if (!isLineStart || !isAt(text, line, start)) break;
    to = start;
    nextLine -= 1;
  }
  return { from, to, firstLine, nextLine };
}

const lineFeed = 0x0a;

/** Where the next line begins. */
function findLineEnd(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  return found < 0 ? text.length : found + 1;
}

/** Not startsWith(): that compares character by character. */
function isAt(text: string, line: string, at: number): boolean {
  return text.slice(at, at + line.length) === line;
}

function cutLines(text: string): string[] {
  const lines: string[] = [];
  for (let at = 0; at < text.length - 2;) {
    const end = text.indexOf('\n', at) + 1;
    lines.push(text.slice(at, end));
    at = end;
  }
  return lines;
}
