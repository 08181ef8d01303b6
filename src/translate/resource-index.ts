// The resources by name, in an order that does not depend on the input's. Built once per translation; every step looks things up here.
import type { ConfigMap } from '../api/config-map.ts';
import type { EndpointSlice } from '../api/endpoint-slice.ts';
import { serviceNameLabel } from '../api/endpoint-slice.ts';
import type { Gateway } from '../api/gateway.ts';
import type { GatewayClass } from '../api/gateway-class.ts';
import type { HttpRoute } from '../api/http-route.ts';
import type { Namespace } from '../api/namespace.ts';
import { formatFieldPath } from '../api/problem.ts';
import type { ProxyBackend } from '../api/proxy-backend.ts';
import type { ProxyPolicy } from '../api/proxy-policy.ts';
import type { ReferenceGrant } from '../api/reference-grant.ts';
import type { InvalidResource, Resources } from '../api/resources.ts';
import type { Secret } from '../api/secret.ts';
import type { Service } from '../api/service.ts';
import { compareText, formatName } from './order.ts';
import type { Named } from './order.ts';

type ByName<T> = ReadonlyMap<string, T>;

/** Every resource by namespace/name (cluster-scoped kinds by name); iteration is in that order. */
export interface ResourceIndex {
  readonly gatewayClasses: ByName<GatewayClass>;
  readonly gateways: ByName<Gateway>;
  readonly httpRoutes: ByName<HttpRoute>;
  readonly services: ByName<Service>;
  readonly secrets: ByName<Secret>;
  readonly configMaps: ByName<ConfigMap>;
  readonly namespaces: ByName<Namespace>;
  readonly proxyBackends: ByName<ProxyBackend>;
  readonly proxyPolicies: ByName<ProxyPolicy>;
  /** By the namespace that they open. */
  readonly referenceGrants: ReadonlyMap<string, readonly ReferenceGrant[]>;
  /** By namespace/name of the Service. */
  readonly endpointSlices: ReadonlyMap<string, readonly EndpointSlice[]>;
  readonly invalid: readonly InvalidResource[];
}

/** The index of a set of resources. */
export function indexResources(resources: Resources): ResourceIndex {
  const slices = [...indexByName(resources.endpointSlices).values()];
  return {
    gatewayClasses: indexByName(resources.gatewayClasses),
    gateways: indexByName(resources.gateways),
    httpRoutes: indexByName(resources.httpRoutes),
    services: indexByName(resources.services),
    secrets: indexByName(resources.secrets),
    configMaps: indexByName(resources.configMaps),
    namespaces: indexByName(resources.namespaces),
    proxyBackends: indexByName(resources.proxyBackends),
    proxyPolicies: indexByName(resources.proxyPolicies),
    referenceGrants: Map.groupBy(indexByName(resources.referenceGrants).values(), (grant) => grant.metadata.namespace),
    endpointSlices: Map.groupBy(
      slices,
      (slice) => `${slice.metadata.namespace}/${slice.metadata.labels[serviceNameLabel] ?? ''}`,
    ),
    invalid: resources.invalid.toSorted(compareInvalid),
  };
}

/** The labels of a namespace. One that nobody wrote down still has the label that Kubernetes gives to each. */
export function readNamespaceLabels(index: ResourceIndex, namespace: string): Readonly<Record<string, string>> {
  return { ...index.namespaces.get(namespace)?.metadata.labels, 'kubernetes.io/metadata.name': namespace };
}

/** "does not exist", or that it does and what is wrong with it: for the message of a reference that leads nowhere. */
export function describeAbsence(index: ResourceIndex, kind: string, namespace: string, name: string): string {
  const invalid = index.invalid.find(
    (each) => each.kind === kind && each.namespace === namespace && each.name === name,
  );
  return invalid === undefined ? 'does not exist' : `exists but is invalid: ${formatProblems(invalid)}`;
}

/** The problems of an invalid resource on one line. */
export function formatProblems(invalid: InvalidResource): string {
  if (invalid.problems.length === 0) return 'it cannot be read';
  return invalid.problems
    .map(({ path, message }) => (path.length === 0 ? message : `${formatFieldPath(path)}: ${message}`))
    .join('; ');
}

// A source gives each name once. Should it ever not, the choice must not depend on the order it gave them in.
function indexByName<T extends Named>(resources: readonly T[]): ReadonlyMap<string, T> {
  const sorted = resources.toSorted((left, right) => {
    const byName = compareText(formatName(left), formatName(right));
    return byName === 0 ? compareText(serialize(left), serialize(right)) : byName;
  });
  const byName = new Map<string, T>();
  for (const resource of sorted) if (!byName.has(formatName(resource))) byName.set(formatName(resource), resource);
  return byName;
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
