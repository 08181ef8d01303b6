// What policies decided about a request: for the access log, the metrics, and `explain`. Policies note it; observers read it at the end.
import type { PolicyKind } from '../../ir/policy-kinds.ts';
import type { RuleOutcome, RuleReference } from '../config/rule-set.ts';
import type { Reason } from '../http/reasons.ts';

/** Of authentication; empty for rules. */
export const decisionModes = ['', 'Strict', 'Optional', 'Permissive'] as const;

/** respond: the policy answered the request itself, e.g. a preflight, or the call of a hidden tool. */
export const decisionOutcomes = ['allow', 'deny', 'respond'] as const;

/** The decision of one policy about one request. Holds only text, because it outlives the request. */
export interface Decision {
  /** Which kind of policy judged. */
  readonly step: PolicyKind;
  /** namespace/name of the policy that decided; the first when several agreed. */
  readonly policy: string;
  readonly mode: (typeof decisionModes)[number];
  readonly outcome: (typeof decisionOutcomes)[number];
  /** Why it was denied; with `allow`, the problem that Optional or Permissive ignored. */
  readonly reason: Reason | undefined;
  /** A sentence for the operator. */
  readonly detail: string | undefined;
  /** Rules only: the expression that decided. */
  readonly decidedBy: RuleReference | undefined;
  /** Every expression with the values it read: for denials, and for explained requests. */
  readonly rules: readonly RuleOutcome[];
}

/** The decisive decision: the last one that ended the request, else the last rule that allowed it, else the last one that let it pass. */
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
