// A controller in this process against a fake API server, and gateways that are only their xDS client.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHealth, type Health } from '../../src/base/health.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { createMetrics, type Metrics } from '../../src/base/metrics.ts';
import {
  type ControllerOptions,
  type RunningController,
  startController,
} from '../../src/controller/start-controller.ts';
import type { Configuration } from '../../src/ir/configuration.ts';
import type { KubernetesObject } from '../../src/kubernetes/client.ts';
import { type ApplyOutcome, startXdsClient, type XdsClient, type XdsClientOptions } from '../../src/xds/client.ts';
import { type Cleanup, type FakeApiServer, startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

export const controllerName = 'gateway.proxy/controller';
export const installation = 'proxy-system';

/** A token that says whose it is, as those of Kubernetes do, and is good for nothing else. */
export function makeToken(namespace: string, serviceAccount: string, pod: string, claims: object = {}): string {
  const payload = {
    sub: `system:serviceaccount:${namespace}:${serviceAccount}`,
    aud: ['proxy-xds'],
    'kubernetes.io': { pod: { name: pod } },
    ...claims,
  };
  return `e30.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.sign`;
}

/** A fake cluster that takes the tokens of `makeToken`. */
export async function startCluster(context: Cleanup): Promise<FakeApiServer> {
  const cluster = await startFakeApiServer(context);
  cluster.reviewToken = ({ token, audiences }) => {
    const [, payload = '', signature] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
      readonly sub: string;
      readonly exp?: number;
      readonly 'kubernetes.io': { readonly pod: { readonly name: string } };
    };
    if (signature !== 'sign') return { authenticated: false, error: 'unknown token' };
    if ((claims.exp ?? Infinity) * 1_000 < Date.now()) return { authenticated: false, error: 'token has expired' };
    return {
      authenticated: true,
      audiences,
      user: {
        username: claims.sub,
        extra: { 'authentication.kubernetes.io/pod-name': [claims['kubernetes.io'].pod.name] },
      },
    };
  };
  for (const name of [installation, 'team']) cluster.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return cluster;
}

export interface Replica extends RunningController {
  readonly health: Health;
  readonly metrics: Metrics;
  readonly podName: string;
  readonly stopOnce: () => Promise<void>;
}

/** Starts a replica that is stopped with the test. */
export async function startReplica(
  context: Cleanup,
  cluster: FakeApiServer,
  overrides: Partial<Omit<ControllerOptions, 'xds'>> & {
    readonly xds?: Partial<ControllerOptions['xds']>;
    readonly log?: Log;
  } = {},
): Promise<Replica> {
  const podName = overrides.podName ?? 'proxy-1';
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gateway-controller-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, `${makeToken(installation, 'proxy', podName)}\n`);
  putPod(cluster, installation, podName);
  const health = createHealth();
  const metrics = createMetrics();
  const { xds, ...rest } = overrides;
  const controller = await startController({
    client: cluster.connect(),
    log: silentLog,
    metrics,
    health,
    version: 'test',
    installationNamespace: installation,
    serviceName: 'proxy',
    podName,
    podAddress: '127.0.0.1',
    namespaceSelectors: [],
    classParameters: undefined,
    image: { registry: 'registry.example', repository: 'gateway', tag: 'test', pullPolicy: 'IfNotPresent' },
    imagePullSecrets: [],
    xds: { address: '127.0.0.1', port: 0, tlsFolder: undefined, tokenFile, verifyPodAddress: true, ...xds },
    ...rest,
  });
  let stopping: Promise<void> | undefined;
  const stopOnce = (): Promise<void> => (stopping ??= controller.stop());
  context.after(stopOnce);
  return { ...controller, health, metrics, podName, stopOnce };
}

/** A pod whose address is loopback's, where all connections of a test come from. */
export function putPod(cluster: FakeApiServer, namespace: string, name: string): void {
  cluster.put({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: { serviceAccountName: 'proxy' },
    status: { podIPs: [{ ip: '127.0.0.1' }] },
  });
}

export interface TestGateway {
  readonly nodeId: string;
  /** What it has in force. */
  readonly configuration: Configuration | undefined;
  readonly applied: number;
  readonly disconnects: readonly string[];
  readonly client: XdsClient;
  close(): Promise<void>;
}

export interface TestGatewayOptions {
  readonly port: number | (() => number);
  readonly gateway?: string;
  readonly nodeId?: string;
  readonly token?: string;
  readonly judge?: (configuration: Configuration) => ApplyOutcome['problems'];
  readonly client?: Partial<XdsClientOptions>;
}

