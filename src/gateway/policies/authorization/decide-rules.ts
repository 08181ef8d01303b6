// The verdict of a set of rules: any Deny that matches denies; every Require must hold; if there is any Allow, one must match.
// An expression that cannot be evaluated matches for Deny, and does not hold for the others: a broken rule never opens the door.
import type { Expression, ExpressionOutcome, ExpressionVariables } from '../../../cel/expression.ts';
import type { Rule, RuleDecision, RuleReference, RuleSet } from './rule-set.ts';

/** How expressions are asked that do not concern every message. */
export interface RuleApplication {
  /** False: the expression reads what the message does not have, and is skipped. */
  readonly applies: (expression: Expression) => boolean;
  /** A skipped Allow counts as a match: the message uses no item, and items are judged when they are used. */
  readonly skippedAllows: boolean;
  /** In place of evaluating, e.g. when what an expression reads is not known yet. */
  readonly evaluate?: (expression: Expression, variables: ExpressionVariables) => ExpressionOutcome;
}

const unopposed: RuleDecision = { allowed: true, decidedBy: undefined, problem: undefined };
const unmatched: RuleDecision = { allowed: false, decidedBy: undefined, problem: undefined };

/** Decides. */
export function decideRules(
  rules: RuleSet,
  variables: ExpressionVariables,
  application?: RuleApplication,
): RuleDecision {
  for (const rule of rules.deny) {
    for (const [index, expression] of rule.expressions.entries()) {
      if (application?.applies(expression) === false) continue;
      const outcome = evaluate(expression, variables, application);
      if (!outcome.ok || outcome.value) return conclude(false, rule, index, outcome);
    }
  }
  for (const rule of rules.require) {
    for (const [index, expression] of rule.expressions.entries()) {
      if (application?.applies(expression) === false) continue;
      const outcome = evaluate(expression, variables, application);
      if (!outcome.ok || !outcome.value) return conclude(false, rule, index, outcome);
    }
  }
  if (rules.allow.length === 0) return unopposed;
  for (const rule of rules.allow) {
    for (const [index, expression] of rule.expressions.entries()) {
      if (application?.applies(expression) === false) {
        if (application.skippedAllows) return unopposed;
        continue;
      }
      const outcome = evaluate(expression, variables, application);
      if (outcome.ok && outcome.value) return conclude(true, rule, index, outcome);
    }
  }
  return unmatched;
}

function evaluate(
  expression: Expression,
  variables: ExpressionVariables,
  application: RuleApplication | undefined,
): ExpressionOutcome {
  return application?.evaluate === undefined
    ? expression.evaluate(variables)
    : application.evaluate(expression, variables);
}

function conclude(allowed: boolean, rule: Rule, index: number, outcome: ExpressionOutcome): RuleDecision {
  return { allowed, decidedBy: refer(rule, index), problem: outcome.ok ? undefined : outcome.problem };
}

/** Names one expression. */
export function refer({ policy, level, target, action, expressions }: Rule, index: number): RuleReference {
  return { policy, level, target, action, index, source: expressions[index]!.source };
}
