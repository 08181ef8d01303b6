// What policies decided about a request: for the access log, the metrics, and `explain`. Policies note it; observers read it at the end.
import type { RuleOutcome, RuleReference } from './policies/authorization/rule-set.ts';
import type { PolicyFieldName } from './policies/policy-level.ts';
import type { Reason } from './reasons.ts';

export interface Decision {
  /** Which kind of policy judged. */
  readonly step: PolicyFieldName;
  /** namespace/name of the policy that decided; of several that agreed the first. */
  readonly policy: string;
  /** Strict, Optional, Permissive; empty for rules. */
  readonly mode: '' | 'Strict' | 'Optional' | 'Permissive';
  readonly outcome: 'allow' | 'deny' | 'respond';
  readonly reason: Reason | undefined;
  /** A sentence for the operator. */
  readonly detail: string | undefined;
  /** Rules only: the expression that decided. */
  readonly decidedBy: RuleReference | undefined;
  /** Every expression with what it saw: for denials, and for all requests that are being explained. */
  readonly rules: readonly RuleOutcome[];
}