/** A gateway process that takes whatever it is sent, unless `judge` finds problems. */
export function connectGateway(context: Cleanup, cluster: FakeApiServer, options: TestGatewayOptions): TestGateway {
  const gateway = options.gateway ?? 'team/edge';
  const [namespace = '', name = ''] = gateway.split('/');
  const nodeId = options.nodeId ?? `${name}-pod`;
  if (cluster.find('Pod', `${namespace}/${nodeId}`) === undefined) putPod(cluster, namespace, nodeId);
  const port = typeof options.port === 'number' ? options.port : options.port();
  let configuration: Configuration | undefined;
  let applied = 0;
  const disconnects: string[] = [];
  const client = startXdsClient({
    log: silentLog,
    server: `http://127.0.0.1:${port}`,
    readToken: () => Promise.resolve(options.token ?? makeToken(namespace, `${name}-proxy`, nodeId)),
    nodeId,
    gateway,
    version: 'test',
    apply: (next) => {
      configuration = next;
      applied += 1;
      return Promise.resolve({ problems: options.judge?.(next) ?? [] });
    },
    observer: {
      connected() {},
      disconnected: (reason) => void disconnects.push(reason),
      received() {},
      acknowledged() {},
      rejected() {},
    },
    ...options.client,
  });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= client.close());
  context.after(close);
  return {
    nodeId,
    get configuration() {
      return configuration;
    },
    get applied() {
      return applied;
    },
    disconnects,
    client,
    close,
  };
}

/** A Gateway with one HTTP listener that takes routes from its namespace. */
export function putGateway(cluster: FakeApiServer, fullName = 'team/edge', spec: object = {}): void {
  const [namespace, name] = fullName.split('/');
  cluster.put({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { namespace, name },
    spec: {
      gatewayClassName: 'proxy',
      listeners: [{ name: 'http', port: 80, protocol: 'HTTP', allowedRoutes: { namespaces: { from: 'All' } } }],
      ...spec,
    },
  });
}

/** A ProxyBackend, and a route to it. */
export function putRoute(cluster: FakeApiServer, fullName = 'team/tickets', gateway = 'team/edge'): void {
  const [namespace, name] = fullName.split('/');
  const [gatewayNamespace, gatewayName] = gateway.split('/');
  cluster.put({
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyBackend',
    metadata: { namespace, name },
    spec: { mcp: { targets: [{ name: 'main', static: { host: '127.0.0.1', port: 3001, path: '/mcp' } }] } },
  });
  cluster.put({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { namespace, name },
    spec: {
      parentRefs: [
        { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: gatewayNamespace, name: gatewayName },
      ],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: `/${name}` } }],
          backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name }],
        },
      ],
    },
  });
}

/** A policy on a route. */
export function putPolicy(
  cluster: FakeApiServer,
  fullName = 'team/cors',
  route = 'tickets',
  origin = 'https://a.example',
): void {
  const [namespace, name] = fullName.split('/');
  cluster.put({
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { namespace, name },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: route }],
      traffic: { cors: { allowOrigins: [origin] } },
    },
  });
}

/** What the cloud does for the Service that the controller made. */
export function giveAddress(cluster: FakeApiServer, name = 'team/edge-proxy', ip = '192.0.2.10'): void {
  cluster.change('Service', name, (service) => {
    service['status'] = { loadBalancer: { ingress: [{ ip }] } };
  });
}

/** Gives every Service of a Gateway its address as soon as it is there. */
export async function waitForService(cluster: FakeApiServer, name = 'team/edge-proxy'): Promise<void> {
  await waitFor(`Service ${name} is there`, () => cluster.find('Service', name));
  giveAddress(cluster, name);
}

interface SeenCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

/** The conditions of an object: of a Gateway its own, of a route or policy those of its first entry of ours. */
export function readConditions(object: KubernetesObject | undefined): Readonly<Record<string, SeenCondition>> {
  const status = (object?.['status'] ?? {}) as {
    readonly conditions?: readonly SeenCondition[];
    readonly parents?: readonly { readonly controllerName: string; readonly conditions: readonly SeenCondition[] }[];
    readonly ancestors?: readonly { readonly controllerName: string; readonly conditions: readonly SeenCondition[] }[];
  };
  const entries = status.parents ?? status.ancestors;
  const conditions = entries?.find((entry) => entry.controllerName === controllerName)?.conditions ?? status.conditions;
  return Object.fromEntries((conditions ?? []).map((condition) => [condition.type, condition]));
}

/** Waits for a condition of an object. */
export function waitForCondition(
  cluster: FakeApiServer,
  kind: string,
  name: string,
  type: string,
  status: string,
  reason?: string,
): Promise<SeenCondition> {
  return waitFor(`${kind} ${name} is ${type}=${status} ${reason ?? ''}`, () => {
    const condition = readConditions(cluster.find(kind, name))[type];
    return condition?.status === status && (reason === undefined || condition.reason === reason)
      ? condition
      : undefined;
  });
}

/** A gateway process, and everything else that a Gateway needs to become programmed. */
export async function programGateway(
  context: Cleanup,
  cluster: FakeApiServer,
  replica: Replica,
  options: Partial<TestGatewayOptions> = {},
): Promise<TestGateway> {
  await waitForService(cluster);
  const gateway = connectGateway(context, cluster, { port: replica.xdsPort, ...options });
  await waitForCondition(cluster, 'Gateway', 'team/edge', 'Programmed', 'True');
  return gateway;
}
