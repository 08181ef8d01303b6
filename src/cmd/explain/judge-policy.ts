// What one policy itself says, when the rules of several decide together: each has a mark of its own, also those that did not come to decide.
import type { ExplainedPolicy } from './explain-report.ts';

/** What one expression said, and whose it is. */
export interface SaidRule {
  readonly policy: string;
  readonly target: string;
  readonly action: 'Allow' | 'Deny' | 'Require';
  readonly value: boolean | 'error' | 'skipped';
}

/** What was decided, by all rules together or without them. */
export interface JointDecision {
  readonly policy: string;
  readonly outcome: 'allow' | 'deny' | 'respond';
  readonly reason: string | null | undefined;
  readonly decidedBy: { readonly policy: string; readonly target: string } | null | undefined;
  /** Those that are known. */
  readonly rules: readonly SaidRule[];
  /** Some were not kept. */
  readonly isCut: boolean;
}

/** Says what a policy at a place has to do with a decision. `usesItem`: the message uses a tool, prompt or resource. */
export function judgePolicy(
  decision: JointDecision,
  place: { readonly policy: string; readonly target: string },
  usesItem: boolean,
): Extract<ExplainedPolicy['outcome'], 'allow' | 'deny' | 'also_denies' | 'no_say' | 'respond'> {
  const { decidedBy, rules } = decision;
  const refused = isRefusal(decision);
  if (refused && decidedBy && isSame(decidedBy, place)) return 'deny';
  const own = rules.filter((rule) => isSame(rule, place));
  if (own.length === 0) {
    if (decidedBy) return 'allow';
    if (decision.policy !== place.policy) return 'allow';
    return refused ? 'deny' : decision.outcome;
  }
  // Not the expressions: scopes are missing, or the message cannot be judged.
  if (refused && !decidedBy && !isOfRules(decision)) return decision.policy === place.policy ? 'deny' : 'allow';
  const isAgainst = own.some(
    ({ action, value }) =>
      (action === 'Deny' && (value === true || value === 'error')) ||
      (action === 'Require' && (value === false || value === 'error')),
  );
  if (isAgainst) return 'also_denies';
  if (!own.some(({ action }) => action === 'Allow'))
    return own.every(({ value }) => value === 'skipped') ? 'no_say' : 'allow';
  if (own.some((rule) => isMatch(rule, usesItem))) return 'allow';
  // Another Allow is enough.
  if (decision.isCut || rules.some((rule) => isMatch(rule, usesItem))) return 'no_say';
  return refused && !decidedBy ? 'deny' : 'also_denies';
}

/** Worst first: of several messages in one request the one that matters is told. */
export const outcomeOrder = ['deny', 'also_denies', 'respond', 'allow', 'no_say'] as const;

/** An answer in the place of a server, such as that of a hidden tool, is a refusal as well: it has a reason. */
export function isRefusal({ outcome, reason }: Pick<JointDecision, 'outcome' | 'reason'>): boolean {
  return outcome === 'deny' || (outcome === 'respond' && reason !== undefined && reason !== null);
}

/** Of an Allow. One that reads what the message does not have counts as a match, unless the message uses something else. */
function isMatch({ action, value }: SaidRule, usesItem: boolean): boolean {
  return action === 'Allow' && (value === true || (value === 'skipped' && !usesItem));
}

function isOfRules({ reason }: JointDecision): boolean {
  return reason === 'rbac_denied' || reason === 'item_hidden';
}

function isSame(
  left: { readonly policy: string; readonly target: string },
  right: { readonly policy: string; readonly target: string },
): boolean {
  return left.policy === right.policy && left.target === right.target;
}
