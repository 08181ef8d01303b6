// What the controller has deployed for a Gateway, as a test sees it: its address, its pods, its objects.
import { createConnection } from 'node:net';
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { readNamespace } from './file-namespace.ts';
import { installationNamespace } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { locateResource, locateResources } from './resource-paths.ts';

interface GatewayObject extends ApiObject {
  readonly status?: { readonly addresses?: readonly { readonly value: string }[] };
}

/** The address in the status of a Gateway, once there is one. */
export async function waitForAddress(cluster: Cluster, name: string, namespace = readNamespace()): Promise<string> {
  const path = locateResource({ kind: 'Gateway', name, namespace });
  return cluster.waitFor(async () => (await cluster.api.get<GatewayObject>(path)).status?.addresses?.[0]?.value, {
    what: `Gateway ${namespace}/${name} has an address`,
    timeoutMs: 120_000,
  });
}

/** The same, once connections get through: the network follows what the API says with a small delay. */
export async function waitUntilReachable(
  cluster: Cluster,
  name: string,
  namespace = readNamespace(),
  port = 80,
): Promise<string> {
  const address = await waitForAddress(cluster, name, namespace);
  await cluster.waitFor(() => connect(address, port), { what: `${address}:${port} takes connections` });
  return address;
}

function connect(host: string, port: number): Promise<true> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host, port, timeout: 5_000 });
    socket.on('timeout', () => socket.destroy(new Error('no connection within 5 s')));
    socket.on('error', reject);
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

const nameLabel = 'gateway.networking.k8s.io/gateway-name';

/** The pods of a Gateway that are not on their way out. */
export async function listGatewayPods(
  cluster: Cluster,
  name: string,
  namespace = readNamespace(),
): Promise<readonly PodObject[]> {
  const pods = await cluster.api.list<PodObject>(locateResources('Pod', namespace));
  return pods.filter(
    ({ metadata }) => metadata.labels?.[nameLabel] === name && metadata.deletionTimestamp === undefined,
  );
}

/** Waits until a Gateway has a pod that is Ready, and returns it. */
export function waitForGatewayPod(cluster: Cluster, name: string, namespace = readNamespace()): Promise<PodObject> {
  return cluster.waitFor(
    async () =>
      (await listGatewayPods(cluster, name, namespace)).find(({ status }) =>
        status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True'),
      ),
    { what: `Gateway ${namespace}/${name} has a pod that is Ready`, timeoutMs: 120_000 },
  );
}

/** What is deployed for a Gateway of a name, in its namespace and in that of the controller: `Deployment web-proxy`. */
export async function listDeployed(
  cluster: Cluster,
  name: string,
  namespace = readNamespace(),
): Promise<readonly string[]> {
  const kinds = ['Deployment', 'ReplicaSet', 'Service', 'ServiceAccount', 'ConfigMap', 'Pod'];
  const found: string[] = [];
  for (const kind of kinds) {
    const objects = await cluster.api.list(locateResources(kind, namespace));
    const own = objects.filter(
      ({ metadata }) =>
        metadata.labels?.[nameLabel] === name ||
        metadata.ownerReferences?.some((owner) => owner.kind === 'Gateway' && owner.name === name),
    );
    found.push(...own.map(({ metadata }) => `${kind} ${metadata.name}`));
  }
  const secrets = await cluster.api.list(locateResources('Secret', installationNamespace));
  const sealKeys = secrets.filter(
    ({ metadata }) =>
      metadata.labels?.['gateway.proxy/seal-keys'] === 'true' &&
      Object.values(metadata.annotations ?? {}).includes(`${namespace}/${name}`),
  );
  return [...found, ...sealKeys.map(() => 'Secret with seal keys')];
}
