// Where resources are in the API, by kind and name.
import { readNamespace } from './file-namespace.ts';

/** Names a resource. */
export interface ResourceName {
  readonly kind: string;
  readonly name: string;
  /** Absent: that of the file of tests, for kinds that have one. */
  readonly namespace?: string;
}

/** By kind: the API and, for kinds of the whole cluster, a note of that. */
const places: Readonly<Record<string, readonly [api: string, plural: string, isOfCluster?: true]>> = {
  ConfigMap: ['/api/v1', 'configmaps'],
  Deployment: ['/apis/apps/v1', 'deployments'],
  Gateway: ['/apis/gateway.networking.k8s.io/v1', 'gateways'],
  GatewayClass: ['/apis/gateway.networking.k8s.io/v1', 'gatewayclasses', true],
  GatewayParameters: ['/apis/gateway.proxy/v1alpha1', 'gatewayparameters'],
  HorizontalPodAutoscaler: ['/apis/autoscaling/v2', 'horizontalpodautoscalers'],
  HTTPRoute: ['/apis/gateway.networking.k8s.io/v1', 'httproutes'],
  Job: ['/apis/batch/v1', 'jobs'],
  InferencePool: ['/apis/inference.networking.k8s.io/v1', 'inferencepools'],
  Lease: ['/apis/coordination.k8s.io/v1', 'leases'],
  Namespace: ['/api/v1', 'namespaces', true],
  NetworkPolicy: ['/apis/networking.k8s.io/v1', 'networkpolicies'],
  Pod: ['/api/v1', 'pods'],
  PodDisruptionBudget: ['/apis/policy/v1', 'poddisruptionbudgets'],
  ProxyBackend: ['/apis/gateway.proxy/v1alpha1', 'proxybackends'],
  ProxyPolicy: ['/apis/gateway.proxy/v1alpha1', 'proxypolicies'],
  ReferenceGrant: ['/apis/gateway.networking.k8s.io/v1', 'referencegrants'],
  ReplicaSet: ['/apis/apps/v1', 'replicasets'],
  Secret: ['/api/v1', 'secrets'],
  Service: ['/api/v1', 'services'],
  ServiceAccount: ['/api/v1', 'serviceaccounts'],
};

/** The path of all resources of a kind, in all namespaces or one. */
export function locateResources(kind: string, namespace?: string): string {
  const place = places[kind];
  if (place === undefined) throw new Error(`resource-paths.ts does not know the kind ${kind}`);
  const [api, plural] = place;
  return namespace === undefined ? `${api}/${plural}` : `${api}/namespaces/${namespace}/${plural}`;
}

/** The path of one resource. */
export function locateResource({ kind, name, namespace = readNamespace() }: ResourceName): string {
  return `${locateResources(kind, places[kind]?.[2] === true ? undefined : namespace)}/${name}`;
}
