// The controller sends configuration only to authorized peers, tested over the real wire. The cases are in src/controller/authorize-peer.test.ts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Log, silentLog } from '../../src/base/log.ts';
import {
  connectGateway,
  makeToken,
  programGateway,
  putGateway,
  putRoute,
  readConditions,
  startCluster,
  startReplica,
} from './controller-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

describe('access to configuration', () => {
  for (const [what, options, reason] of [
    [
      'a token of another Gateway',
      { token: makeToken('team', 'other-proxy', 'edge-pod') },
      /must belong to system:serviceaccount:team:edge-proxy/,
    ],
    [
      'a token of the same name in another namespace',
      { token: makeToken('elsewhere', 'edge-proxy', 'edge-pod') },
      /must belong to/,
    ],
    ['no token at all', { token: 'made-up' }, /not a ServiceAccount token/],
    [
      'a token that somebody else signed',
      { token: makeToken('team', 'edge-proxy', 'edge-pod').replace(/sign$/, 'forged') },
      /does not accept the token/,
    ],
    [
      'a token for another audience',
      { token: makeToken('team', 'edge-proxy', 'edge-pod', { aud: ['https://kubernetes.default.svc'] }) },
      /not for the audience proxy-xds/,
    ],
    ['a token of another pod', { token: makeToken('team', 'edge-proxy', 'other-pod') }, /not to edge-pod/],
    ['a Gateway that is not served', { gateway: 'team/none' }, /not served by this controller/],
  ] as const)
    test(`${what}: nothing is sent`, async (context) => {
      const cluster = await startCluster(context);
      putGateway(cluster);
      putRoute(cluster);
      const replica = await startReplica(context, cluster);
      await programGateway(context, cluster, replica);
      const pushes = async (): Promise<readonly string[]> =>
        (await replica.metrics.expose())
          .split('\n')
          .filter((line) => line.startsWith('mcp_gateway_controller_xds_push'));
      const before = await pushes();
      const thief = connectGateway(context, cluster, { port: replica.xdsPort, nodeId: 'edge-pod', ...options });
      await waitFor('it was turned away', () => thief.disconnects.length > 0);
      assert.match(thief.disconnects[0]!, reason);
      assert.equal(thief.configuration, undefined);
      assert.deepEqual(await pushes(), before);
    });

  test('a token that was stolen is of no use at another address', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    const replica = await startReplica(context, cluster);
    cluster.put({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'team', name: 'edge-pod' },
      status: { podIPs: [{ ip: '10.1.2.3' }] },
    });
    await waitFor('it is ready', () => replica.health.read().ready);
    const thief = connectGateway(context, cluster, { port: replica.xdsPort, nodeId: 'edge-pod' });
    await waitFor('it was turned away', () => thief.disconnects.some((reason) => /not an address of pod/.test(reason)));
    assert.equal(thief.configuration, undefined);
  });

  test('a Gateway that is deleted: its gateways are not let in again', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const replica = await startReplica(context, cluster, { xds: { recheckIntervalMs: 50 } });
    const gateway = await programGateway(context, cluster, replica);
    cluster.delete('Gateway', 'team/edge');
    await waitFor('it was turned away', () =>
      gateway.disconnects.some((reason) => /not served by this controller/.test(reason)),
    );
    assert.equal(gateway.configuration?.routes.length, 1, 'it keeps what it has');
  });

  test('a gateway whose tokens live for seconds is served without a break', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const warnings: string[] = [];
    const note = (_: object, message: string): void => void warnings.push(message);
    const log: Log = { ...silentLog, child: () => log, warn: note, error: note };
    const replica = await startReplica(context, cluster, { log, xds: { recheckIntervalMs: 100 } });
    let reads = 0;
    const readToken = async (): Promise<string> => {
      reads += 1;
      return makeToken('team', 'edge-proxy', 'edge-pod', { exp: Date.now() / 1_000 + 2, jti: reads });
    };
    const gateway = await programGateway(context, cluster, replica, { client: { readToken, log } });
    const { applied } = gateway;
    await waitFor('it has come back twice', () => reads >= 3);
    await waitFor('it is connected', async () =>
      (await replica.metrics.expose()).includes('mcp_gateway_controller_connected_gateways 1'),
    );
    assert.ok(
      gateway.disconnects.every((reason) => /fresh one/.test(reason)),
      gateway.disconnects.join(),
    );
    assert.equal(gateway.applied, applied, 'it got nothing that it had');
    assert.deepEqual(
      warnings.filter((message) => /gateway|peer|token|refuse|connection/.test(message)),
      [],
    );
    assert.equal(readConditions(cluster.find('Gateway', 'team/edge'))['Programmed']?.status, 'True');
  });
});
