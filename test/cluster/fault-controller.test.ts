// The controller dies, hangs, and is away while a gateway starts again, all under a steady load. Expected each time: no request fails but those that reach
// a pod in which no process is up, no stranger is let through, and afterwards a change is enforced and told.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ApiError, type ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { installationNamespace, installController, type InstalledController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { deployProtectedGateway, type ProtectedGateway } from './protected-gateway.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const home = claimNamespace('fault-controller');
let cluster: Cluster;
let controller: InstalledController;
let gateway: ProtectedGateway;

before(async () => {
  cluster = await joinCluster();
  controller = await installController(cluster);
  gateway = await deployProtectedGateway(cluster, 2);
});
after(leaveCluster);

const locateController = ({ metadata }: PodObject): { namespace: string; pod: string } => ({
  namespace: installationNamespace,
  pod: metadata.name,
});

const countRestarts = ({ status }: PodObject): number => status.containerStatuses?.[0]?.restartCount ?? 0;

/** Waits until the container of a pod was started again, and is ready. */
async function waitForRestart(seen: PodObject): Promise<void> {
  const { name, namespace = '' } = seen.metadata;
  await cluster.waitForObject<PodObject>(
    locateResource({ kind: 'Pod', name, namespace }),
    (pod) => countRestarts(pod) > countRestarts(seen) && pod.status.containerStatuses?.[0]?.ready === true,
    { what: `the container of ${name} runs again` },
  );
}

/** Who holds the Lease. */
async function findLeader(): Promise<PodObject | undefined> {
  const lease = await cluster.api.get<ApiObject & { spec: { holderIdentity?: string } }>(
    `/apis/coordination.k8s.io/v1/namespaces/${installationNamespace}/leases/proxy-controller`,
  );
  return (await controller.listPods()).find(({ metadata }) => metadata.name === lease.spec.holderIdentity);
}

const waitForOtherLeader = (previous: PodObject): Promise<PodObject> =>
  cluster.waitFor(
    async () => {
      const leader = await findLeader();
      return leader?.metadata.name === previous.metadata.name ? undefined : leader;
    },
    { what: 'another replica leads' },
  );

test('the controller is killed and comes back', async (t) => {
  const load = await gateway.startLoad(t);
  const [pod] = await controller.listPods();
  await cluster.signalContainer(locateController(pod!), 'SIGKILL');
  const change = await gateway.change();
  await waitForRestart(pod!);
  await gateway.expectChange(t, change);
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});

test('the leader among two is gone from one moment to the next: the other leads, and statuses go on', async (t) => {
  await installController(cluster, { replicas: 2 });
  const load = await gateway.startLoad(t);
  const leader = await cluster.waitFor(findLeader, { what: 'a replica leads' });
  // As when its node is lost: it gives nothing back.
  await cluster.signalContainer(locateController(leader), 'SIGSTOP');
  await cluster.api.delete(
    locateResource({ kind: 'Pod', name: leader.metadata.name, namespace: installationNamespace }),
    { gracePeriodSeconds: 0 },
  );
  await gateway.proveChange(t);
  await waitForOtherLeader(leader);
  await gateway.expectUnharmed(t, load);
  await controller.waitUntilReady();
});

test('the leader among two hangs: the other leads, and the first one finds that out when it goes on', async (t) => {
  await installController(cluster, { replicas: 2 });
  const load = await gateway.startLoad(t);
  const leader = await cluster.waitFor(findLeader, { what: 'a replica leads' });
  await cluster.signalContainer(locateController(leader), 'SIGSTOP');
  await gateway.proveChange(t);
  const next = await waitForOtherLeader(leader);
  await cluster.signalContainer(locateController(leader), 'SIGCONT');
  await cluster.waitFor(async () => (await controller.readMetric('mcp_gateway_controller_leader')) === 1, {
    what: 'one replica believes to lead',
  });
  assert.equal((await findLeader())?.metadata.name, next.metadata.name);
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});

async function sendControllerAway(): Promise<void> {
  await installController(cluster, { replicas: 0, waitsUntilReady: false });
  await cluster.waitFor(
    async () => (await cluster.api.list(`/api/v1/namespaces/${installationNamespace}/pods`)).length === 0,
    { what: 'no controller is left' },
  );
}

interface Deployment extends ApiObject {
  readonly spec: { readonly replicas: number };
  readonly status: { readonly updatedReplicas?: number; readonly replicas?: number; readonly readyReplicas?: number };
}

const isReady = ({ status }: PodObject): boolean => status.containerStatuses?.[0]?.ready === true;

