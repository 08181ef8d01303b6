// One evaluation: its variables and its budget; overspending throws a LimitError. Expressions are short, but the lists and texts that they read come from callers.
import type { ExpressionVariables } from './expression.ts';
import type { Result, Value } from './values.ts';

/** Elements of lists and maps that one evaluation may look at, all loops together. */
const maxIterations = 10_000;

/** Work on texts, in copied characters: reading costs less, a regular expression more. */
const maxTextWork = 4_194_304;

/** Ends an evaluation, and is the only exception in it: as a value it could be absorbed (`too much || true`), and the work would continue. */
export class LimitError extends Error {}

// Made once: an error costs its stack.
const tooManyElements = new LimitError(`the rule looks at more than ${maxIterations} elements`);
const tooMuchText = new LimitError('the rule processes too much text');

export class Frame {
  readonly variables: ExpressionVariables;
  /** Variables of macros, the outermost first. */
  readonly locals: Value[] = [];
  #iterations = maxIterations;
  #textWork = maxTextWork;

  constructor(variables: ExpressionVariables) {
    this.variables = variables;
  }

  /** For looking at elements. */
  spendIterations(count: number): void {
    this.#iterations -= count;
    if (this.#iterations < 0) throw tooManyElements;
  }

  /** For looking for a part of a text; the worst texts make that as long as both together. */
  spendSearch(text: string, part: string): void {
    this.spendTextWork(1 + (text.length * Math.min(part.length, text.length)) / 64);
  }

  /** For comparing two texts, of which only the beginning may be alike. */
  spendComparison(left: string, right: string): void {
    this.spendTextWork(Math.min(left.length, right.length) / 16);
  }

  /** For finding the keys of a map. */
  spendKeys(count: number): void {
    this.spendTextWork(count * 16);
  }

  /** For copying characters, or as much other work. */
  spendTextWork(count: number): void {
    this.#textWork -= count;
    if (this.#textWork < 0) throw tooMuchText;
  }
}

/** One step of an evaluation. */
export type Run = (frame: Frame) => Result;
