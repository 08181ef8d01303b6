// Authorization by expressions over the request and the claims of its token (CEL).
import { z } from 'zod';

/** What happens when the expressions hold. */
export const authorizationActionSchema = z
  .enum(['Allow', 'Deny', 'Require'])
  .default('Allow')
  .describe('Allow: one must hold. Deny: none may hold. Require: all must hold.');

/** Expressions in CEL. */
export const authorizationPolicySchema = z.object({
  matchExpressions: z
    .array(z.string().min(1).max(4096))
    .min(1)
    .max(64)
    .describe('CEL expressions over `request` and `jwt`, such as `"support" in jwt.groups`.'),
});

/** Claim-based rules over requests. */
export const authorizationSchema = z.object({
  action: authorizationActionSchema,
  policy: authorizationPolicySchema.describe('When the action applies.'),
});
