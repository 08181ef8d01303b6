// What policies decided about a request: for the access log, the metrics, and `explain`. Policies note it; observers read it at the end.
import type { PolicyKind } from '../../ir/policy-kinds.ts';
import type { RuleOutcome, RuleReference } from '../config/rule-set.ts';
import type { Reason } from '../http/reasons.ts';

/** Of authentication; empty for rules. */
export const decisionModes = ['', 'Strict', 'Optional', 'Permissive'] as const;

/** respond: the policy had the answer itself, e.g. to a preflight, or in place of a tool that is hidden. */
export const decisionOutcomes = ['allow', 'deny', 'respond'] as const;

/** What one policy decided about one request. It holds texts only: it is kept when the request is long gone. */
export interface Decision {
  /** Which kind of policy judged. */
  readonly step: PolicyKind;
  /** namespace/name of the policy that decided; of several that agreed the first. */
  readonly policy: string;
  readonly mode: (typeof decisionModes)[number];
  readonly outcome: (typeof decisionOutcomes)[number];
  /** Why it was denied; with `allow`, what Optional or Permissive passed over. */
  readonly reason: Reason | undefined;
  /** A sentence for the operator. */
  readonly detail: string | undefined;
  /** Rules only: the expression that decided. */
  readonly decidedBy: RuleReference | undefined;
  /** Every expression with what it saw: for denials, and for all requests that are being explained. */
  readonly rules: readonly RuleOutcome[];
}

/** The decision that a request owes its end to: the last that ended it, else the last rule that allowed it, else the last that let it pass. */
export function findDeciding(decisions: readonly Decision[]): Decision | undefined {
  return (
    decisions.findLast(({ outcome }) => outcome !== 'allow') ??
    decisions.findLast(({ decidedBy }) => decidedBy !== undefined) ??
    decisions.at(-1)
  );
}

/** An expression by its address: "default/tickets/Deny/0". */
export function formatRule({ policy, action, index }: RuleReference): string {
  return `${policy}/${action}/${index}`;
}
