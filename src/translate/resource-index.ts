// The resources by name, in an order that does not depend on the input's. Every step looks things up here, and the memory takes note of it.
import type { ConfigMap } from '../api/config-map.ts';
import { type EndpointSlice, serviceNameLabel } from '../api/endpoint-slice.ts';
import type { Gateway } from '../api/gateway.ts';
import type { GatewayClass } from '../api/gateway-class.ts';
import type { GatewayParameters } from '../api/gateway-parameters.ts';
import type { HttpRoute } from '../api/http-route.ts';
import type { InferencePool } from '../api/inference-pool.ts';
import type { Namespace } from '../api/namespace.ts';
import type { Pod } from '../api/pod.ts';
import { formatFieldPath } from '../api/problem.ts';
import type { ProxyBackend } from '../api/proxy-backend.ts';
import type { ProxyPolicy } from '../api/proxy-policy.ts';
import type { ReferenceGrant } from '../api/reference-grant.ts';
import type { InvalidResource, Resources } from '../api/resources.ts';
import type { Secret } from '../api/secret.ts';
import type { Service } from '../api/service.ts';
import { type Memory, type Table, keepList, replaceLists } from './memory.ts';
import { compareText, formatName, type Named } from './order.ts';

/** Every resource by namespace/name (cluster-scoped kinds by name); iteration is in that order. */
export class ResourceIndex {
  readonly gatewayClasses: Table<GatewayClass>;
  readonly gateways: Table<Gateway>;
  readonly httpRoutes: Table<HttpRoute>;
  readonly services: Table<Service>;
  readonly secrets: Table<Secret>;
  readonly configMaps: Table<ConfigMap>;
  readonly namespaces: Table<Namespace>;
  readonly gatewayParameters: Table<GatewayParameters>;
  readonly proxyBackends: Table<ProxyBackend>;
  readonly proxyPolicies: Table<ProxyPolicy>;
  readonly inferencePools: Table<InferencePool>;
  /** By the namespace that they grant access to. */
  readonly referenceGrants: Table<readonly ReferenceGrant[]>;
  /** By namespace/name of the Service. */
  readonly endpointSlices: Table<readonly EndpointSlice[]>;
  /** By namespace. */
  readonly pods: Table<readonly Pod[]>;
  /** By name: namespaces whose Secrets may not be read. */
  readonly unreadableSecretNamespaces: Table<true>;
  /** By kind/namespace/name: what did not validate. Names are not unique among them. */
  readonly invalid: Table<readonly InvalidResource[]>;
  #loaded: Resources | undefined;

  constructor(memory: Memory) {
    this.gatewayClasses = memory.createTable();
    this.gateways = memory.createTable();
    this.httpRoutes = memory.createTable();
    this.services = memory.createTable();
    this.secrets = memory.createTable();
    this.configMaps = memory.createTable();
    this.namespaces = memory.createTable();
    this.gatewayParameters = memory.createTable();
    this.proxyBackends = memory.createTable();
    this.proxyPolicies = memory.createTable();
    this.inferencePools = memory.createTable();
    this.referenceGrants = memory.createTable();
    this.endpointSlices = memory.createTable();
    this.pods = memory.createTable();
    this.unreadableSecretNamespaces = memory.createTable();
    this.invalid = memory.createTable();
  }

