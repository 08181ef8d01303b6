// CEL text -> an expression that can be evaluated: parsed, type-checked and planned once, when the policy is loaded.
import { celEnv, isCelError, parse, plan } from '@bufbuild/cel';
import type { Expression, ExpressionCompilation, ExpressionScope } from './expression.ts';

/** Compiles an expression. It must be boolean, and name nothing that is not there. */
export function compileExpression(source: string, scope: ExpressionScope): ExpressionCompilation {
  try {
    const run = plan(celEnv(), parse(source)) as (variables: unknown) => unknown;
    const expression: Expression = {
      source,
      scope,
      reads: [...source.matchAll(/\b(?:jwt|request|source|mcp)(?:\.[A-Za-z_]\w*)*/g)].map(([text]) => text.split('.')),
      evaluate(variables) {
        try {
          const value = run(variables);
          if (typeof value === 'boolean') return { ok: true, value };
          return { ok: false, problem: isCelError(value) ? value.message : 'is not boolean' };
        } catch (error) {
          return { ok: false, problem: String(error) };
        }
      },
    };
    return { ok: true, expression };
  } catch (error) {
    return { ok: false, problem: { message: String(error), line: 1, column: 1 } };
  }
}
