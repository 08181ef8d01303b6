// Authorization by expressions over the request and the claims of its token (CEL).
import * as z from 'zod';
import { compileExpression, maxExpressionLength } from '../cel/compile-expression.ts';
import type { ExpressionScope } from '../cel/expression.ts';

/** What happens when the expressions hold. */
export const authorizationActionSchema = z
  .enum(['Allow', 'Deny', 'Require'])
  .default('Allow')
  .describe('Allow: one must hold. Deny: none may hold. Require: all must hold.');

/** A CEL expression that compiles. A CRD cannot tell that: there a policy with another one is accepted and gets the condition Invalid. */
export function expressionSchema(scope: ExpressionScope) {
  return z
    .string()
    .min(1)
    .max(maxExpressionLength)
    .superRefine((source, context) => {
      // The length has its own problem.
      if (source === '' || source.length > maxExpressionLength) return;
      const compiled = compileExpression(source, scope);
      if (compiled.ok) return;
      const { message, line, column } = compiled.problem;
      context.addIssue({ code: 'custom', message: `line ${line}, column ${column}: ${message}` });
    });
}

/** Expressions that decide together. */
export function authorizationPolicySchema(scope: ExpressionScope) {
  return z.object({
    matchExpressions: z
      .array(expressionSchema(scope))
      .min(1)
      .max(64)
      .describe('CEL expressions over `request` and `jwt`, such as `"support" in jwt.groups`.'),
  });
}

/** Claim-based rules over requests. */
export const authorizationSchema = z.object({
  action: authorizationActionSchema,
  policy: authorizationPolicySchema('request').describe('When the action applies.'),
});
