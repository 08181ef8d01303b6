// Cuts an expression into tokens. The parser has its own; this one knows where a mistake is, and what was probably meant.
import { ExpressionError } from './expression-error.ts';

export interface Token {
  readonly kind: 'name' | 'number' | 'text' | 'symbol' | 'end';
  /** As it is written. */
  readonly text: string;
  readonly offset: number;
}

/** Nested brackets and conditions. Nobody could read a rule with more. */
const maxNesting = 64;

const blank = /(?:[\t\n\f\r ]+|\/\/[^\n]*)+/y;
const name = /[A-Za-z_]\w*/y;
const number = /0x[0-9a-fA-F]+[uU]?|\d*\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+[uU]?/y;
const opening = /([bB]?)([rR]?)("""|'''|"|')/y;
const symbol = /==|!=|<=|>=|&&|\|\||[<>+\-*/%!?:.,()[\]{}]/y;

const closers: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** Characters that other languages have. */
const advice: Readonly<Record<string, string>> = {
  '=': 'write == to compare',
  '&': 'write && for "and"',
  '|': 'write || for "or"',
  '`': 'write texts in quotes: "...", and odd names as jwt["..."]',
  '’': 'write texts in plain quotes: "..."',
  '“': 'write texts in plain quotes: "..."',
  '”': 'write texts in plain quotes: "..."',
};

/** The tokens; the last one is the end. Throws an ExpressionError at invalid text. */
export function readTokens(source: string): readonly Token[] {
  const tokens: Token[] = [];
  const nesting = new Nesting();
  let at = skipBlank(source, 0);
  while (at < source.length) {
    const token = readToken(source, at);
    if (token.kind === 'symbol') nesting.follow(token);
    tokens.push(token);
    at = skipBlank(source, at + token.text.length);
  }
  nesting.end();
  tokens.push({ kind: 'end', text: '', offset: source.length });
  return tokens;
}

/** Brackets that are open, and the conditions (`a ? b : c ? d : e`) that stand inside each other within them. */
class Nesting {
  readonly #open: Token[] = [];
  readonly #conditions = [0];

  follow(token: Token): void {
    if (token.text in closers) {
      this.#open.push(token);
      this.#conditions.push(0);
    } else if (')]}'.includes(token.text)) {
      const opener = this.#open.pop();
      this.#conditions.pop();
      if (opener === undefined) throw new ExpressionError(`"${token.text}" closes nothing`, token.offset);
      const closer = closers[opener.text]!;
      if (closer !== token.text) throw new ExpressionError(`expected "${closer}", found "${token.text}"`, token.offset);
    } else if (token.text === ',') {
      this.#conditions[this.#conditions.length - 1] = 0;
    } else if (token.text === '?') {
      this.#conditions[this.#conditions.length - 1]! += 1;
    }
    const depth = this.#conditions.reduce((sum, count) => sum + count, this.#open.length);
    if (depth > maxNesting)
      throw new ExpressionError(`brackets and conditions are nested more than ${maxNesting} deep`, token.offset);
  }

  end(): void {
    const unclosed = this.#open.at(-1);
    if (unclosed !== undefined) throw new ExpressionError(`"${unclosed.text}" is never closed`, unclosed.offset);
  }
}

/** Past white space and comments. */
export function skipBlank(source: string, offset: number): number {
  return offset + matchAt(blank, source, offset).length;
}

function readToken(source: string, offset: number): Token {
  opening.lastIndex = offset;
  const quoted = opening.exec(source);
  if (quoted !== null) return { kind: 'text', text: readText(source, offset, quoted), offset };
  for (const [kind, pattern] of [
    ['name', name],
    ['number', number],
    ['symbol', symbol],
  ] as const) {
    const text = matchAt(pattern, source, offset);
    if (text !== '') return { kind, text, offset };
  }
  const character = String.fromCodePoint(source.codePointAt(offset)!);
  const instead = advice[character];
  throw new ExpressionError(
    `${JSON.stringify(character)} has no meaning here${instead === undefined ? '' : `; ${instead}`}`,
    offset,
  );
}

/** A literal of string or bytes, with its quotes. */
function readText(source: string, start: number, [head, isBytes, isRaw, quote]: readonly string[]): string {
  let at = start + head!.length;
  for (;;) {
    const character = source[at];
    if (character === undefined || (character === '\n' && quote!.length === 1))
      throw new ExpressionError(`the text that begins here is not closed: expected ${quote}`, start);
    if (source.startsWith(quote!, at)) return source.slice(start, at + quote!.length);
    if (character === '\\' && isRaw === '') at += readEscape(source, at, isBytes !== '');
    else at += 1;
  }
}

const escapes = /\\(?:[abfnrtv\\?"'`]|[xX][0-9a-fA-F]{2}|[0-3][0-7]{2})/y;
const unicodeEscapes = /\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/y;

const digitsOfEscape: Readonly<Record<string, string>> = { x: 'two', X: 'two', u: 'four', U: 'eight' };

function readEscape(source: string, offset: number, isBytes: boolean): number {
  const simple = matchAt(escapes, source, offset);
  if (simple !== '') return simple.length;
  const unicode = matchAt(unicodeEscapes, source, offset);
  const written = String.fromCodePoint(92, source.codePointAt(offset + 1) ?? 32);
  if (unicode !== '' && isBytes)
    throw new ExpressionError(`${written} is for texts; bytes take \\x and two hexadecimal digits`, offset);
  if (unicode !== '') {
    const point = Number.parseInt(unicode.slice(2), 16);
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
      throw new ExpressionError(`${unicode} is not a character`, offset);
    return unicode.length;
  }
  const digits = digitsOfEscape[source[offset + 1] ?? ''];
  if (digits !== undefined) throw new ExpressionError(`${written} needs ${digits} hexadecimal digits`, offset);
  throw new ExpressionError(
    `${written} is not an escape; write \\\\ for a backslash, or r"..." for a text without escapes`,
    offset,
  );
}

function matchAt(pattern: RegExp, source: string, offset: number): string {
  pattern.lastIndex = offset;
  return pattern.exec(source)?.[0] ?? '';
}
