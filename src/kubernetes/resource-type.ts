// Kinds with the names that the API server's paths use.

/** One kind at one version. */
export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

function core(kind: string, plural: string, namespaced = true): ResourceType {
  return { group: '', version: 'v1', kind, plural, namespaced };
}

/** The kinds that the controller writes or reads in addition to those of src/api/kinds.ts. */
export const resourceTypes = {
  Deployment: { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
  Service: core('Service', 'services'),
  ServiceAccount: core('ServiceAccount', 'serviceaccounts'),
  ConfigMap: core('ConfigMap', 'configmaps'),
  Secret: core('Secret', 'secrets'),
  Pod: core('Pod', 'pods'),
  Namespace: core('Namespace', 'namespaces', false),
  PodDisruptionBudget: {
    group: 'policy',
    version: 'v1',
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
    namespaced: true,
  },
  NetworkPolicy: {
    group: 'networking.k8s.io',
    version: 'v1',
    kind: 'NetworkPolicy',
    plural: 'networkpolicies',
    namespaced: true,
  },
  HorizontalPodAutoscaler: {
    group: 'autoscaling',
    version: 'v2',
    kind: 'HorizontalPodAutoscaler',
    plural: 'horizontalpodautoscalers',
    namespaced: true,
  },
  Lease: { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease', plural: 'leases', namespaced: true },
  Event: { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', namespaced: true },
  GatewayClass: {
    group: 'gateway.networking.k8s.io',
    version: 'v1',
    kind: 'GatewayClass',
    plural: 'gatewayclasses',
    namespaced: false,
  },
  Gateway: { group: 'gateway.networking.k8s.io', version: 'v1', kind: 'Gateway', plural: 'gateways', namespaced: true },
  HTTPRoute: {
    group: 'gateway.networking.k8s.io',
    version: 'v1',
    kind: 'HTTPRoute',
    plural: 'httproutes',
    namespaced: true,
  },
  ProxyBackend: {
    group: 'gateway.proxy',
    version: 'v1alpha1',
    kind: 'ProxyBackend',
    plural: 'proxybackends',
    namespaced: true,
  },
  ProxyPolicy: {
    group: 'gateway.proxy',
    version: 'v1alpha1',
    kind: 'ProxyPolicy',
    plural: 'proxypolicies',
    namespaced: true,
  },
  InferencePool: {
    group: 'inference.networking.k8s.io',
    version: 'v1',
    kind: 'InferencePool',
    plural: 'inferencepools',
    namespaced: true,
  },
} as const satisfies Readonly<Record<string, ResourceType>>;

/** `v1`, `apps/v1`. */
export function formatApiVersion({ group, version }: ResourceType): string {
  return group === '' ? version : `${group}/${version}`;
}
