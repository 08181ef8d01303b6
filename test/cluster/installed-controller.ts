// Installs the controller into a test cluster from the chart, with its own ServiceAccount and rights, and nobody else's.
import { renderChart, type Values } from '../chart/helm.ts';
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import type { PodObject } from './observed-pod.ts';
import { locateResources } from './resource-paths.ts';

/** What differs from the chart's defaults. */
export interface ControllerInstallation {
  readonly replicas?: number;
  readonly values?: Values;
  /** Variables of the controller by name, in place of those that the chart sets. */
  readonly environment?: Readonly<Record<string, string>>;
  /** False: it cannot be ready yet. */
  readonly waitsUntilReady?: boolean;
}

/** The namespace that everything is in. */
export const installationNamespace = 'proxy-system';

const deploymentPath = `/apis/apps/v1/namespaces/${installationNamespace}/deployments/proxy`;

interface Deployment extends ApiObject {
  readonly spec: { readonly replicas: number };
  readonly status: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}

/** Installs the controller, or changes it to what is asked for now. */
export async function installController(
  cluster: Cluster,
  { replicas = 1, values = {}, environment = {}, waitsUntilReady = true }: ControllerInstallation = {},
): Promise<InstalledController> {
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: installationNamespace } });
  const own = [
    ['--set', `controller.replicaCount=${replicas},image.registry=,image.tag=test`],
    ['--set-json', `controller.extraEnv=${JSON.stringify(environment)}`],
  ];
  await cluster.apply(await render(values, own.flat()));
  const controller = new InstalledController(cluster);
  if (waitsUntilReady) await controller.waitUntilReady();
  return controller;
}

/** Everything that the chart can have: whatever a file has installed is among it. */
const allValues: Values = {
  controller: { podDisruptionBudget: { minAvailable: 1 } },
  inferenceExtension: { enabled: true },
  networkPolicy: { enabled: true },
  rbac: { aggregateRoles: true },
};

/** Removes the controller, if there is one, and waits until it has ended. What it has deployed stays. */
export async function removeController(cluster: Cluster): Promise<void> {
  await cluster.delete(await render(allValues, []));
  const controller = new InstalledController(cluster);
  await cluster.waitFor(async () => (await controller.listPods()).length === 0, { what: 'no controller is left' });
}

/** What an installation leaves behind in its namespace, releases of helm included. */
const leftKinds = ['Secret', 'ConfigMap', 'Lease', 'GatewayParameters', 'Pod'];

/** As if nothing but the CRDs had ever been installed: for files that share a cluster and install charts themselves, or look for what is not there. */
export async function clearInstallation(cluster: Cluster): Promise<void> {
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: installationNamespace } });
  await removeController(cluster);
  // Those of an earlier file do not work any more, and have nothing to end in good order.
  const options = { gracePeriodSeconds: 0 };
  for (const kind of leftKinds) await cluster.api.delete(locateResources(kind, installationNamespace), options);
  await cluster.delete({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'proxy' },
  });
  await cluster.waitFor(
    async () => (await cluster.api.list(locateResources('Pod', installationNamespace))).length === 0,
    { what: `no pods are left in ${installationNamespace}` },
  );
}

async function render(values: Values, args: readonly string[]): Promise<string> {
  const { text } = await renderChart(values, { namespace: installationNamespace, args: ['--skip-tests', ...args] });
  return text;
}

/** What `/readyz` says. */
export interface Readiness {
  readonly ready: boolean;
  readonly [check: string]: unknown;
}

/** The controller in a cluster. */
export class InstalledController {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Waits until as many pods as asked for are there, all as they are to be, and no others. */
  async waitUntilReady(): Promise<void> {
    await this.#cluster.waitForObject<Deployment>(
      deploymentPath,
      ({ metadata, spec, status }) =>
        status.observedGeneration === metadata.generation &&
        [status.replicas, status.updatedReplicas, status.availableReplicas].every((count) => count === spec.replicas),
      { what: 'all replicas of the controller are ready', timeoutMs: 120_000 },
    );
  }

  /** The pods that are not on their way out. */
  async listPods(): Promise<readonly PodObject[]> {
    const pods = await this.#cluster.api.list<PodObject>(`/api/v1/namespaces/${installationNamespace}/pods`);
    return pods.filter(
      ({ metadata }) =>
        metadata.labels?.['app.kubernetes.io/component'] === 'controller' && metadata.deletionTimestamp === undefined,
    );
  }

  /** The address of the first pod that has one. */
  async findAddress(): Promise<string> {
    return this.#cluster.waitFor(
      async () => (await this.listPods()).map(({ status }) => status.podIP).find((ip) => ip !== undefined),
      { what: 'a pod of the controller has an address' },
    );
  }

  /** What the first pod says about itself. */
  async readReadiness(): Promise<Readiness> {
    const answer = await fetch(`http://${await this.findAddress()}:9093/readyz`);
    return (await answer.json()) as Readiness;
  }

  /** The sum of a metric over all pods; `labels` as they are written: `reason="unauthenticated"`. */
  async readMetric(name: string, labels = ''): Promise<number> {
    let sum = 0;
    for (const { status } of await this.listPods()) {
      const text = await (await fetch(`http://${status.podIP ?? ''}:9092/metrics`)).text();
      for (const line of text.split('\n')) {
        const [, found, inside = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
        if (found === name && inside.includes(labels)) sum += Number(value);
      }
    }
    return sum;
  }

  /** What all pods have logged. */
  async readLogs(): Promise<string> {
    const pods = await this.listPods();
    const logs = await Promise.all(
      pods.map(({ metadata }) => this.#cluster.logs(installationNamespace, metadata.name)),
    );
    return logs.join('');
  }
}
