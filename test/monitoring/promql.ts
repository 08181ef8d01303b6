// PromQL as far as our dashboard and alerts use it: enough to know which metrics a query reads, how, and which labels its result has.
// https://prometheus.io/docs/prometheus/latest/querying/basics/

/** A query. */
export type Query =
  | { readonly kind: 'number' | 'text'; readonly value: string }
  | SelectorQuery
  | { readonly kind: 'call'; readonly name: string; readonly operands: readonly Query[] }
  | {
      readonly kind: 'aggregation';
      readonly name: string;
      /** Undefined: everything becomes one. */
      readonly by: readonly string[] | undefined;
      readonly operands: readonly Query[];
    }
  | {
      readonly kind: 'binary';
      readonly operator: string;
      /** Undefined: all labels have to agree. */
      readonly on: readonly string[] | undefined;
      readonly left: Query;
      readonly right: Query;
    };

/** A metric with what its labels have to be. */
export interface SelectorQuery {
  readonly kind: 'selector';
  readonly metric: string;
  readonly matchers: readonly Matcher[];
  /** `5m` in `[5m]`; undefined: the value of now. */
  readonly range: string | undefined;
}

export interface Matcher {
  readonly label: string;
  readonly operator: '=' | '!=' | '=~' | '!~';
  readonly value: string;
}

/** Thrown for what is not PromQL, or is more of it than this knows. */
export class PromqlError extends Error {
  readonly code = 'PROMQL';
}

const aggregations = new Set(['sum', 'min', 'max', 'avg', 'count', 'topk', 'bottomk']);

/** From what binds least; within a line what is further left is applied first. */
const precedence = [['or'], ['and', 'unless'], ['==', '!=', '>', '<', '>=', '<='], ['+', '-'], ['*', '/', '%']];

const tokenPattern =
  /\s*(?:([a-zA-Z_:][\w:]*)|("(?:[^"\\]|\\.)*")|(\$?(?:\d+(?:\.\d+)?[a-z]*|__\w+))|(=~|!~|==|!=|>=|<=|[-+*/%=<>(){}[\],]))/y;

/** Parses a query. */
export function parsePromql(text: string): Query {
  const parser = new Parser(readTokens(text), text);
  const query = parser.readBinary(0);
  parser.expectEnd();
  return query;
}

function readTokens(text: string): string[] {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  for (let at = 0; at < end; at = tokenPattern.lastIndex) {
    tokenPattern.lastIndex = at;
    const match = tokenPattern.exec(text);
    if (match === null) throw new PromqlError(`cannot read ${JSON.stringify(text.slice(at))} of ${text}`);
    tokens.push(match[0].trim());
  }
  return tokens;
}

class Parser {
  readonly #tokens: readonly string[];
  readonly #text: string;
  #at = 0;

  constructor(tokens: readonly string[], text: string) {
    this.#tokens = tokens;
    this.#text = text;
  }

  expectEnd(): void {
    if (this.#at < this.#tokens.length) this.#fail('the end');
  }

  readBinary(level: number): Query {
    const operators = precedence[level];
    if (operators === undefined) return this.#readOperand();
    let left = this.readBinary(level + 1);
    for (;;) {
      const operator = this.#peek();
      if (operator === undefined || !operators.includes(operator)) return left;
      this.#at += 1;
      const on = this.#take('on') ? this.#readNames() : undefined;
      left = { kind: 'binary', operator, on, left, right: this.readBinary(level + 1) };
    }
  }

  #readOperand(): Query {
    if (this.#take('(')) {
      const query = this.readBinary(0);
      this.#expect(')');
      return query;
    }
    const token = this.#next();
    if (token.startsWith('"')) return { kind: 'text', value: JSON.parse(token) as string };
    if (/^\d/.test(token)) return { kind: 'number', value: token };
    if (!/^[a-zA-Z_:]/.test(token)) this.#fail('a metric, a function or a number', token);
    if (aggregations.has(token)) return this.#readAggregation(token);
    if (this.#peek() === '(') return { kind: 'call', name: token, operands: this.#readOperands() };
    return this.#readSelector(token);
  }

  #readAggregation(name: string): Query {
    const before = this.#take('by') ? this.#readNames() : undefined;
    const operands = this.#readOperands();
    const by = before ?? (this.#take('by') ? this.#readNames() : undefined);
    return { kind: 'aggregation', name, by, operands };
  }

  #readSelector(metric: string): SelectorQuery {
    const matchers: Matcher[] = [];
    if (this.#take('{')) {
      while (!this.#take('}')) {
        const label = this.#next();
        const operator = this.#next() as Matcher['operator'];
        if (!['=', '!=', '=~', '!~'].includes(operator)) this.#fail('a comparison of a label', operator);
        const value = this.#next();
        if (!value.startsWith('"')) this.#fail('a text', value);
        matchers.push({ label, operator, value: JSON.parse(value) as string });
        if (this.#peek() !== '}') this.#expect(',');
      }
    }
    let range: string | undefined;
    if (this.#take('[')) {
      range = this.#next();
      this.#expect(']');
    }
    if (this.#take('offset')) this.#next();
    return { kind: 'selector', metric, matchers, range };
  }

  #readOperands(): Query[] {
    this.#expect('(');
    const operands: Query[] = [];
    while (!this.#take(')')) {
      operands.push(this.readBinary(0));
      if (this.#peek() !== ')') this.#expect(',');
    }
    return operands;
  }

  #readNames(): string[] {
    this.#expect('(');
    const names: string[] = [];
    while (!this.#take(')')) {
      names.push(this.#next());
      if (this.#peek() !== ')') this.#expect(',');
    }
    return names;
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) return this.#fail('more');
    this.#at += 1;
    return token;
  }

  #take(token: string): boolean {
    if (this.#peek() !== token) return false;
    this.#at += 1;
    return true;
  }

  #expect(token: string): void {
    if (!this.#take(token)) this.#fail(token);
  }

  #fail(expected: string, found = this.#peek() ?? 'the end'): never {
    throw new PromqlError(`expected ${expected}, found ${found}, in ${this.#text}`);
  }
}