/** Waits until there is a pod that is none of these. Without a controller it has nothing to serve, and must not get traffic. */
async function waitForUnreadyPod(known: readonly PodObject[]): Promise<void> {
  const names = new Set(known.map(({ metadata }) => metadata.name));
  await cluster.waitFor(
    async () => {
      const next = (await gateway.listPods()).find(({ metadata }) => !names.has(metadata.name));
      return next?.status.containerStatuses?.[0]?.state['running'] !== undefined && !isReady(next);
    },
    { what: 'the next pod waits for the controller' },
  );
}

/** Ways to restart a gateway in order, each until it has happened as far as it can without a controller. */
const orderlyRestarts: Readonly<Record<string, (pods: readonly PodObject[]) => Promise<void>>> = {
  async 'the container of one of two gateways is restarted in order'([pod]) {
    const { name } = pod!.metadata;
    await cluster.signalContainer({ namespace: home, pod: name }, 'SIGTERM');
    await waitForRestart(pod!);
    assert.match(await cluster.logs(home, name), /"shutting down".*"stopped".*serving what the snapshot file has/s);
  },
  async 'the pod of one of two gateways is deleted'(pods) {
    const path = locateResource({ kind: 'Pod', name: pods[0]!.metadata.name });
    await cluster.api.delete(path);
    await cluster.waitFor(
      async () => (await gateway.listPods()).every(({ metadata }) => metadata.uid !== pods[0]!.metadata.uid),
      { what: 'the pod is on its way out' },
    );
    await waitForUnreadyPod(pods);
    await cluster.waitFor(async () => (await findPod(path)) === undefined, { what: 'the pod is gone' });
  },
  async 'the Deployment of two gateways is restarted'(pods) {
    await cluster.kubectl(['rollout', 'restart', 'deployment/web-proxy']);
    await waitForUnreadyPod(pods);
    const names = (await gateway.listPods()).filter(isReady).map(({ metadata }) => metadata.name);
    assert.deepEqual(names.toSorted(), pods.map(({ metadata }) => metadata.name).toSorted(), 'both go on');
  },
};

async function findPod(path: string): Promise<PodObject | undefined> {
  try {
    return await cluster.api.get<PodObject>(path);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

for (const [what, restart] of Object.entries(orderlyRestarts))
  test(`${what} while the controller is away: nobody notices`, async (t) => {
    await installController(cluster);
    await gateway.proveChange(t);
    const load = await gateway.startLoad(t);
    await sendControllerAway();
    await restart(await gateway.listPods());
    await load.waitForMore(100);
    assert.deepEqual(load.failures, []);
    await installController(cluster);
    await cluster.waitForObject<Deployment>(
      `/apis/apps/v1/namespaces/${home}/deployments/web-proxy`,
      ({ spec, status }) =>
        [status.replicas, status.updatedReplicas, status.readyReplicas].every((count) => count === spec.replicas),
      { what: 'all gateways are ready' },
    );
    await gateway.proveChange(t);
    await gateway.expectUnharmed(t, load);
  });

const failsToReach = (failure: string): boolean => /^\S+ (ECONNREFUSED|ECONNRESET|EPIPE) /.test(failure);

/** Kills the process of a gateway pod, and waits until the next one serves and the load balancer knows it. Returns how long there was none. */
async function killGateway(pod: PodObject): Promise<number> {
  const killedAt = performance.now();
  await cluster.signalContainer({ namespace: home, pod: pod.metadata.name }, 'SIGKILL');
  const wait = (address: string): Promise<boolean> =>
    cluster.waitFor(async () => (await gateway.ask(address)) === 401, {
      what: `the gateway serves again at ${address}`,
    });
  await wait(pod.status.podIP ?? '');
  const awayMs = Math.round(performance.now() - killedAt);
  await waitForRestart(pod);
  await wait(gateway.address);
  return awayMs;
}

for (const replicas of [2, 1]) {
  test(`a gateway of ${replicas} is killed while the controller is away, and serves what it served`, async (t) => {
    if (replicas !== (await gateway.listPods()).length) {
      await installController(cluster);
      gateway = await deployProtectedGateway(cluster, replicas);
    }
    await gateway.proveChange(t);
    const load = await gateway.startLoad(t);
    await sendControllerAway();
    assert.equal(load.failures.length, 0, `while the controller went away: ${load.failures.join('; ')}`);
    const [pod] = await gateway.listPods();
    const awayMs = await killGateway(pod!);
    const failed = load.takeFailures();
    t.diagnostic(`no process for ${awayMs} ms; ${failed.length} requests could not reach one`);
    // Expected: only while no process is up. All that comes later is counted by expectUnharmed.
    assert.deepEqual(
      failed.filter((each) => !failsToReach(each)),
      [],
      'nobody fails who has reached a process',
    );
    // It serves from its file, for as long as it takes.
    await load.waitForMore(100);
    assert.match(await cluster.logs(home, pod!.metadata.name), /serving what the snapshot file has/);
    await installController(cluster);
    await gateway.proveChange(t);
    await gateway.expectUnharmed(t, load);
  });
}
