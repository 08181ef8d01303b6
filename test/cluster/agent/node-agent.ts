// The node: it takes every pod that wants to run, runs it, and tells the API server how it is. kubelet, scheduler, kube-proxy and
// cluster DNS in one, as small as the tests allow.
import { join } from 'node:path';
import { type ApiClient, ApiError, type ApiObject } from '../api-client.ts';
import type { ClusterAddresses } from '../cluster-addresses.ts';
import type { ImageTable } from '../image-table.ts';
import type { NodeNetwork } from '../supervisor/node-network.ts';
import type { ContainerName } from '../supervisor-commands.ts';
import type { ContainerProcess } from './container-process.ts';
import { ContentReader } from './content-reader.ts';
import { logServerPort, startLogServer } from './log-server.ts';
import { ObjectCache } from './object-cache.ts';
import type { Pod } from './pod.ts';
import { PodWorker } from './pod-worker.ts';
import { ServiceNetwork } from './service-network.ts';

/** What the node needs. */
export interface NodeAgentOptions {
  readonly client: ApiClient;
  readonly network: NodeNetwork;
  readonly addresses: ClusterAddresses;
  readonly stateFolder: string;
  readonly logFolder: string;
  readonly images: ImageTable;
  readonly onProblem: (text: string) => void;
}

/** The name of the one node. */
export const nodeName = 'node-1';

const labels: Readonly<Record<string, string>> = {
  'kubernetes.io/hostname': nodeName,
  'kubernetes.io/os': 'linux',
  'kubernetes.io/arch': process.arch === 'x64' ? 'amd64' : process.arch,
};
const tokenInterval = 5000;

/** The node's agent. */
export class NodeAgent {
  readonly serviceNetwork: ServiceNetwork;
  readonly #options: NodeAgentOptions;
  readonly #content: ContentReader;
  readonly #pods: ObjectCache<Pod & ApiObject>;
  readonly #workers = new Map<string, PodWorker>();
  readonly #binding = new Set<string>();
  #images: ImageTable;

  constructor(options: NodeAgentOptions) {
    const { client, addresses } = options;
    const { signal } = new AbortController();
    this.#options = options;
    this.#images = options.images;
    this.#content = new ContentReader(client, signal);
    this.#pods = new ObjectCache(client, '/api/v1/pods', signal);
    this.serviceNetwork = new ServiceNetwork({
      client,
      addresses,
      signal,
      onNames: () => this.#forEachWorker((worker) => worker.refreshHosts()),
      onProblem: options.onProblem,
    });
  }

