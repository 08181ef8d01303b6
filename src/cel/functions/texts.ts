// Functions of strings: the standard ones, and most of the strings extension (https://pkg.go.dev/github.com/google/cel-go/ext#Strings).
// Positions count characters (code points), as CEL does, not the UTF-16 units of JavaScript.
import { boolType, intType, listOf, stringType } from '../cel-type.ts';
import type { Frame } from '../frame.ts';
import { Failure, type ListValue, MadeList, type Result } from '../values.ts';
import { method, type FunctionTable } from './overload.ts';

const outOfRange = new Failure('the position is outside of the text');
const noStrings = new Failure('join() is for lists of strings');
const stringList = listOf(stringType);

export const texts: FunctionTable = {
  contains: [
    method([stringType, stringType], boolType, (text, part, frame) => {
      frame.spendSearch(text, part);
      return text.includes(part);
    }),
  ],
  startsWith: [
    method([stringType, stringType], boolType, (text, part, frame) => {
      frame.spendComparison(text, part);
      return text.startsWith(part);
    }),
  ],
  endsWith: [
    method([stringType, stringType], boolType, (text, part, frame) => {
      frame.spendComparison(text, part);
      return text.endsWith(part);
    }),
  ],
  lowerAscii: [
    method([stringType], stringType, (text, frame) =>
      work(frame, text.length, () => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())),
    ),
  ],
  upperAscii: [
    method([stringType], stringType, (text, frame) =>
      work(frame, text.length, () => text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase())),
    ),
  ],
  trim: [method([stringType], stringType, (text, frame) => work(frame, text.length, () => trim(text)))],
  charAt: [
    method([stringType, intType], stringType, (text, at, frame) =>
      work(frame, text.length, () => {
        const characters = Array.from(text);
        return at < 0n || at > characters.length ? outOfRange : (characters[Number(at)] ?? '');
      }),
    ),
  ],
  substring: [
    method([stringType, intType], stringType, (text, start, frame) =>
      work(frame, text.length, () => cut(text, start, undefined)),
    ),
    method([stringType, intType, intType], stringType, (text, start, end, frame) =>
      work(frame, text.length, () => cut(text, start, end)),
    ),
  ],
  indexOf: [
    method([stringType, stringType], intType, (text, part, frame) =>
      seek(frame, text, part, () => countCharacters(text, text.indexOf(part))),
    ),
    method([stringType, stringType, intType], intType, (text, part, from, frame) =>
      seek(frame, text, part, () => findFrom(text, part, from, 'forward')),
    ),
  ],
  lastIndexOf: [
    method([stringType, stringType], intType, (text, part, frame) =>
      seek(frame, text, part, () => countCharacters(text, text.lastIndexOf(part))),
    ),
    method([stringType, stringType, intType], intType, (text, part, from, frame) =>
      seek(frame, text, part, () => findFrom(text, part, from, 'backward')),
    ),
  ],
  replace: [
    method([stringType, stringType, stringType], stringType, (text, part, by, frame) =>
      replace(text, part, by, -1n, frame),
    ),
    method([stringType, stringType, stringType, intType], stringType, replace),
  ],
  split: [
    method([stringType, stringType], stringList, (text, by, frame) => split(text, by, -1n, frame)),
    method([stringType, stringType, intType], stringList, split),
  ],
  join: [
    method([stringList], stringType, (list, frame) => join(list, '', frame)),
    method([stringList, stringType], stringType, join),
  ],
};

function work(frame: Frame, size: number, todo: () => Result): Result {
  frame.spendTextWork(1 + size);
  return todo();
}

/** Unicode's white space, which differs from that of JavaScript's trim(). */
const whiteSpace = /^\p{White_Space}$/u;

function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && whiteSpace.test(text[start]!)) start += 1;
  while (end > start && whiteSpace.test(text[end - 1]!)) end -= 1;
  return text.slice(start, end);
}

function seek(frame: Frame, text: string, part: string, todo: () => Result): Result {
  frame.spendSearch(text, part);
  return work(frame, text.length, todo);
}

function cut(text: string, start: bigint, end: bigint | undefined): Result {
  const characters = Array.from(text);
  const stop = end ?? BigInt(characters.length);
  if (start < 0n || start > stop || stop > characters.length) return outOfRange;
  return characters.slice(Number(start), Number(stop)).join('');
}

/** How many characters stand before a place in UTF-16 units; -1 stays -1. */
function countCharacters(text: string, at: number): bigint {
  return at < 0 ? -1n : BigInt(Array.from(text.slice(0, at)).length);
}

function findFrom(text: string, part: string, from: bigint, direction: 'forward' | 'backward'): Result {
  if (part === '') return from;
  const characters = Array.from(text);
  if (from < 0n || from >= characters.length) return outOfRange;
  const unit = characters.slice(0, Number(from)).join('').length;
  return countCharacters(text, direction === 'forward' ? text.indexOf(part, unit) : text.lastIndexOf(part, unit));
}

/** Like Go: a negative limit is none. */
function split(text: string, by: string, limit: bigint, frame: Frame): Result {
  frame.spendTextWork(1 + text.length);
  frame.spendSearch(text, by);
  if (limit === 0n) return new MadeList([]);
  const parts = by === '' ? Array.from(text) : text.split(by);
  frame.spendIterations(parts.length);
  if (limit < 0n || parts.length <= limit) return new MadeList(parts);
  const kept = Number(limit) - 1;
  return new MadeList([...parts.slice(0, kept), parts.slice(kept).join(by)]);
}

/** Like Go: a negative limit is none, and the empty text is found before every character and at the end. */
function replace(text: string, part: string, by: string, limit: bigint, frame: Frame): Result {
  frame.spendTextWork(1 + text.length);
  frame.spendSearch(text, part);
  const pieces = part === '' ? ['', ...Array.from(text), ''] : text.split(part);
  // A text without characters has one place, not two.
  if (text === '' && part === '') pieces.pop();
  const count = limit < 0n || limit > pieces.length - 1 ? pieces.length - 1 : Number(limit);
  frame.spendTextWork(count * by.length);
  return (
    pieces.slice(0, count + 1).join(by) +
    pieces
      .slice(count + 1)
      .map((piece) => part + piece)
      .join('')
  );
}

function join(list: ListValue, by: string, frame: Frame): Result {
  frame.spendIterations(list.size);
  const parts: string[] = [];
  for (let index = 0; index < list.size; index += 1) {
    const part = list.get(index);
    if (part instanceof Failure) return part;
    if (typeof part !== 'string') return noStrings;
    frame.spendTextWork(part.length + by.length);
    parts.push(part);
  }
  return parts.join(by);
}
