// A cluster that files of tests share: those that a namespace separates as well as a cluster would. Files run one after another in a process; the first one
// that joins starts the cluster, and it ends with the process.
import { ApiError } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { createNamespace } from './cluster-resources.ts';
import { readNamespace, releaseNamespace } from './file-namespace.ts';
import type { ImageTable } from './image-table.ts';
import { locateResource, locateResources } from './resource-paths.ts';
import { startCluster } from './start-cluster.ts';

/** What a file needs beside what every cluster has. */
export interface SharedClusterOptions {
  readonly images?: ImageTable;
  /** Labels of the file's own namespace. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Further namespaces that the file makes, which are cleared after it. */
  readonly furtherNamespaces?: readonly string[];
}

/** Kinds in the order in which they go: first what others refer from, so that nobody complains about what is missing. */
const clearedKinds = [
  'HTTPRoute',
  'ProxyPolicy',
  'ProxyBackend',
  'Gateway',
  'GatewayParameters',
  'ReferenceGrant',
  'InferencePool',
  'Deployment',
  'ReplicaSet',
  'Service',
  'Job',
  'Secret',
];

let starting: Promise<Cluster> | undefined;
let used: readonly string[] = [];

/** The cluster, with the namespace that the file has claimed. Call `leaveCluster` after the last test. */
export async function joinCluster(options: SharedClusterOptions = {}): Promise<Cluster> {
  starting ??= startShared();
  const cluster = await starting;
  cluster.setBinding(true);
  await waitUntilEmpty(cluster, used);
  used = [readNamespace(), ...(options.furtherNamespaces ?? [])];
  if (options.images !== undefined) await cluster.addImages(options.images);
  await cluster.apply(createNamespace(readNamespace(), options.labels));
  // Without it no pod can be made.
  await cluster.waitForObject(locateResource({ kind: 'ServiceAccount', name: 'default' }), () => true);
  return cluster;
}

async function startShared(): Promise<Cluster> {
  try {
    const cluster = await startCluster();
    process.once('beforeExit', () => void cluster.stop());
    return cluster;
  } catch (error) {
    // The next file may have more luck.
    starting = undefined;
    throw error;
  }
}

/**
 * Clears the namespaces of the file, and lets the process end when nobody else joins. The namespaces stay, empty: in one that goes away nothing can be
 * written, and the controller would be refused what it may do.
 */
export async function leaveCluster(): Promise<void> {
  releaseNamespace();
  const cluster = await starting;
  if (cluster === undefined) return;
  for (const kind of clearedKinds) await Promise.all(used.map((namespace) => clear(cluster, kind, namespace)));
  // Nobody uses them any more: they need no time to end.
  for (const namespace of used) await cluster.api.delete(locateResources('Pod', namespace), { gracePeriodSeconds: 0 });
  cluster.setBinding(false);
}

async function clear(cluster: Cluster, kind: string, namespace: string): Promise<void> {
  try {
    await cluster.api.delete(locateResources(kind, namespace), { propagationPolicy: 'Background' });
  } catch (error) {
    // Not every cluster has InferencePools.
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  }
}

/** Gateways of a file before that are on their way out still ask the controller. */
async function waitUntilEmpty(cluster: Cluster, namespaces: readonly string[]): Promise<void> {
  await cluster.waitFor(
    async () => {
      const pods = await Promise.all(
        namespaces.map((namespace) => cluster.api.list(locateResources('Pod', namespace))),
      );
      return pods.flat().length === 0;
    },
    { what: `no pods are left in ${namespaces.join(', ')}` },
  );
}