  /** Registers the node and begins to run pods. */
  async start(): Promise<void> {
    await startLogServer(this.#options.addresses.node, this.#options.logFolder);
    await this.#register();
    await this.serviceNetwork.start();
    this.#content.onChange((namespace) =>
      this.#forEachWorker(async (worker) => {
        if (worker.pod.metadata.namespace === namespace) await worker.refreshVolumes();
      }),
    );
    setInterval(() => this.#forEachWorker((worker) => worker.refreshTokens(false)), tokenInterval);
    await this.#pods.waitSynced();
    this.#pods.subscribe((_, pod) => (pod === undefined ? this.#dropMissing() : this.#hear(pod)));
  }

  addImages(images: ImageTable): void {
    this.#images = { ...this.#images, ...images };
  }

  /** Renews the tokens of all pods now. */
  async renewTokens(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.refreshTokens(true)));
  }

  /** The process of a running container. */
  findProcess({ namespace, pod, container }: ContainerName): ContainerProcess {
    const worker = [...this.#workers.values()].find(
      ({ pod: { metadata } }) => metadata.namespace === namespace && metadata.name === pod,
    );
    const runner = worker?.findContainer(container);
    if (worker === undefined || runner === undefined) {
      throw new Error(`There is no container ${container ?? ''} of a pod ${namespace}/${pod} on the node.`);
    }
    if (runner.process === undefined) throw new Error(`The container of ${namespace}/${pod} does not run now.`);
    return runner.process;
  }

  #hear(pod: Pod): void {
    const { uid = '' } = pod.metadata;
    const worker = this.#workers.get(uid);
    if (worker !== undefined) return worker.update(pod);
    // A pod of the same name that came before may be gone from the API already.
    this.#dropMissing();
    const { phase } = (pod.status ?? {}) as { phase?: string };
    if (phase === 'Succeeded' || phase === 'Failed') return;
    if (pod.spec.nodeName === undefined) {
      if (pod.metadata.deletionTimestamp === undefined) void this.#bind(pod);
      return;
    }
    if (pod.spec.nodeName !== nodeName) return;
    const created = new PodWorker(pod, {
      ...this.#options,
      nodeName,
      content: this.#content,
      readImages: () => this.#images,
      readNames: () => this.serviceNetwork.readNames(),
      recordEvent: (about, reason, message) => void this.#recordEvent(about, reason, message),
    });
    this.#workers.set(uid, created);
    void created.ended.then(() => this.#workers.delete(uid));
    if (pod.metadata.deletionTimestamp !== undefined) created.update(pod);
  }

  #dropMissing(): void {
    for (const [uid, worker] of this.#workers) {
      const { namespace, name } = worker.pod.metadata;
      if (this.#pods.get(`${namespace}/${name}`)?.metadata.uid !== uid) worker.drop();
    }
  }

  /** The scheduler: there is one node, and it has room. */
  async #bind(pod: Pod): Promise<void> {
    const { namespace, name, uid = '' } = pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    if ((pod.spec.schedulerName ?? 'default-scheduler') !== 'default-scheduler' || this.#binding.has(uid)) return;
    this.#binding.add(uid);
    try {
      const isSuitable = Object.entries(pod.spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
      if (isSuitable) {
        const target = { apiVersion: 'v1', kind: 'Node', name: nodeName };
        await this.#options.client.create(`${path}/binding`, { metadata: { name, uid }, target });
        return;
      }
      const conditions = (pod.status?.['conditions'] ?? []) as readonly { readonly reason?: string }[];
      if (conditions.some(({ reason }) => reason === 'Unschedulable')) return;
      const message = "0/1 nodes are available: 1 node(s) didn't match the pod's node selector.";
      const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
      await this.#options.client.patch(`${path}/status`, { status: { conditions: [condition] } });
    } catch (error) {
      if (error instanceof ApiError && [404, 409].includes(error.status)) return;
      // The API server is away: the list after that brings the pod again, unless it is the same version.
      setTimeout(() => {
        const current = this.#pods.get(`${namespace}/${name}`);
        if (current !== undefined) this.#hear(current);
      }, 500);
    } finally {
      this.#binding.delete(uid);
    }
  }

  async #register(): Promise<void> {
    const { client, addresses } = this.#options;
    await client.create('/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: nodeName, labels },
      spec: { podCIDR: addresses.podRange },
    });
    const capacity = { cpu: '64', memory: '256Gi', pods: '3000', 'ephemeral-storage': '1Ti' };
    await client.patch(`/api/v1/nodes/${nodeName}/status`, {
      status: {
        capacity,
        allocatable: capacity,
        addresses: [
          { type: 'InternalIP', address: addresses.node },
          { type: 'Hostname', address: nodeName },
        ],
        daemonEndpoints: { kubeletEndpoint: { Port: logServerPort } },
        conditions: [{ type: 'Ready', status: 'True', reason: 'AgentReady', message: 'the node agent runs' }],
      },
    });
    // A new node has this taint until the part of Kubernetes that would remove it has seen it; that part does not run here.
    await client.patch(`/api/v1/nodes/${nodeName}`, { spec: { taints: null } });
  }

  async #recordEvent(pod: Pod, reason: string, message: string): Promise<void> {
    const { namespace = '', name, uid } = pod.metadata;
    this.#options.onProblem(`${namespace}/${name}: ${reason}: ${message}`);
    const now = new Date().toISOString();
    const event = {
      metadata: { generateName: `${name}-`, namespace },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', name, namespace, uid },
      type: 'Warning',
      reason,
      message: message.slice(0, 1000),
      source: { component: 'node-agent' },
      reportingComponent: 'node-agent',
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    };
    await this.#options.client.create(`/api/v1/namespaces/${namespace}/events`, event).catch(() => undefined);
  }

  #forEachWorker(visit: (worker: PodWorker) => Promise<void>): void {
    for (const worker of this.#workers.values()) {
      visit(worker).catch((error: unknown) =>
        this.#options.onProblem(`A pod could not be refreshed: ${String(error)}`),
      );
    }
  }
}

/** Where the logs of pods go, below the folder of logs. */
export function locatePodLogs(logFolder: string): string {
  return join(logFolder, 'pods');
}
