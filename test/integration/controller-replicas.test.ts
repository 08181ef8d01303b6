// Several replicas: one leads, all serve, and gateways do not notice who is who.
import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { type Log, silentLog } from '../../src/base/log.ts';
import { leaderAddressAnnotation } from '../../src/kubernetes/leader-election.ts';
import type { HeldResources } from '../../src/xds/client-resources.ts';
import {
  connectGateway,
  installation,
  programGateway,
  putGateway,
  putPolicy,
  putRoute,
  readConditions,
  type Replica,
  startCluster,
  startReplica,
  waitForCondition,
  waitForService,
} from './controller-fixture.ts';
import type { FakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

function readLease(cluster: FakeApiServer): string | undefined {
  return (
    cluster.find('Lease', `${installation}/proxy-controller`)?.['spec'] as { holderIdentity?: string } | undefined
  )?.holderIdentity;
}

async function startTwo(
  context: Parameters<typeof startReplica>[0],
  cluster: FakeApiServer,
): Promise<{ leader: Replica; follower: Replica }> {
  const leader = await startReplica(context, cluster, { podName: 'proxy-1' });
  await waitFor('the first leads', () => leader.isLeading());
  const follower = await startReplica(context, cluster, { podName: 'proxy-2' });
  await waitFor('the second is ready', () => follower.health.read().ready);
  return { leader, follower };
}

/** Every Programmed that was written into the Gateway. */
/** What was written into the Lease. */
function listHolders(cluster: FakeApiServer, from: number): readonly (string | undefined)[] {
  return cluster.requests
    .slice(from)
    .filter(({ verb, kind }) => verb === 'update' && kind === 'Lease')
    .map(({ body }) => (body as { spec: { holderIdentity?: string } }).spec.holderIdentity);
}

function listProgrammed(cluster: FakeApiServer, from: number): readonly string[] {
  return cluster.requests.slice(from).flatMap(({ verb, kind, subresource, body }) => {
    if (verb !== 'update' || kind !== 'Gateway' || subresource !== 'status') return [];
    return readConditions(body as Parameters<typeof readConditions>[0])['Programmed']?.status ?? [];
  });
}

describe('two replicas', () => {
  test('a Lease that names somebody else does not get a token sent there', async (context) => {
    const cluster = await startCluster(context);
    let heard = '';
    const listener = createServer((socket) => socket.on('data', (bytes) => (heard += bytes.toString('latin1'))));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    context.after(() => listener.close());
    cluster.put({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        namespace: installation,
        name: 'proxy-controller',
        annotations: { [leaderAddressAnnotation]: `127.0.0.1:${(listener.address() as AddressInfo).port}` },
      },
      spec: { holderIdentity: 'thief', leaseDurationSeconds: 3_600, renewTime: new Date().toISOString() },
    });
    const reasons: string[] = [];
    const log: Log = {
      ...silentLog,
      child: () => log,
      warn: (fields: object) => void reasons.push(String((fields as { reason?: unknown }).reason)),
    };
    await startReplica(context, cluster, { log });
    await waitFor('it says what is wrong', () => reasons.some((reason) => /no such pod/.test(reason)));
    // Not even if there is a pod of the name, somewhere else.
    cluster.put({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: installation, name: 'thief' },
      spec: { serviceAccountName: 'proxy' },
      status: { podIPs: [{ ip: '10.6.6.6' }] },
    });
    await waitFor('it looks again', () =>
      reasons.some((reason) => /pod proxy-system\/thief does not have it/.test(reason)),
    );
    assert.equal(heard, '');
  });

  test('a gateway that is connected to the follower counts at the leader', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    putPolicy(cluster);
    const { leader, follower } = await startTwo(context, cluster);
    assert.equal(follower.isLeading(), false);
    await waitForService(cluster);
    const gateway = connectGateway(context, cluster, { port: follower.xdsPort });
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Programmed', 'True');
    await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'True');
    assert.match(await leader.metrics.expose(), /^mcp_gateway_controller_relayed_gateways 1$/m);
    assert.match(await follower.metrics.expose(), /^mcp_gateway_controller_leader 0$/m);
    putRoute(cluster, 'team/second');
    await waitFor('the follower serves changes', () => gateway.configuration?.routes.length === 2);
  });

  test('both give the same versions: a gateway that changes over is sent nothing', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    for (let index = 0; index < 20; index += 1) putRoute(cluster, `team/r${index}`);
    putPolicy(cluster, 'team/cors', 'r3');
    const { leader, follower } = await startTwo(context, cluster);
    await waitForService(cluster);
    let held: HeldResources | undefined;
    const first = connectGateway(context, cluster, {
      port: leader.xdsPort,
      client: { save: (resources) => (held = resources) },
    });
    await waitFor('it is configured', () => first.configuration?.routes.length === 20 && held);
    await first.close();
    const pushed = /^mcp_gateway_controller_xds_pushed_messages_total\{type="\w+"\} [1-9]/m;
    assert.match(await leader.metrics.expose(), pushed);
    let connected = 0;
    let acknowledged = 0;
    connectGateway(context, cluster, {
      port: follower.xdsPort,
      client: {
        initial: held,
        observer: {
          connected: () => (connected += 1),
          disconnected() {},
          received: (_type, resources, removed) => assert.deepEqual([resources, removed], [0, 0]),
          acknowledged: () => (acknowledged += 1),
          rejected() {},
        },
      },
    });
    await waitFor('every type was answered', () => connected === 1 && acknowledged >= 5);
    assert.doesNotMatch(await follower.metrics.expose(), pushed);
  });

  test('a leader that stops hands over, and no status flickers', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const { leader, follower } = await startTwo(context, cluster);
    const gateway = await programGateway(context, cluster, follower);
    const from = cluster.requests.length;
    await leader.stopOnce();
    await waitFor('the other leads', () => follower.isLeading());
    assert.ok(listHolders(cluster, from).includes(''), 'it was handed over, and did not run out');
    assert.equal(readLease(cluster), 'proxy-2');
    putRoute(cluster, 'team/second');
    await waitForCondition(cluster, 'HTTPRoute', 'team/second', 'Accepted', 'True');
    assert.ok(!listProgrammed(cluster, from).includes('False'), 'the Gateway was said not to be programmed');
    assert.equal(gateway.configuration?.routes.length, 2);
    await follower.stopOnce();
    assert.equal(readLease(cluster), '');
  });

  test('a controller that is started anew does not take back what is so', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const first = await startReplica(context, cluster);
    const before = await programGateway(context, cluster, first);
    const { Programmed } = readConditions(cluster.find('Gateway', 'team/edge'));
    await first.stopOnce();
    await before.close();
    const from = cluster.requests.length;
    const second = await startReplica(context, cluster);
    await waitFor('it leads', () => second.isLeading());
    connectGateway(context, cluster, { port: second.xdsPort });
    putRoute(cluster, 'team/second');
    await waitForCondition(cluster, 'HTTPRoute', 'team/second', 'Accepted', 'True');
    assert.deepEqual(readConditions(cluster.find('Gateway', 'team/edge'))['Programmed'], Programmed);
    assert.ok(!listProgrammed(cluster, from).includes('False'));
  });

  test('an API server that goes away and comes back changes nothing for gateways', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const replica = await startReplica(context, cluster);
    const gateway = await programGateway(context, cluster, replica);
    const from = cluster.requests.length;
    const { applied } = gateway;
    await cluster.goAway();
    putRoute(cluster, 'team/second');
    assert.equal(replica.health.read().ready, true);
    await cluster.comeBack();
    await waitFor('it goes on', () => gateway.configuration?.routes.length === 2);
    await waitForCondition(cluster, 'HTTPRoute', 'team/second', 'Accepted', 'True');
    assert.deepEqual(gateway.disconnects, []);
    assert.equal(gateway.applied, applied + 1);
    assert.ok(!listProgrammed(cluster, from).includes('False'));
  });
});
