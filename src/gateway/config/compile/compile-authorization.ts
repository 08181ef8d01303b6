// A policy message with rules -> compiled rules. Expressions were checked when the policy was loaded and are checked again here,
// because the control plane may have another version.
import { compileExpression } from '../../../cel/compile-expression.ts';
import type { ExpressionScope } from '../../../cel/expression.ts';
import { type Authorization, AuthorizationAction } from '../../../ir/gen/config_pb.ts';
import type { Rule, RuleAction, RuleSet } from '../rule-set.ts';
import type { PolicyPlace } from '../policy-level.ts';
import { PolicyError } from './policy-error.ts';

/** Compiles the rules of a policy, or throws: then its target is closed. */
export function compileRules(message: Authorization, place: PolicyPlace, scope: ExpressionScope): Rule {
  if (message.expressions.length === 0) throw new PolicyError('the rule has no expressions');
  const expressions = message.expressions.map((source, index) => {
    const compiled = compileExpression(source, scope);
    if (compiled.ok) return compiled.expression;
    const { message: text, line, column } = compiled.problem;
    throw new PolicyError(`matchExpressions[${index}], line ${line}, column ${column}: ${text}`);
  });
  return { ...place, action: readAction(message.action), expressions };
}

/** Groups rules by action; undefined when there are none. */
export function collectRules(rules: readonly Rule[]): RuleSet | undefined {
  if (rules.length === 0) return undefined;
  return {
    deny: rules.filter(({ action }) => action === 'Deny'),
    require: rules.filter(({ action }) => action === 'Require'),
    allow: rules.filter(({ action, isOverride }) => action === 'Allow' && isOverride !== true),
    allowOverrides: rules.filter(({ action, isOverride }) => action === 'Allow' && isOverride === true),
  };
}

function readAction(action: AuthorizationAction): RuleAction {
  switch (action) {
    case AuthorizationAction.ALLOW:
      return 'Allow';
    case AuthorizationAction.DENY:
      return 'Deny';
    case AuthorizationAction.REQUIRE:
      return 'Require';
    default:
      throw new PolicyError(`the action ${String(action)} is not known`);
  }
}
