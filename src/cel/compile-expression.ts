// CEL text -> an expression that can be evaluated: parsed, type-checked and made ready once, when the policy is loaded.
import { describeType, isOpen } from './cel-type.ts';
import { checkNode } from './check-node.ts';
import { CheckScope } from './check-scope.ts';
import type { Expression, ExpressionCompilation, ExpressionOutcome, ExpressionScope } from './expression.ts';
import { ExpressionError, locateProblem } from './expression-error.ts';
import { Frame, LimitError, type Run } from './frame.ts';
import { parseExpression } from './parse-expression.ts';
import { Failure, describeKind, kindOf } from './values.ts';

/** A longer rule is not readable. */
export const maxExpressionLength = 4096;

/** Compiles an expression. It must be boolean, and use only known names. */
export function compileExpression(source: string, scope: ExpressionScope): ExpressionCompilation {
  try {
    return { ok: true, expression: compile(source, scope) };
  } catch (error) {
    if (error instanceof ExpressionError) return { ok: false, problem: locateProblem(source, error) };
    throw error;
  }
}

function compile(source: string, scope: ExpressionScope): Expression {
  if (source.length > maxExpressionLength)
    throw new ExpressionError(`the expression has more than ${maxExpressionLength} characters`, 0);
  const node = parseExpression(source);
  const checking = new CheckScope(scope);
  const { type, run } = checkNode(node, checking);
  // What is known only later (a claim) may still be true or false.
  if (type.kind !== 'bool' && !isOpen(type))
    throw new ExpressionError(`the expression gives ${describeType(type)}, not true or false`, node.start);
  return { source, scope, reads: checking.listReads(), evaluate: (variables) => evaluate(run, new Frame(variables)) };
}

const holds: ExpressionOutcome = { ok: true, value: true };
const holdsNot: ExpressionOutcome = { ok: true, value: false };

function evaluate(run: Run, frame: Frame): ExpressionOutcome {
  try {
    const result = run(frame);
    if (result === true) return holds;
    if (result === false) return holdsNot;
    if (result instanceof Failure) return { ok: false, problem: result.message };
    return { ok: false, problem: `the expression gives ${describeKind(kindOf(result))}, not true or false` };
  } catch (error) {
    if (error instanceof LimitError) return { ok: false, problem: error.message };
    // Claims that are nested too deeply for the stack, or a bug: the rule fails, the request does not crash.
    return { ok: false, problem: `cannot be evaluated: ${error instanceof Error ? error.message : String(error)}` };
  }
}
