// A Kubernetes source on the fake API server, objects to put there, and what the source should show of them.
import { isDeepStrictEqual } from 'node:util';
import { type Extension, type Kind, listKinds } from '../../src/api/kinds.ts';
import { type LabelSelector, matchesLabels } from '../../src/api/label-selector.ts';
import type { Resources } from '../../src/api/resources.ts';
import { silentLog } from '../../src/base/log.ts';
import type { ManualClock } from '../kit/manual-clock.ts';
import type { KubernetesObject } from '../../src/kubernetes/client.ts';
import { cacheObject } from '../../src/sources/kubernetes/cached-object.ts';
import {
  type KubernetesSource,
  type KubernetesSourceOptions,
  type NamespaceSelector,
  startKubernetesSource,
} from '../../src/sources/kubernetes/kubernetes-source.ts';
import { watchedKindsByName } from '../../src/sources/kubernetes/watched-kinds.ts';
import { collectResources, type SnapshotEntry } from '../../src/sources/resource-snapshot.ts';
import type { Cleanup, FakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

/** No waiting: retries at once, and changes are told as soon as the event loop turns. */
export const quickTiming = { firstRetryMs: 1, maxRetryMs: 4, lookAgainMs: 2, confirmMs: 1, settleMs: 0 };

export const installationNamespace = 'proxy-system';

/** Starts a source that stops with the test. */
export function startSource(
  context: Cleanup,
  cluster: FakeApiServer,
  options: Partial<KubernetesSourceOptions> = {},
): KubernetesSource {
  const source = startKubernetesSource({
    client: cluster.connect(),
    log: silentLog,
    namespaceSelectors: [],
    installationNamespace,
    timing: quickTiming,
    ...options,
  });
  context.after(() => source.stop());
  return source;
}

/** Objects of every kind that matters, small and valid. */
export const make = {
  namespace: (name: string, labels: Record<string, string> = {}) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name, ...labels } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }),
  gatewayClass: (name: string) => ({
    kind: 'GatewayClass',
    metadata: { name },
    spec: { controllerName: 'gateway.proxy/controller' },
  }),
  gateway: (name: string, namespace = 'default') => ({
    kind: 'Gateway',
    metadata: { name, namespace },
    spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
  }),
  route: (name: string, namespace = 'default', hostname = 'a.example.com') => ({
    kind: 'HTTPRoute',
    metadata: { name, namespace },
    spec: { parentRefs: [{ name: 'web' }], hostnames: [hostname] },
  }),
  policy: (name: string, namespace = 'default', route = name) => ({
    kind: 'ProxyPolicy',
    metadata: { name, namespace },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: route }],
      traffic: { authorization: { policy: { matchExpressions: ['request.method == "GET"'] } } },
    },
  }),
  parameters: (name: string, namespace = 'default') => ({
    kind: 'GatewayParameters',
    metadata: { name, namespace },
    spec: {},
  }),
  service: (name: string, namespace = 'default') => ({
    kind: 'Service',
    metadata: { name, namespace },
    spec: { clusterIP: '10.96.0.1', ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }] },
  }),
  secret: (name: string, namespace = 'default', type = 'Opaque') => ({
    kind: 'Secret',
    type,
    metadata: { name, namespace },
    data: { key: 'dmFsdWU=' },
  }),
  configMap: (name: string, namespace = 'default') => ({
    kind: 'ConfigMap',
    metadata: { name, namespace },
    data: { 'ca.crt': name, other: 'x' },
  }),
  grant: (name: string, namespace = 'default') => ({
    kind: 'ReferenceGrant',
    metadata: { name, namespace },
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'x' }],
      to: [{ group: '', kind: 'Service' }],
    },
  }),
};

