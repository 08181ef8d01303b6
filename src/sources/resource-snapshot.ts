// Collects what a source read into one consistent set of resources: each resource once, in an order that does not depend on where it was written.
import { isDeepStrictEqual } from 'node:util';
import type { ParsedResource } from '../api/parse-resource.ts';
import { emptyResources, type InvalidResource, type Resources } from '../api/resources.ts';
import { formatIdentity, type ResourceIdentity } from './resource-source.ts';

/** One resource as a source has it: good, or known to be bad. `place` is whatever the source needs to find it again. */
export type SnapshotEntry<P> =
  | {
      readonly state: 'valid';
      readonly identity: ResourceIdentity;
      readonly resource: ParsedResource;
      readonly place: P;
    }
  | {
      readonly state: 'invalid';
      readonly identity: ResourceIdentity;
      readonly invalid: InvalidResource;
      readonly place: P;
    };

/** A resource that another one of the same kind, namespace and name stands before. */
export interface Duplicate<P> {
  readonly duplicate: SnapshotEntry<P>;
  readonly first: SnapshotEntry<P>;
}

/** The outcome of collecting. `inForce` are the entries that `resources` was made of. */
export interface Snapshot<P> {
  readonly resources: Resources;
  readonly inForce: readonly SnapshotEntry<P>[];
  readonly duplicates: readonly Duplicate<P>[];
}

/** The list of `Resources` that holds each kind. */
export const listsByKind = {
  GatewayClass: 'gatewayClasses',
  Gateway: 'gateways',
  HTTPRoute: 'httpRoutes',
  ReferenceGrant: 'referenceGrants',
  Service: 'services',
  EndpointSlice: 'endpointSlices',
  Secret: 'secrets',
  ConfigMap: 'configMaps',
  Namespace: 'namespaces',
  GatewayParameters: 'gatewayParameters',
  ProxyBackend: 'proxyBackends',
  ProxyPolicy: 'proxyPolicies',
  InferencePool: 'inferencePools',
  Pod: 'pods',
} as const satisfies Record<string, Exclude<keyof Resources, 'invalid'>>;

/** Takes entries in the order in which they were read; of two for the same resource the earlier counts. */
export function collectResources<P>(entries: readonly SnapshotEntry<P>[]): Snapshot<P> {
  const firsts = new Map<string, SnapshotEntry<P>>();
  const unnamed: SnapshotEntry<P>[] = [];
  const duplicates: Duplicate<P>[] = [];
  for (const entry of entries) {
    const key = formatIdentity(entry.identity);
    const first = firsts.get(key);
    // Without a name two bad resources are not known to be the same one.
    if (entry.identity.name === '') unnamed.push(entry);
    else if (first === undefined) firsts.set(key, entry);
    else duplicates.push({ duplicate: entry, first });
  }
  const inForce = [...firsts.values(), ...unnamed];

  const lists = structuredClone(emptyResources) as { [K in keyof Resources]: Resources[K][number][] };
  for (const entry of inForce.toSorted((left, right) => compareIdentities(left.identity, right.identity))) {
    if (entry.state === 'valid') {
      const list: unknown[] = lists[listsByKind[entry.resource.kind]];
      list.push(entry.resource.resource);
    } else {
      lists.invalid.push(entry.invalid);
    }
  }
  for (const { duplicate, first } of duplicates) {
    const refused = refuseDuplicate(duplicate, first);
    if (refused !== undefined) lists.invalid.push(refused);
  }
  return { resources: lists, inForce, duplicates };
}

/**
 * A second policy of the same name is not in force. Where it would have protected something else than the first one, that must not be
 * served unprotected, so it counts as invalid. Every other kind is merely absent, which opens nothing.
 */
function refuseDuplicate<P>(duplicate: SnapshotEntry<P>, first: SnapshotEntry<P>): InvalidResource | undefined {
  if (duplicate.identity.kind !== 'ProxyPolicy') return undefined;
  if (isDeepStrictEqual(readTargets(first), readTargets(duplicate))) return undefined;
  if (duplicate.state === 'invalid') return duplicate.invalid;
  return {
    ...duplicate.identity,
    raw: duplicate.resource.resource,
    problems: [{ path: ['metadata', 'name'], code: 'invalid', message: 'another ProxyPolicy has the same name' }],
  };
}

function readTargets<P>(entry: SnapshotEntry<P>): unknown {
  const policy: unknown = entry.state === 'valid' ? entry.resource.resource : entry.invalid.raw;
  const spec = readMember(policy, 'spec');
  return [readMember(spec, 'targetRefs'), readMember(spec, 'targetSelectors')];
}

function readMember(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function compareIdentities(left: ResourceIdentity, right: ResourceIdentity): number {
  return (
    compareText(left.kind, right.kind) ||
    compareText(left.namespace, right.namespace) ||
    compareText(left.name, right.name)
  );
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
