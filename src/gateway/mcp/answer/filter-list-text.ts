// Where things stand in a JSON text, so that parts of it can be cut out and everything else stays as the server wrote it: numbers keep their
// digits, keys their order. For texts that JSON.parse takes; what these functions say of any other has no meaning.

/** A part of a text. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** The first place from here that is not white space. */
export function skipSpace(text: string, at: number): number {
  for (let next = at; ; next += 1) {
    const code = text.charCodeAt(next);
    if (code !== space && code !== lineFeed && code !== carriageReturn && code !== tab) return next;
  }
}

/** Visits a value: where it begins, and where it ends if the visitor knows. Otherwise it is passed over. */
export type VisitValue = (at: number) => number | undefined;

/** Visits the members of the object that begins here, in order, and says where it ends. A key that is there twice is visited twice. */
export function walkMembers(
  text: string,
  start: number,
  visit: (key: string, at: number) => number | undefined,
): number {
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) === quote) {
    const keyEnd = skipString(text, at);
    const value = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = visit(readString(text, at, keyEnd), value) ?? skipValue(text, value);
    at = skipSeparator(text, end);
  }
  return at + 1;
}

/** Visits the elements of the array that begins here, and says where it ends. */
export function walkElements(text: string, start: number, visit: VisitValue): number {
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) !== closeBracket) at = skipSeparator(text, visit(at) ?? skipValue(text, at));
  return at + 1;
}

/** The string that stands here. */
export function readString(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  return inner.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : inner;
}

/** The text with parts of it replaced; the parts in order, none within another. */
export function replaceParts(text: string, parts: readonly (TextSpan & { readonly text: string })[]): string {
  let replaced = '';
  let at = 0;
  for (const part of parts) {
    replaced += text.slice(at, part.start) + part.text;
    at = part.end;
  }
  return replaced + text.slice(at);
}

function skipSeparator(text: string, at: number): number {
  const next = skipSpace(text, at);
  return text[next] === ',' ? skipSpace(text, next + 1) : next;
}

function skipString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
}

/** Where the value that begins here ends. */
export function skipValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = skipString(text, at) - 1;
        if (depth === 0) return at + 1;
        break;
      case openBrace:
      case openBracket:
        depth += 1;
        break;
      case closeBrace:
      case closeBracket:
        // Of what the value is in: a number or a word ends here.
        if (depth === 0) return at;
        depth -= 1;
        if (depth === 0) return at + 1;
        break;
      case comma:
      case space:
      case lineFeed:
      case carriageReturn:
      case tab:
        if (depth === 0) return at;
        break;
    }
  }
  return text.length;
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const space = 0x20;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const tab = 0x09;
