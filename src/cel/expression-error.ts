// How the steps of compiling an expression say that it is wrong. It does not leave this folder: compileExpression turns it into a value.
import type { ExpressionProblem } from './expression.ts';

export class ExpressionError extends Error {
  /** In the text, in UTF-16 units. */
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.name = 'ExpressionError';
    this.offset = offset;
  }
}

/** The problem, with the line and column for people: columns count characters. */
export function locateProblem(source: string, { message, offset }: ExpressionError): ExpressionProblem {
  const before = source.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return {
    message,
    line: before.split('\n').length,
    column: Array.from(before.slice(lineStart)).length + 1,
  };
}
