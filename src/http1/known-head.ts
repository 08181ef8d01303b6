// A head that came before on the same connection. Clients and servers repeat themselves: of two heads in a row often nothing differs, mostly a
// length, a date or a token. What is there again, byte for byte, is not read again: whole heads, or all lines but those that changed.
// A line is known with its end of line and is looked for where a line begins, so that it can be read in one way only.
import { checkFieldCount, readFieldLines, readFieldLinesUpTo } from './field-lines.ts';
import type { RawHeaders } from './raw-headers.ts';

/** Longer heads are not kept. */
const maxKnownLength = 8_192;
/** So many in a row that have less than half of their lines in common with it, and the last of them is kept instead. */
const maxOthers = 16;

/** Lines of the text that are not known ones: where they begin and end in it, and which known lines they are in the place of. */
interface Change {
  from: number;
  to: number;
  firstLine: number;
  /** The first that is there again. */
  nextLine: number;
}

/** The head that one connection knows. */
export class KnownHead<Head extends { readonly headers: RawHeaders }> {
  /** The text that was compared last is the known one. */
  isSame = false;
  #head: Head | undefined;
  #text = '';
  /** The same text, once it has come a second time. */
  #bytes: Buffer | undefined;
  /** Its start line and its field lines, once another text was compared with it. */
  #lines: readonly string[] = [];
  #others = 0;
  /** What is not known of the text that was compared last. */
  #changes: Change[] = [];
  /** What stands before, between and after them. It is mostly the same lines that change. */
  #kept: string[] = [];

  /** The known head, when it is the one that begins here. Who sends one after the other that differ is not asked. */
  find(bytes: Buffer, at: number): Head | undefined {
    const known = this.#bytes;
    if (known === undefined || !this.isSame) return undefined;
    const end = at + known.length;
    if (end > bytes.length || bytes.compare(known, 0, known.length, at, end) !== 0) return undefined;
    return this.#head;
  }

  /** What is known; undefined: nothing yet. */
  get head(): Head | undefined {
    return this.#head;
  }

  /** Of its text. */
  get length(): number {
    return this.#text.length;
  }

  /** Looks for what is known in the text of a whole head. Returns what must be read of it; nothing is known: undefined. */
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

  /** The same lines are others. */
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
      // Several are looked for in the other way.
      at = findLineEnd(text, at);
      change.to = at;
    }
  }

  #findChanges(text: string): void {
    if (this.#lines.length === 0) this.#lines = cutLines(this.#text);
    this.#changes = findChangedLines(text, this.#lines) ?? [findChangedPart(text, this.#lines)];
    this.#kept = this.#cutKept();
  }

  /** Of the known text, and of no other, which would be held by it. */
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

  /** The fields of the text that was compared last; they begin at `start`. Throws an Http1Error. */
  readFields(text: string, start: number, maxCount: number): RawHeaders {
    if (this.#head === undefined) return readFieldLines(text, start, maxCount);
    const known = this.#head.headers;
    if (this.isSame) return known;
    const fields = known.slice();
    for (const { from, to, firstLine, nextLine } of this.#changes) {
      const changed: string[] = [];
      readFieldLinesUpTo(changed, text, Math.max(start, from), to, maxCount);
      // The start line is no field.
      const first = Math.max(0, firstLine - 1) * 2;
      const count = (nextLine - 1) * 2 - first;
      if (changed.length === count) for (let each = 0; each < count; each++) fields[first + each] = changed[each]!;
      // Only when it is the only change: the others stay where they are.
      else fields.splice(first, count, ...changed);
    }
    checkFieldCount(fields, maxCount);
    return fields;
  }

  /** This one was read and is valid. */
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

/** Line by line, when there are as many as known ones. */
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

/** From the first that is another to the last. */
function findChangedPart(text: string, lines: readonly string[]): Change {
  let from = 0;
  let firstLine = 0;
  while (firstLine < lines.length && isAt(text, lines[firstLine]!, from)) from += lines[firstLine++]!.length;
  let to = text.length - 2;
  let nextLine = lines.length;
  // The start line is the first or none.
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

/** Not startsWith(): that goes character by character. */
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
