// Two policies set the same field at the same target: an Override takes precedence, then the older, then the first by name; the other has no effect there (GEP-713).
import { create } from '@bufbuild/protobuf';
import { type PolicyRival, PolicyRivalSchema } from '../ir/gen/config_pb.ts';
import type { PolicyKind } from '../ir/policy-kinds.ts';
import type { Table } from './memory.ts';
import { type PolicyTarget, formatTarget } from './policy-targets.ts';

/** A field of a policy that another policy has at the same target. */
export interface PolicyConflict {
  /** namespace/name of the policy that lost the conflict. */
  readonly policy: string;
  readonly field: PolicyKind;
  readonly target: PolicyTarget;
  /** namespace/name of the policy that takes precedence. */
  readonly owner: string;
  /** Why that one: "is an Override", "is older", "comes first by name", "asks for a token there". */
  readonly because: string;
}

/** A policy that wants a field at a target. */
export interface Claimant {
  /** namespace/name */
  readonly policy: string;
  /** In seconds since 1970; 0 when it is not known. */
  readonly createdAt: number;
  readonly isOverride: boolean;
}

/** Claimants by place; the first of a list takes precedence. */
export type Claims = Table<readonly Claimant[]>;

/** The outcome of a claim: won, with the other claimants; or lost, with the reason. */
type ClaimOutcome =
  | { readonly granted: true; readonly rivals: PolicyRival[] }
  | { readonly granted: false; readonly conflict: PolicyConflict };

/** A field at a target. */
export function formatPlace(field: PolicyKind, target: PolicyTarget): string {
  return JSON.stringify([target.namespace, formatTarget(target), field]);
}

/** The URL of a server behind a Gateway; a trailing slash makes no difference. */
export function formatResourcePlace(gateway: string, resource: string): string {
  return JSON.stringify(['resource', gateway, (URL.parse(resource)?.href ?? resource).replace(/\/$/, '')]);
}

/** Decides whether a policy gets a field that it claims at a target. */
export function settleClaim(
  claims: Claims,
  { policy, createdAt, isOverride }: Claimant,
  field: PolicyKind,
  target: PolicyTarget,
): ClaimOutcome {
  // A route asks for a token or is public. Where two policies disagree, it asks.
  const asking =
    field === 'traffic.publicAccess' ? claims.get(formatPlace('traffic.jwtAuthentication', target))?.[0] : undefined;
  if (asking !== undefined)
    return { granted: false, conflict: { policy, field, target, owner: asking.policy, because: asksForToken } };
  const [owner, ...others] = claims.get(formatPlace(field, target)) ?? [];
  if (owner === undefined || owner.policy === policy) {
    const rivals = others.map((rival) =>
      create(PolicyRivalSchema, {
        source: rival.policy,
        isYounger: rival.createdAt !== createdAt,
        isDefault: isOverride && !rival.isOverride,
      }),
    );
    return { granted: true, rivals };
  }
  const because =
    owner.isOverride && !isOverride
      ? 'is an Override'
      : owner.createdAt === createdAt
        ? 'comes first by name'
        : 'is older';
  return { granted: false, conflict: { policy, field, target, owner: owner.policy, because } };
}

const asksForToken = 'asks for a token there';

/** The sentence for a status. */
export function formatConflict({ field, target, owner, because }: PolicyConflict): string {
  if (because === asksForToken)
    return `${field} of ${formatTarget(target)} has no effect: ProxyPolicy ${owner} ${asksForToken}`;
  return `${field} of ${formatTarget(target)} is set by ProxyPolicy ${owner}, which ${because}`;
}
