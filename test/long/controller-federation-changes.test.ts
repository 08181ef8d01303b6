// What gateways report of the servers of a federation over time, as the controller writes it into the ProxyBackend: each change waits for the one before.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { type TargetHealth, TargetHealthSchema } from '../../src/ir/gen/report_pb.ts';
import type { XdsClient } from '../../src/xds/client.ts';
import {
  connectGateway,
  programGateway,
  putGateway,
  putRoute,
  readConditions,
  startCluster,
  startReplica,
  waitForCondition,
} from '../integration/controller-fixture.ts';
import type { FakeApiServer } from '../integration/fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

const key = 'ProxyBackend/team/tickets';

function putTargets(cluster: FakeApiServer, names: readonly string[], name = 'tickets'): void {
  cluster.put({
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyBackend',
    metadata: { namespace: 'team', name },
    spec: {
      mcp: { targets: names.map((each, at) => ({ name: each, static: { host: '127.0.0.1', port: 3001 + at } })) },
    },
  });
}

/** `lost: 'why'` is down, `up: ''` is not. */
function report(client: XdsClient, errors: Readonly<Record<string, string>>, backend = key): void {
  const targets = Object.entries(errors).map(([target, error]): TargetHealth =>
    create(TargetHealthSchema, { backend, target, down: error !== '', since: 1_767_225_600, error }),
  );
  client.report({ keyProblems: [], bindProblems: [], targets });
}

async function startFederation(context: Parameters<typeof startCluster>[0]) {
  const cluster = await startCluster(context);
  putGateway(cluster);
  putRoute(cluster);
  putTargets(cluster, ['desk', 'wiki']);
  const replica = await startReplica(context, cluster);
  const gateway = await programGateway(context, cluster, replica);
  const wait = (status: string, reason: string, message: RegExp) =>
    waitFor(`${reason} ${message.source}`, () => {
      const condition = readConditions(cluster.find('ProxyBackend', 'team/tickets'))['TargetsHealthy'];
      return condition?.status === status && condition.reason === reason && message.test(condition.message)
        ? condition
        : undefined;
    });
  return { cluster, replica, gateway, wait };
}

describe('the condition TargetsHealthy over time', () => {
  test('is unknown, then what gateways say; it goes with the federation', async (context) => {
    const { cluster, replica, gateway, wait } = await startFederation(context);
    await wait('Unknown', 'NotAskedYet', /^Not asked yet: desk, wiki\./);
    report(gateway.client, { desk: '', wiki: '' });
    await wait('True', 'AllUp', /^All 2 servers are up\.$/);
    report(gateway.client, { desk: '', wiki: 'connect ECONNREFUSED' });
    const { observedGeneration } = await wait(
      'False',
      'TargetsDown',
      /^1 of 2 servers is down: wiki \(since 2026-01-01T00:00:00Z\): connect ECONNREFUSED$/,
    );
    assert.equal(observedGeneration, cluster.find('ProxyBackend', 'team/tickets')!.metadata.generation);
    // Another process reaches it.
    const other = connectGateway(context, cluster, { port: replica.xdsPort, nodeId: 'edge-pod-2' });
    report(other.client, { desk: '', wiki: '' });
    await wait('False', 'TargetsDown', /1 of 2 gateway processes\): connect ECONNREFUSED$/);
    // What a process said goes with it.
    await gateway.close();
    await wait('True', 'AllUp', /./);
    putTargets(cluster, ['desk']);
    await waitFor('it is no federation any more', () => {
      const conditions = readConditions(cluster.find('ProxyBackend', 'team/tickets'));
      return conditions['Accepted'] !== undefined && conditions['TargetsHealthy'] === undefined;
    });
  });

  test('a server that comes and goes is not written each time', async (context) => {
    const { cluster, gateway, wait } = await startFederation(context);
    report(gateway.client, { desk: '', wiki: '' });
    await wait('True', 'AllUp', /./);
    const from = cluster.requests.length;
    for (let round = 0; round < 40; round += 1) {
      report(gateway.client, { desk: '', wiki: round % 2 === 0 ? `error ${round}` : '' });
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    report(gateway.client, { desk: '', wiki: 'at last' });
    await wait('False', 'TargetsDown', /at last/);
    const writes = cluster.requests
      .slice(from)
      .filter(({ subresource, name }) => subresource === 'status' && name === 'tickets');
    assert.ok(writes.length <= 3, `${writes.length} writes`);
    await waitForCondition(cluster, 'ProxyBackend', 'team/tickets', 'TargetsHealthy', 'False', 'TargetsDown');
  });
});
