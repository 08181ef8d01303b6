// The kinds that the fake API server serves: those that the controller reads or writes, and whatever a test installs.
import { type KindDefinition, kinds } from '../../../src/api/kinds.ts';
import { type ResourceType, resourceTypes } from '../../../src/kubernetes/resource-type.ts';

/** A kind at all the versions in which it is served. */
export interface ServedKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly versions: readonly string[];
  /** Status is a subresource: a write to the object leaves it alone, and the other way round. */
  readonly hasStatus: boolean;
}

const withoutStatus = new Set([
  'Secret',
  'ConfigMap',
  'ServiceAccount',
  'Lease',
  'Event',
  'EndpointSlice',
  'ReferenceGrant',
]);

/** The type at every version that a test may name. */
export function serveType(type: ResourceType, versions: readonly string[] = [type.version]): ServedKind {
  const { group, kind, plural, namespaced } = type;
  return { group, kind, plural, namespaced, versions, hasStatus: !withoutStatus.has(kind) };
}

/** Everything that a cluster with our chart and Gateway API installed serves of what we use. */
export function listDefaultKinds(): readonly ServedKind[] {
  const served = new Map<string, ServedKind>();
  for (const type of Object.values(resourceTypes)) served.set(type.kind, serveType(type));
  for (const [kind, { group, plural, namespaced, versions }] of Object.entries<KindDefinition>(kinds))
    served.set(kind, serveType({ group, kind, plural, namespaced, version: versions[0] }, versions));
  const node: ResourceType = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
  return [...served.values(), serveType(node)];
}

/** How messages of the real server name a resource: `httproutes.gateway.networking.k8s.io`. */
export function formatResource({ group, plural }: { readonly group: string; readonly plural: string }): string {
  return group === '' ? plural : `${plural}.${group}`;
}
