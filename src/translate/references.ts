// References across namespaces: allowed only by a ReferenceGrant in the namespace that is referred to.
import { inferenceGroup } from '../api/inference-pool.ts';
import type { ResourceIndex } from './resource-index.ts';

/** The API group of Gateway and HTTPRoute. */
export const gatewayGroup = 'gateway.networking.k8s.io';
/** The API group of ProxyBackend and ProxyPolicy. */
export const proxyGroup = 'gateway.proxy';

/** A reference to an object of any kind. */
interface KindReference {
  readonly group: string;
  readonly kind: string;
}

/** Whether a reference is to an InferencePool, whether it exists or not. */
export function isInferencePool({ group, kind }: KindReference): boolean {
  return group === inferenceGroup && kind === 'InferencePool';
}

/** Who refers. */
export interface Referrer {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
}

/** What is referred to. */
interface Referent {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Whether the reference stays in its namespace or a ReferenceGrant allows it. */
export function isReferencePermitted(index: ResourceIndex, from: Referrer, to: Referent): boolean {
  if (from.namespace === to.namespace) return true;
  const grants = index.referenceGrants.get(to.namespace) ?? [];
  return grants.some(
    ({ spec }) =>
      spec.from.some(
        (each) => each.group === from.group && each.kind === from.kind && each.namespace === from.namespace,
      ) &&
      spec.to.some(
        (each) =>
          each.group === to.group && each.kind === to.kind && (each.name === undefined || each.name === to.name),
      ),
  );
}

/** The sentence for a reference that no ReferenceGrant allows. */
export function describeMissingGrant(from: Referrer, to: Referent): string {
  return `no ReferenceGrant in namespace ${to.namespace} allows ${from.kind} of namespace ${from.namespace} to refer to ${to.kind} ${to.namespace}/${to.name}`;
}
