// One of two replicas of the controller hangs, under a steady load and with two gateway pods. Expected: what it would have sent is enforced within the bound of
// docs/control-plane.md all the same, whether it led or not; no request fails; and the replica is restarted without anybody's help.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test, type TestContext } from 'node:test';
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { installationNamespace, installController, type InstalledController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { deployProtectedGateway, type ProtectedGateway } from './protected-gateway.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const home = claimNamespace('fault-hang');
let cluster: Cluster;
let controller: InstalledController;
let gateway: ProtectedGateway;

before(async () => {
  cluster = await joinCluster();
  controller = await installController(cluster, { replicas: 2 });
  gateway = await deployProtectedGateway(cluster, 2);
});
after(leaveCluster);

const countRestarts = ({ status }: PodObject): number => status.containerStatuses?.[0]?.restartCount ?? 0;

async function isLeader({ metadata }: PodObject): Promise<boolean> {
  const lease = await cluster.api.get<ApiObject & { spec: { holderIdentity?: string } }>(
    `/apis/coordination.k8s.io/v1/namespaces/${installationNamespace}/leases/proxy-controller`,
  );
  return lease.spec.holderIdentity === metadata.name;
}

/** How many gateways are connected to a replica. */
async function countGateways({ status }: PodObject): Promise<number> {
  const text = await (await fetch(`http://${status.podIP ?? ''}:9092/metrics`)).text();
  return Number(/^mcp_gateway_controller_connected_gateways (\d+)$/m.exec(text)?.[1] ?? 0);
}

/** A replica with gateways, so that its hang matters. */
async function findReplica(leads: boolean): Promise<PodObject | undefined> {
  for (const pod of await controller.listPods())
    if ((await isLeader(pod)) === leads && (await countGateways(pod)) > 0) return pod;
  return undefined;
}

/** The node lets replicas take turns: a gateway that connects twice would come back to the same one for ever. */
async function takeTurn(): Promise<void> {
  const path = `/api/v1/namespaces/${installationNamespace}/services/proxy`;
  const { spec } = await cluster.api.get<ApiObject & { spec: { clusterIP: string } }>(path);
  const socket = connect(9978, spec.clusterIP);
  await once(socket, 'connect');
  socket.destroy();
}

/** Has gateways connect anew until the leader, or the other replica, has one. */
async function chooseReplica(leads: boolean): Promise<PodObject> {
  return cluster.waitFor(
    async () => {
      const found = await findReplica(leads);
      if (found !== undefined) return found;
      await takeTurn();
      const [other] = await gateway.listPods();
      await cluster.signalContainer(
        { namespace: other!.metadata.namespace ?? '', pod: other!.metadata.name },
        'SIGKILL',
      );
      await cluster.waitFor(async () => (await sumGateways()) === 2, { what: 'both gateways are connected again' });
      return undefined;
    },
    { what: 'the replica has a gateway', timeoutMs: 240_000 },
  );
}

async function sumGateways(): Promise<number> {
  const counts = await Promise.all((await controller.listPods()).map(countGateways));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Lets an audience in, and returns what revokes it: milliseconds until every pod refuses its tokens. */
async function prepareRevocation(): Promise<() => Promise<number>> {
  const { audience } = await gateway.change();
  const pods = await gateway.listPods();
  await cluster.waitFor(() => gateway.isEnforced(audience, pods), { what: `${audience} is let in` });
  return async () => {
    const { madeAt } = await gateway.change();
    return cluster.waitFor(
      async () => {
        const letIn = await Promise.all(pods.map((pod) => gateway.isEnforced(audience, [pod])));
        return !letIn.includes(true) && Math.round(performance.now() - madeAt);
      },
      { what: `every pod refuses ${audience}` },
    );
  };
}

/** How often gateways have given a connection up because nobody answered. */
async function countGivenUp(): Promise<number> {
  const pods = await gateway.listPods();
  const logs = await Promise.all(pods.map(({ metadata }) => cluster.logs(home, metadata.name)));
  return logs.join('').split('the controller no longer answers pings').length - 1;
}

async function expectBound(t: TestContext, leads: boolean): Promise<void> {
  const replica = await chooseReplica(leads);
  const revoke = await prepareRevocation();
  const load = await gateway.startLoad(t);
  const givenUpBefore = await countGivenUp();
  await cluster.signalContainer({ namespace: installationNamespace, pod: replica.metadata.name }, 'SIGSTOP');
  t.diagnostic(`refused by both pods after ${await revoke()} ms`);
  // It was the pings of a gateway, which have their time (src/xds/keep-alive.test.ts adds it up), and not the end of the replica.
  assert.ok((await countGivenUp()) > givenUpBefore);
  await cluster.waitForObject<PodObject>(
    locateResource({ kind: 'Pod', name: replica.metadata.name, namespace: installationNamespace }),
    (pod) => countRestarts(pod) > countRestarts(replica) && pod.status.containerStatuses?.[0]?.ready === true,
    { what: 'the replica that hangs is restarted by its liveness probe' },
  );
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
  await controller.waitUntilReady();
}

test('the replica that does not lead hangs', (t) => expectBound(t, false));

test('the replica that leads hangs', (t) => expectBound(t, true));
