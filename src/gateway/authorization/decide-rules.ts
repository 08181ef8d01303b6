// The verdict of a set of rules: any Deny that matches denies; every Require must hold; the Allow of every Override must match; if there is any other Allow,
// one must match.
// An expression that cannot be evaluated matches for Deny, and does not hold for the others: a broken rule never opens the door.
import type { Expression, ExpressionOutcome, ExpressionVariables } from '../../cel/expression.ts';
import type { Rule, RuleDecision, RuleReference, RuleSet } from '../config/rule-set.ts';

/** How to evaluate expressions that do not concern every message. */
export interface RuleApplication {
  /** False: the expression reads something that the message does not have, and is skipped. */
  readonly applies: (expression: Expression) => boolean;
  /** A skipped Allow counts as a match: the message uses no item, and items are judged when they are used. */
  readonly skippedAllows: boolean;
  /** Replaces the evaluation, e.g. when the values that an expression reads are not known yet. */
  readonly evaluate?: (expression: Expression, variables: ExpressionVariables) => ExpressionOutcome;
  /** The variables of one expression, when expressions see different variables. */
  readonly view?: (expression: Expression) => ExpressionVariables;
}

const unopposed: RuleDecision = { allowed: true, decidedBy: undefined, problem: undefined };
const unmatched: RuleDecision = { allowed: false, decidedBy: undefined, problem: undefined };

/** Decides. Evaluates only as many expressions as the decision needs, and allocates nothing unless an expression fails. */
export function decideRules(
  rules: RuleSet,
  variables: ExpressionVariables,
  application?: RuleApplication,
): RuleDecision {
  for (const rule of rules.deny) {
    const { expressions } = rule;
    for (let index = 0; index < expressions.length; index += 1) {
      const expression = expressions[index]!;
      if (application?.applies(expression) === false) continue;
      const outcome = evaluate(expression, variables, application);
      if (!outcome.ok || outcome.value) return conclude(rule, index, outcome);
    }
  }
  for (const rule of rules.require) {
    const { expressions } = rule;
    for (let index = 0; index < expressions.length; index += 1) {
      const expression = expressions[index]!;
      if (application?.applies(expression) === false) continue;
      const outcome = evaluate(expression, variables, application);
      if (!outcome.ok || !outcome.value) return conclude(rule, index, outcome);
    }
  }
  let allowed = unopposed;
  for (const rule of rules.allowOverrides) {
    const match = findMatch(rule, variables, application);
    if (match === undefined) return { ...unmatched, unmatchedOverride: rule };
    allowed = match;
  }
  if (rules.allow.length === 0) return allowed;
  for (const rule of rules.allow) {
    const match = findMatch(rule, variables, application);
    if (match !== undefined) return match;
  }
  return unmatched;
}

/** What an Allow rule decides; undefined when it does not match. */
function findMatch(
  rule: Rule,
  variables: ExpressionVariables,
  application: RuleApplication | undefined,
): RuleDecision | undefined {
  const { expressions } = rule;
  for (let index = 0; index < expressions.length; index += 1) {
    const expression = expressions[index]!;
    if (application?.applies(expression) === false) {
      if (application.skippedAllows) return unopposed;
      continue;
    }
    const outcome = evaluate(expression, variables, application);
    if (outcome.ok && outcome.value) return conclude(rule, index, outcome);
  }
  return undefined;
}

/** All rules of a set, in the order in which they are evaluated. */
export function listRules(rules: RuleSet | undefined): readonly Rule[] {
  return rules === undefined ? [] : [...rules.deny, ...rules.require, ...rules.allowOverrides, ...rules.allow];
}

/** The outcome of one expression, or its replacement. */
export function evaluate(
  expression: Expression,
  variables: ExpressionVariables,
  application: RuleApplication | undefined,
): ExpressionOutcome {
  if (application === undefined) return expression.evaluate(variables);
  const seen = application.view?.(expression) ?? variables;
  return application.evaluate?.(expression, seen) ?? expression.evaluate(seen);
}

/** Decisions by expression, created once each: only a failed evaluation needs a new one. */
const conclusions = new WeakMap<Rule, readonly RuleDecision[]>();

function conclude(rule: Rule, index: number, outcome: ExpressionOutcome): RuleDecision {
  let own = conclusions.get(rule);
  if (own === undefined) {
    const allowed = rule.action === 'Allow';
    own = rule.expressions.map((_, at) => ({ allowed, decidedBy: refer(rule, at), problem: undefined }));
    conclusions.set(rule, own);
  }
  const conclusion = own[index]!;
  return outcome.ok ? conclusion : { ...conclusion, problem: outcome.problem };
}

/** Names one expression. */
export function refer({ policy, level, target, action, expressions }: Rule, index: number): RuleReference {
  return { policy, level, target, action, index, source: expressions[index]!.source };
}
