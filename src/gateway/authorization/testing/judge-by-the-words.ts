// Reference implementation of the rule semantics in the words of the documentation, slow and simple: tests compare the gateway with it.
import type { RuleAction } from '../../config/rule-set.ts';

/** The value of one expression. `skipped`: it does not concern the message. */
export type WrittenValue = 'true' | 'false' | 'error' | 'skipped';

/** The rule of one policy, as it was written. */
export interface WrittenRule {
  readonly action: RuleAction;
  readonly values: readonly WrittenValue[];
  /** Of a policy with enforcement: Override. */
  readonly isOverride?: boolean;
}

/** Whether a request passes. */
export function judgeByTheWords(rules: readonly WrittenRule[], skippedAllows = false): boolean {
  // "Several expressions in one rule: ANY of them for Allow and Deny, ALL of them for Require."
  const applies = ({ action, values }: WrittenRule): boolean =>
    action === 'Require'
      ? values.every((value) => holds(action, value, skippedAllows))
      : values.some((value) => holds(action, value, skippedAllows));
  const having = (action: RuleAction): WrittenRule[] => rules.filter((rule) => rule.action === action);
  // "Any Deny that matches denies."
  if (having('Deny').some(applies)) return false;
  // "Every Require must hold."
  if (!having('Require').every(applies)) return false;
  // "The Allow rule of an Override must match by itself, in addition to what the other levels allow."
  if (!having('Allow').every((rule) => rule.isOverride !== true || applies(rule))) return false;
  // "If there is any Allow rule at any level, one of them must match."
  const others = having('Allow').filter(({ isOverride }) => isOverride !== true);
  return others.length === 0 || others.some(applies);
}

// "An expression that cannot be evaluated is false for Allow and Require, and true for Deny." A skipped Deny or Require does not count; for Allow, `skippedAllows` decides.
function holds(action: RuleAction, value: WrittenValue, skippedAllows: boolean): boolean {
  if (value === 'error') return action === 'Deny';
  if (value === 'skipped') return action === 'Require' || (action === 'Allow' && skippedAllows);
  return value === 'true';
}
