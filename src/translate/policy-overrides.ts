// Which fields of a policy an Override of a less specific level has instead (GEP-713): the Gateway's, or that of the listeners that serve the target.
import { type PolicyKind, exclusivePolicyKinds } from '../ir/policy-kinds.ts';
import { type Claimant, type Claims, formatPlace } from './policy-conflicts.ts';
import type { PolicyReach } from './policy-reach.ts';
import { type ObjectTarget, type PolicyTarget, formatTarget } from './policy-targets.ts';

/** A field of a policy that has no effect at a target, or not on every listener of a Gateway. */
export interface OverriddenField {
  readonly field: PolicyKind;
  readonly target: PolicyTarget;
  /** namespace/name of the Gateway where it has no effect. */
  readonly gateway: string;
  /** namespace/name of the Overrides. */
  readonly by: readonly string[];
  /** It has an effect on other listeners of the Gateway. */
  readonly isPartly: boolean;
}

/** Finds, for every Gateway that serves the target, the Overrides that have a field instead of this policy. Rules of all levels apply: none is overridden. */
export function findOverrides(
  claims: Claims,
  reach: PolicyReach,
  { policy, isOverride }: Claimant,
  field: PolicyKind,
  target: PolicyTarget,
): readonly OverriddenField[] {
  if (target.kind === 'Namespace' || !exclusivePolicyKinds.some((kind) => kind === field)) return [];
  // What a Gateway can enforce against public access is authentication.
  const contested = field === 'traffic.publicAccess' ? 'traffic.jwtAuthentication' : field;
  const findOverride = (gateway: string, sectionName: string): string | undefined => {
    const owner = claims.get(formatPlace(contested, nameGateway(gateway, sectionName)))?.[0];
    return owner?.isOverride === true && owner.policy !== policy ? owner.policy : undefined;
  };
  const isWhole = target.kind === 'Gateway' && target.sectionName === '';
  // The less specific Override wins.
  if (isWhole && isOverride) return [];
  return reach.listServingGateways(target).flatMap((gateway): OverriddenField[] => {
    const ofGateway = isWhole ? undefined : findOverride(gateway, '');
    if (ofGateway !== undefined) return [{ field, target, gateway, by: [ofGateway], isPartly: false }];
    if (target.kind === 'Gateway' && !isWhole) return [];
    const names = reach.listServingListeners(target, gateway);
    const ofListeners = names.flatMap((name) => findOverride(gateway, name) ?? []);
    if (ofListeners.length === 0) return [];
    return [{ field, target, gateway, by: [...new Set(ofListeners)], isPartly: ofListeners.length < names.length }];
  });
}

function nameGateway(gateway: string, sectionName: string): ObjectTarget {
  const [namespace = '', name = ''] = gateway.split('/');
  return { kind: 'Gateway', namespace, name, sectionName };
}

/** The sentence for a status. */
export function formatOverridden({ field, target, by, isPartly }: OverriddenField): string {
  const what = `${field} of ${formatTarget(target)} is overridden`;
  const whom = `ProxyPolicy ${by.join(' and ')}`;
  return isPartly ? `${what} on some listeners by ${whom}` : `${what} by ${whom}`;
}
