// The resources that tests of the control plane apply, as short as people write them.
import { readNamespace } from './file-namespace.ts';

const gatewayApi = 'gateway.networking.k8s.io/v1';
const ownApi = 'gateway.proxy/v1alpha1';

/** A listener that takes every host, and routes of its own namespace. */
export const plainListener = { name: 'http', port: 80, protocol: 'HTTP' };

/** A Gateway of class proxy. */
export function createGateway(
  name: string,
  { namespace = readNamespace(), listeners = [plainListener], ...spec }: ResourceSpec & { listeners?: object[] } = {},
): object {
  return {
    apiVersion: gatewayApi,
    kind: 'Gateway',
    metadata: { name, namespace },
    spec: { gatewayClassName: 'proxy', listeners, ...spec },
  };
}

/** The spec of a resource, and where it is. */
export interface ResourceSpec {
  readonly namespace?: string;
  readonly [field: string]: unknown;
}

/** A reference to a Service. */
export const toService = (name: string, port = 80, rest: object = {}): object => ({ name, port, ...rest });

/** A reference to a ProxyBackend. */
export const toProxyBackend = (name: string): object => ({ group: 'gateway.proxy', kind: 'ProxyBackend', name });

/** A reference to an InferencePool. */
export const toInferencePool = (name: string, rest: object = {}): object => ({
  group: 'inference.networking.k8s.io',
  kind: 'InferencePool',
  name,
  ...rest,
});

/** A pool of the pods of a workload, whose endpoint picker is a Service. */
export function createInferencePool(
  name: string,
  {
    namespace = readNamespace(),
    app,
    port,
    picker,
  }: { namespace?: string; app: string; port: number; picker: PickerService },
): object {
  return {
    apiVersion: 'inference.networking.k8s.io/v1',
    kind: 'InferencePool',
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: { app } },
      targetPorts: [{ number: port }],
      endpointPickerRef: { name: picker.name, port: { number: picker.port } },
    },
  };
}

/** Where an endpoint picker is. */
export interface PickerService {
  readonly name: string;
  readonly port: number;
}

/** An HTTPRoute with one rule. */
export function createRoute(
  name: string,
  {
    namespace = readNamespace(),
    gateway = 'web',
    path = '/',
    to,
    ...spec
  }: ResourceSpec & { gateway?: string | object; path?: string; to: object },
): object {
  return {
    apiVersion: gatewayApi,
    kind: 'HTTPRoute',
    metadata: { name, namespace },
    spec: {
      parentRefs: [typeof gateway === 'string' ? { name: gateway } : gateway],
      rules: [{ matches: [{ path: { type: 'PathPrefix', value: path } }], backendRefs: [to] }],
      ...spec,
    },
  };
}

/** A ProxyBackend whose one target is a Service. */
export function createProxyBackend(
  name: string,
  { namespace = readNamespace(), service }: { namespace?: string; service: object },
): object {
  const backendRef = { path: '/mcp', ...service };
  return {
    apiVersion: ownApi,
    kind: 'ProxyBackend',
    metadata: { name, namespace },
    spec: { mcp: { targets: [{ name: 'server', backendRef }] } },
  };
}

/** A ProxyPolicy for one resource. */
export function createPolicy(
  name: string,
  target: { kind: 'Gateway' | 'HTTPRoute' | 'ProxyBackend'; name: string; sectionName?: string },
  spec: object,
  namespace = readNamespace(),
): object {
  const group = target.kind === 'ProxyBackend' ? 'gateway.proxy' : 'gateway.networking.k8s.io';
  return {
    apiVersion: ownApi,
    kind: 'ProxyPolicy',
    metadata: { name, namespace },
    spec: { targetRefs: [{ group, ...target }], ...spec },
  };
}

/** Lets resources of another namespace refer to Services or Secrets of this one. */
export function createGrant(
  name: string,
  namespace: string,
  from: { group: string; kind: string; namespace: string },
  to: 'Service' | 'Secret',
): object {
  return {
    apiVersion: gatewayApi,
    kind: 'ReferenceGrant',
    metadata: { name, namespace },
    spec: { from: [from], to: [{ group: '', kind: to }] },
  };
}

/** A namespace. */
export function createNamespace(name: string, labels: Readonly<Record<string, string>> = {}): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** A Secret with a certificate and its key, as cert-manager writes it. */
export function createTlsSecret(
  name: string,
  namespace: string,
  { cert, key }: { cert: string; key: string },
  ca?: string,
): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name, namespace },
    stringData: { 'tls.crt': cert, 'tls.key': key, ...(ca === undefined ? {} : { 'ca.crt': ca }) },
  };
}

/** A Deployment with one pod, and a Service on port 80 in front of it. */
export function createWorkload(
  name: string,
  {
    namespace = readNamespace(),
    container,
    port,
    ready,
  }: { namespace?: string; container: { image: string; [field: string]: unknown }; port: number; ready?: string },
): object[] {
  const labels = { app: name };
  const check = ready === undefined ? { tcpSocket: { port } } : { httpGet: { path: ready, port } };
  const readinessProbe = { ...check, periodSeconds: 1 };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name, readinessProbe, ...container }] } },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace },
      spec: { selector: labels, ports: [{ port: 80, targetPort: port }] },
    },
  ];
}

/** The conformance suite's echo server as a workload. */
export function createEcho(name: string, namespace = readNamespace()): object[] {
  const env = [
    { name: 'POD_NAME', value: name },
    { name: 'NAMESPACE', value: namespace },
  ];
  return createWorkload(name, { namespace, container: { image: 'echo-basic', env }, port: 3000 });
}

/** The sample MCP server as a workload; its image is `sampleMcpImages`. */
export function createSampleMcp(name: string, namespace = readNamespace()): object[] {
  return createWorkload(name, { namespace, container: { image: 'sample-mcp' }, port: 8080 });
}