  /** Replaces all resources. An unchanged list costs nothing. */
  load(resources: Resources): void {
    const isNew = (list: keyof Resources): boolean => {
      const known: readonly unknown[] | undefined = this.#loaded?.[list];
      return known === undefined || keepList(known, resources[list]) !== known;
    };
    for (const list of namedLists) {
      const table = this[list] as Table<unknown>;
      if (isNew(list)) table.replace(indexByName<Named>(resources[list]));
    }
    if (isNew('referenceGrants'))
      replaceLists(
        this.referenceGrants,
        Map.groupBy(indexByName(resources.referenceGrants).values(), (grant) => grant.metadata.namespace),
      );
    if (isNew('endpointSlices'))
      replaceLists(
        this.endpointSlices,
        Map.groupBy(
          indexByName(resources.endpointSlices).values(),
          (slice) => `${slice.metadata.namespace}/${slice.metadata.labels[serviceNameLabel] ?? ''}`,
        ),
      );
    if (isNew('pods'))
      replaceLists(
        this.pods,
        Map.groupBy(indexByName(resources.pods).values(), (pod) => pod.metadata.namespace),
      );
    if (isNew('unreadableSecretNamespaces'))
      this.unreadableSecretNamespaces.replace(
        new Map(resources.unreadableSecretNamespaces.toSorted(compareText).map((name) => [name, true])),
      );
    if (isNew('invalid'))
      replaceLists(this.invalid, Map.groupBy(resources.invalid.toSorted(compareInvalid), formatInvalid));
    this.#loaded = resources;
  }
}

const namedLists = [
  'gatewayClasses',
  'gateways',
  'httpRoutes',
  'services',
  'secrets',
  'configMaps',
  'namespaces',
  'gatewayParameters',
  'proxyBackends',
  'proxyPolicies',
  'inferencePools',
] as const;

/** Everything that did not validate, sorted. */
export function listInvalid(index: ResourceIndex): readonly InvalidResource[] {
  return [...index.invalid.values()].flat();
}

/** The labels of a namespace. A namespace without a resource has the label that Kubernetes gives to every namespace. */
export function readNamespaceLabels(index: ResourceIndex, namespace: string): Readonly<Record<string, string>> {
  return { ...index.namespaces.get(namespace)?.metadata.labels, 'kubernetes.io/metadata.name': namespace };
}

/** "does not exist", or that it does and what is wrong with it: for the message of a reference that leads nowhere. */
export function describeAbsence(index: ResourceIndex, kind: string, namespace: string, name: string): string {
  const [invalid] = index.invalid.get(formatInvalid({ kind, namespace, name })) ?? [];
  if (invalid !== undefined) return `exists but is invalid: ${formatProblems(invalid)}`;
  if (kind === 'Secret' && index.unreadableSecretNamespaces.get(namespace) === true)
    return `cannot be read: the controller may not read Secrets in namespace ${namespace} (the chart's value rbac.secretsInNamespaces)`;
  return 'does not exist';
}

/** The problems of an invalid resource on one line. */
export function formatProblems(invalid: InvalidResource): string {
  if (invalid.problems.length === 0) return 'it cannot be read';
  return invalid.problems
    .map(({ path, message }) => (path.length === 0 ? message : `${formatFieldPath(path)}: ${message}`))
    .join('; ');
}

// A source should list each name once. If it does not, the choice must not depend on its order.
function indexByName<T extends Named>(resources: readonly T[]): ReadonlyMap<string, T> {
  const names = resources.map(formatName);
  // Sources usually have this order already.
  const isSorted = names.every((name, at) => at === 0 || names[at - 1]! < name);
  if (isSorted) return new Map(resources.map((resource, at) => [names[at]!, resource]));
  const named = resources.map((resource, at) => ({ name: names[at]!, resource }));
  named.sort((left, right) =>
    left.name === right.name
      ? compareText(serialize(left.resource), serialize(right.resource))
      : compareText(left.name, right.name),
  );
  const byName = new Map<string, T>();
  for (const { name, resource } of named) if (!byName.has(name)) byName.set(name, resource);
  return byName;
}

function formatInvalid({ kind, namespace, name }: Pick<InvalidResource, 'kind' | 'namespace' | 'name'>): string {
  return `${kind}/${namespace}/${name}`;
}

function compareInvalid(left: InvalidResource, right: InvalidResource): number {
  return (
    compareText(left.kind, right.kind) ||
    compareText(left.namespace, right.namespace) ||
    compareText(left.name, right.name) ||
    compareText(serialize(left.problems), serialize(right.problems)) ||
    compareText(serialize(left.raw), serialize(right.raw))
  );
}

function serialize(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return ''; // YAML can hold cycles; JSON cannot
  }
}
