// Where a policy is attached, and what became of it there (GEP-713).
import type { PolicyKind, RoutePolicyKind } from '../../ir/policy-kinds.ts';

/** From the least specific to the most specific. A ProxyBackend is a place of its own. */
export type PolicyLevel = 'Gateway' | 'listener' | 'HTTPRoute' | 'rule' | 'ProxyBackend';

/** A policy that is attached somewhere. */
export interface PolicyPlace {
  /** namespace/name of the ProxyPolicy. */
  readonly policy: string;
  readonly level: PolicyLevel;
  /** For people: "Gateway default/public, listener http". */
  readonly target: string;
}

/** A field that another policy has at the same place: the policy has no say there. */
export interface PolicyConflict {
  /** namespace/name of the ProxyPolicy without a say. */
  readonly policy: string;
  readonly field: PolicyKind;
  /** Who has the field, and where. */
  readonly owner: PolicyPlace;
  /** Why the owner has it: "is older", "comes first by name". */
  readonly because: string;
}

/** One field of one policy on the way to one rule, and whether it has a say there. */
export interface PolicyProvenance extends PolicyPlace {
  readonly field: RoutePolicyKind;
  /** Set: a more specific policy (or the rule's own filter) has the field instead. */
  readonly overriddenBy: { readonly policy: string; readonly level: PolicyLevel; readonly target: string } | undefined;
}
