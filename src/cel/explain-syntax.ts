// Why the parser refuses an expression: it tries alternatives and names the place where the first one began. This walk goes along the grammar
// (https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax) and stops at the token that does not fit.
import { ExpressionError } from './expression-error.ts';
import type { Token } from './tokens.ts';

const relations = new Set(['<', '<=', '>', '>=', '==', '!=', 'in']);
const additions = new Set(['+', '-']);
const multiplications = new Set(['*', '/', '%']);

/** Words of other languages, and what CEL has for them. */
const advice: Readonly<Record<string, string>> = {
  and: 'write && for "and"',
  or: 'write || for "or"',
  not: 'write ! for "not"',
  AND: 'write && for "and"',
  OR: 'write || for "or"',
  NOT: 'write ! for "not"',
  is: 'write == to compare',
  contains: 'write it as a call: a.contains(b)',
  startsWith: 'write it as a call: a.startsWith(b)',
  endsWith: 'write it as a call: a.endsWith(b)',
  matches: 'write it as a call: a.matches(r"...")',
};

const keywords = new Set(['in', 'true', 'false', 'null']);
const reserved = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

/** Throws an ExpressionError at the first token that does not fit. Returns when all do. */
export function explainSyntax(tokens: readonly Token[]): void {
  const walk = new GrammarWalk(tokens);
  walk.expression();
  walk.end();
}

class GrammarWalk {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  expression(): void {
    this.#disjunction();
    if (!this.#take('?')) return;
    this.#disjunction();
    if (this.#next.text === '?') throw new ExpressionError('put the inner condition in brackets', this.#next.offset);
    this.#expect(':', 'expected ":" and the value for the other case');
    this.expression();
  }

  end(): void {
    if (this.#next.kind !== 'end') this.#refuse('expected an operator or the end');
  }

  #disjunction(): void {
    do this.#conjunction();
    while (this.#take('||'));
  }

  #conjunction(): void {
    do this.#relation();
    while (this.#take('&&'));
  }

  #relation(): void {
    this.#chain(relations, () => this.#chain(additions, () => this.#chain(multiplications, () => this.#unary())));
  }

  #chain(operators: ReadonlySet<string>, operand: () => void): void {
    operand();
    while (this.#next.kind !== 'text' && operators.has(this.#next.text)) {
      this.#at += 1;
      operand();
    }
  }

  #unary(): void {
    if (this.#take('!')) while (this.#take('!'));
    else while (this.#take('-'));
    this.#member();
  }

  #member(): void {
    this.#primary();
    for (;;) {
      if (this.#take('.')) {
        this.#field();
        if (this.#take('(')) this.#items(')');
      } else if (this.#take('[')) {
        this.expression();
        this.#expect(']', 'expected "]"');
      } else if (this.#take('{')) {
        this.#entries();
      } else return;
    }
  }

  #field(): void {
    const { kind, text } = this.#next;
    if (kind !== 'name') this.#refuse('expected the name of a field after "."');
    if (keywords.has(text))
      throw new ExpressionError(`"${text}" is a word of CEL; write ["${text}"]`, this.#next.offset);
    this.#at += 1;
  }

  #primary(): void {
    const { kind, text, offset } = this.#next;
    if (kind === 'text' || kind === 'number' || text === 'true' || text === 'false' || text === 'null') {
      this.#at += 1;
    } else if (kind === 'name' && text !== 'in') {
      if (reserved.has(text)) throw new ExpressionError(`"${text}" is a reserved word`, offset);
      if (/^(?:true|false)/.test(text))
        throw new ExpressionError(`"${text}" cannot be a name, because it begins with true or false`, offset);
      this.#at += 1;
      if (this.#take('(')) this.#items(')');
    } else if (this.#take('.')) {
      if (this.#next.kind !== 'name') this.#refuse('expected the name of a variable after "."');
      this.#at += 1;
    } else if (this.#take('(')) {
      this.expression();
      this.#expect(')', 'expected an operator or ")"');
    } else if (this.#take('[')) {
      this.#items(']');
    } else if (this.#take('{')) {
      this.#entries();
    } else {
      this.#refuse('expected a value');
    }
  }

  /** Lists may end with a comma, calls may not. */
  #items(closer: ')' | ']'): void {
    if (this.#take(closer)) return;
    for (;;) {
      this.expression();
      if (this.#take(closer)) return;
      this.#expect(',', `expected "," or "${closer}"`);
      if (closer === ']' && this.#take(closer)) return;
    }
  }

  #entries(): void {
    if (this.#take('}')) return;
    for (;;) {
      this.expression();
      this.#expect(':', 'expected ":" and a value');
      this.expression();
      if (this.#take('}')) return;
      this.#expect(',', 'expected "," or "}"');
      if (this.#take('}')) return;
    }
  }

  get #next(): Token {
    return this.#tokens[this.#at]!;
  }

  #take(symbol: string): boolean {
    const { kind, text } = this.#next;
    if (kind !== 'symbol' || text !== symbol) return false;
    this.#at += 1;
    return true;
  }

  #expect(symbol: string, expected: string): void {
    if (!this.#take(symbol)) this.#refuse(expected);
  }

  #refuse(expected: string): never {
    const { kind, text, offset } = this.#next;
    const found = kind === 'end' ? 'the end' : kind === 'text' ? text : `"${text}"`;
    // `not a` is found at the a.
    const word = [text, this.#tokens[this.#at - 1]?.text ?? ''].find((each) => Object.hasOwn(advice, each));
    throw new ExpressionError(`${expected}, found ${found}${word === undefined ? '' : `; ${advice[word]}`}`, offset);
  }
}
