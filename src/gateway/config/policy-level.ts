// Where a policy is attached, and whether it takes effect there (GEP-713).
import type { PolicyKind, RoutePolicyKind } from '../../ir/policy-kinds.ts';

/** From the least specific to the most specific. A ProxyBackend is outside this order. */
export type PolicyLevel = 'Gateway' | 'listener' | 'HTTPRoute' | 'rule' | 'ProxyBackend';

/** A policy that is attached somewhere. */
export interface PolicyPlace {
  /** namespace/name of the ProxyPolicy. */
  readonly policy: string;
  readonly level: PolicyLevel;
  /** For people: "Gateway default/public, listener http". */
  readonly target: string;
  /** Policies of more specific levels neither replace nor weaken it. */
  readonly isOverride?: true;
}

/** A field that another policy already sets at the same place: the policy has no effect there. */
export interface PolicyConflict {
  /** namespace/name of the ProxyPolicy without effect. */
  readonly policy: string;
  readonly field: PolicyKind;
  /** The policy that sets the field, and where. */
  readonly owner: PolicyPlace;
  /** Why the owner wins: "is an Override", "is older", "comes first by name". */
  readonly because: string;
}

/** One field of one policy that targets a rule or a level above it, and whether it takes effect. */
export interface PolicyProvenance extends PolicyPlace {
  readonly field: RoutePolicyKind;
  /** Set when an Override of a less specific level, a more specific policy or the rule's own filter has the field. */
  readonly overriddenBy: PolicyPlace | undefined;
}