/** A pool of the pods with `app: NAME`, and one of them. */
export const makeInference = {
  pool: (name: string, namespace = 'default') => ({
    apiVersion: 'inference.networking.k8s.io/v1',
    kind: 'InferencePool',
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: { app: name } },
      targetPorts: [{ number: 8000 }],
      endpointPickerRef: { name: `${name}-picker`, port: { number: 9002 } },
    },
  }),
  pod: (name: string, namespace = 'default', ready: 'True' | 'False' = 'True') => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: 'model' } },
    spec: { nodeName: 'node-1', containers: [{ name: 'model', image: 'model' }] },
    status: {
      phase: 'Running',
      podIP: '10.0.0.7',
      podIPs: [{ ip: '10.0.0.7' }],
      startTime: '2026-01-01T00:00:00Z',
      containerStatuses: [{ name: 'model', ready: ready === 'True', restartCount: 0 }],
      conditions: [
        { type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' },
        { type: 'Ready', status: ready, lastProbeTime: null, lastTransitionTime: '2026-01-01T00:00:01Z' },
      ],
    },
  }),
};

const installationKinds = new Set(['Secret', 'ConfigMap', 'GatewayParameters']);
const ignoredSecrets = /^(helm\.sh\/release\.v1|kubernetes\.io\/(service-account-token|dockercfg|dockerconfigjson))$/;

/** What a source should show of a cluster: worked out from scratch. */
export function expectResources(
  cluster: FakeApiServer,
  selectors: readonly NamespaceSelector[] = [],
  extensions: readonly Extension[] = [],
): Resources {
  const selected = new Set(
    cluster
      .list('Namespace')
      .filter(({ metadata }) =>
        selectors.some((selector) => matchesLabels(selector as LabelSelector, metadata.labels ?? {})),
      )
      .map(({ metadata }) => metadata.name),
  );
  const isShown = (kind: Kind, { metadata, ...rest }: KubernetesObject): boolean => {
    if (kind === 'Secret' && ignoredSecrets.test(String(rest['type']))) return false;
    if (kind === 'Pod' && (rest['status'] as { phase?: unknown } | undefined)?.phase !== 'Running') return false;
    if (selectors.length === 0 || kind === 'GatewayClass') return true;
    if (kind === 'Namespace') return selected.has(metadata.name);
    if (selected.has(metadata.namespace!)) return true;
    return metadata.namespace === installationNamespace && installationKinds.has(kind);
  };
  const entries = listKinds(extensions).flatMap((kind) =>
    listOrNone(cluster, kind)
      .filter((object) => isShown(kind, object))
      .map((object): SnapshotEntry<undefined> => {
        const { outcome } = cacheObject(watchedKindsByName.get(kind)!, metadataOnlyIf(kind, object), undefined);
        const identity = { kind, namespace: object.metadata.namespace ?? '', name: object.metadata.name };
        if (outcome.state === 'invalid')
          return { state: 'invalid', identity, invalid: outcome.invalid, place: undefined };
        const resource = { ok: true, kind, resource: outcome.resource } as never;
        return { state: 'valid', identity, resource, place: undefined };
      }),
  );
  return collectResources(entries).resources;
}

function metadataOnlyIf(kind: Kind, object: KubernetesObject): KubernetesObject {
  if (kind !== 'Namespace') return object;
  const { apiVersion = '', metadata } = object;
  return { apiVersion, kind, metadata };
}

/** A kind that is not installed has no objects. */
function listOrNone(cluster: FakeApiServer, kind: string): readonly KubernetesObject[] {
  return cluster.isInstalled(kind) ? cluster.list(kind) : [];
}

/** Waits until the source is synced and shows what it should. */
export async function untilEqual(
  source: KubernetesSource,
  cluster: FakeApiServer,
  selectors: readonly NamespaceSelector[] = [],
  extensions: readonly Extension[] = [],
): Promise<void> {
  const expect = (): Resources => expectResources(cluster, selectors, extensions);
  await waitFor(
    'the source shows what is in the cluster',
    () => source.sync.get().synced && isDeepStrictEqual(source.resources.get(), expect()),
    { describe: () => ({ shown: source.resources.get(), expected: expect() }) },
  );
}

/** Moves time on until a source that goes by the clock is synced and has nothing more to tell. */
export async function untilSynced(source: KubernetesSource, clock: ManualClock): Promise<void> {
  await waitFor('the source is synced', async () => {
    if (source.sync.get().synced) return true;
    await clock.advance(20);
    return false;
  });
  await clock.advance(40);
}
