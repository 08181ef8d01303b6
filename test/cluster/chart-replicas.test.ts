// Two replicas with a PodDisruptionBudget, as the docs recommend: the leader is deleted in the middle of a `helm upgrade`, and a node is drained. Under a
// steady load, nobody notices.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ApiError, type ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { HelmInstallation } from './helm-installation.ts';
import { clearInstallation, installationNamespace, InstalledController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { deployProtectedGateway, type ProtectedGateway } from './protected-gateway.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

claimNamespace('chart-replicas');
const twoReplicas = { replicaCount: 2, podDisruptionBudget: { minAvailable: 1 } };
let cluster: Cluster;
let helm: HelmInstallation;
let controller: InstalledController;
let gateway: ProtectedGateway;

before(async () => {
  cluster = await joinCluster();
  await clearInstallation(cluster);
  helm = new HelmInstallation(cluster);
  await helm.install({ controller: twoReplicas });
  controller = new InstalledController(cluster);
  gateway = await deployProtectedGateway(cluster, 2);
});
after(async () => {
  await helm?.uninstall();
  await leaveCluster();
});

const locateController = ({ metadata }: PodObject): string =>
  locateResource({ kind: 'Pod', name: metadata.name, namespace: installationNamespace });

const isReady = ({ status }: PodObject): boolean => status.containerStatuses?.[0]?.ready === true;

/** The pod that holds the Lease. */
function waitForLeader(): Promise<PodObject> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${installationNamespace}/leases/proxy-controller`;
  return cluster.waitFor(
    async () => {
      const lease = await cluster.api.get<ApiObject & { spec: { holderIdentity?: string } }>(path);
      return (await controller.listPods()).find(({ metadata }) => metadata.name === lease.spec.holderIdentity);
    },
    { what: 'a replica leads' },
  );
}

/** The leader is one of these pods, and everybody else agrees. */
async function expectOneLeader(): Promise<PodObject> {
  const leader = await waitForLeader();
  await cluster.waitFor(async () => (await controller.readMetric('mcp_gateway_controller_leader')) === 1, {
    what: 'one replica believes to lead',
  });
  return leader;
}

test('the leader is deleted during helm upgrade: no request fails', async (t) => {
  const load = await gateway.startLoad(t);
  const atFirst = await controller.listPods();
  assert.equal(atFirst.length, 2);
  const leader = await waitForLeader();
  const known = new Set(atFirst.map(({ metadata }) => metadata.name));
  const upgrading = helm.upgrade({ controller: { ...twoReplicas, logLevel: 'debug' } });
  await cluster.waitFor(async () => (await controller.listPods()).some(({ metadata }) => !known.has(metadata.name)), {
    what: 'the rollout has begun',
    intervalMs: 20,
  });
  const early = await cluster.api.get<PodObject>(locateController(leader));
  assert.equal(early.metadata.deletionTimestamp, undefined, 'the rollout has not come to the leader yet');
  await cluster.api.delete(locateController(leader));
  const change = await gateway.change();
  await gateway.expectChange(t, change);
  await upgrading;
  const next = await expectOneLeader();
  assert.ok(!known.has(next.metadata.name), 'one of the next revision leads');
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});

test('the leader is killed during helm upgrade: no request fails', async (t) => {
  const load = await gateway.startLoad(t);
  const leader = await waitForLeader();
  const upgrading = helm.upgrade({ controller: { ...twoReplicas, logLevel: 'info' } });
  await cluster.waitFor(async () => (await controller.listPods()).length > 2, {
    what: 'the rollout has begun',
    intervalMs: 20,
  });
  // As when its node is lost: it gives nothing back.
  await cluster.signalContainer({ namespace: installationNamespace, pod: leader.metadata.name }, 'SIGSTOP');
  await cluster.api.delete(locateController(leader), { gracePeriodSeconds: 0 });
  const change = await gateway.change();
  await gateway.expectChange(t, change);
  await upgrading;
  await expectOneLeader();
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});

interface Budget extends ApiObject {
  readonly status: {
    readonly currentHealthy: number;
    readonly disruptionsAllowed: number;
    readonly expectedPods: number;
  };
}

const waitForBudget = (disruptionsAllowed: number): Promise<Budget> =>
  cluster.waitForObject<Budget>(
    `/apis/policy/v1/namespaces/${installationNamespace}/poddisruptionbudgets/proxy`,
    ({ status }) => status.expectedPods === 2 && status.disruptionsAllowed === disruptionsAllowed,
    { what: `the budget allows ${disruptionsAllowed} disruptions` },
  );

/** What `kubectl drain` does with a pod. */
const evict = ({ metadata }: PodObject): Promise<unknown> =>
  cluster.api.create(`/api/v1/namespaces/${installationNamespace}/pods/${metadata.name}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: metadata.name, namespace: installationNamespace },
  });

test('evictions wait for each other: the budget holds while one replica is not ready', async (t) => {
  await waitForBudget(1);
  const load = await gateway.startLoad(t);
  const leader = await expectOneLeader();
  const other = (await controller.listPods()).find(({ metadata }) => metadata.name !== leader.metadata.name);
  assert.ok(other !== undefined);
  // It hangs, and is not ready any more.
  await cluster.signalContainer({ namespace: installationNamespace, pod: other.metadata.name }, 'SIGSTOP');
  await cluster.waitForObject<PodObject>(locateController(other), (pod) => !isReady(pod), {
    what: 'the other replica is not ready',
  });
  await waitForBudget(0);
  await assert.rejects(
    evict(leader),
    (error) => error instanceof ApiError && error.status === 429 && /disruption budget/.test(error.message),
  );
  await gateway.proveChange(t);
  await cluster.signalContainer({ namespace: installationNamespace, pod: other.metadata.name }, 'SIGCONT');
  await waitForBudget(1);

  await evict(leader);
  await assert.rejects(evict(other), (error) => error instanceof ApiError && error.status === 429);
  await controller.waitUntilReady();
  await waitForBudget(1);
  await evict(other);
  await controller.waitUntilReady();
  const names = new Set((await controller.listPods()).map(({ metadata }) => metadata.name));
  for (const { metadata } of [leader, other]) assert.ok(!names.has(metadata.name));
  await expectOneLeader();
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});
