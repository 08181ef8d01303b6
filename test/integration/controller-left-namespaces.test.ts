// Selectors that have become narrower while no replica led: what earlier leaders wrote in namespaces that are left out is taken back, and nothing of others.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { namespaceRecordName } from '../../src/controller/left-namespaces.ts';
import {
  controllerName,
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
} from './controller-fixture.ts';
import type { FakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

const selectors = [{ matchLabels: { gateways: 'yes' } }];

const theirs = {
  parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'elsewhere' },
  controllerName: 'example.com/other',
  conditions: [],
};

function readWriters(cluster: FakeApiServer, kind: 'HTTPRoute' | 'ProxyPolicy', name: string): readonly string[] {
  const status = cluster.find(kind, name)?.['status'] as
    | { parents?: { controllerName: string }[]; ancestors?: { controllerName: string }[] }
    | undefined;
  return (status?.parents ?? status?.ancestors ?? []).map((entry) => entry.controllerName);
}

function readRecord(cluster: FakeApiServer): string | undefined {
  const data = cluster.find('ConfigMap', `${installation}/${namespaceRecordName}`)?.['data'];
  return (data as { namespaces?: string } | undefined)?.namespaces;
}

function label(cluster: FakeApiServer, namespace: string, value: string | undefined): void {
  cluster.change('Namespace', namespace, ({ metadata }) => {
    metadata.labels = value === undefined ? {} : { gateways: value };
  });
}

/** A cluster in which a leader with these selectors has written statuses in the namespace team, and is gone. */
async function startWritten(
  context: TestContext,
  namespaceSelectors: Parameters<typeof startReplica>[2] = {},
): Promise<FakeApiServer> {
  const cluster = await startCluster(context);
  label(cluster, 'team', 'yes');
  putGateway(cluster);
  putRoute(cluster);
  putPolicy(cluster);
  cluster.change('HTTPRoute', 'team/tickets', (route) => (route['status'] = { parents: [theirs] }));
  const replica = await startReplica(context, cluster, namespaceSelectors);
  await programGateway(context, cluster, replica);
  await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'True');
  await waitFor('its words are written', () => readWriters(cluster, 'HTTPRoute', 'team/tickets').length === 2);
  await waitFor('it is written down where it looked', () => readRecord(cluster) !== undefined);
  await replica.stopOnce();
  return cluster;
}

const restart = (context: TestContext, cluster: FakeApiServer): Promise<Replica> =>
  startReplica(context, cluster, { namespaceSelectors: selectors, podName: 'proxy-2' });

async function expectTakenBack(cluster: FakeApiServer): Promise<void> {
  await waitFor(
    'the entries are gone',
    () => !readWriters(cluster, 'HTTPRoute', 'team/tickets').includes(controllerName),
  );
  await waitFor('those of the policy too', () => readWriters(cluster, 'ProxyPolicy', 'team/cors').length === 0);
  const { message } = await waitForCondition(cluster, 'Gateway', 'team/edge', 'Programmed', 'Unknown', 'Pending');
  assert.match(message, /Namespace team is no longer selected by the controller/);
  assert.deepEqual(readWriters(cluster, 'HTTPRoute', 'team/tickets'), ['example.com/other'], 'others keep theirs');
}

describe('statuses of an earlier leader are taken back', () => {
  test('where it looked after every namespace, and the next one after some', async (context) => {
    const cluster = await startWritten(context);
    assert.equal(readRecord(cluster), '*');
    label(cluster, 'team', undefined);
    const deployments = cluster.list('Deployment').length;
    await restart(context, cluster);
    await expectTakenBack(cluster);
    await waitFor('that is written down', () => readRecord(cluster) === '[]');
    assert.equal(cluster.list('Deployment').length, deployments, 'nothing that was deployed is deleted');
  });

  test('where a label was removed while no replica ran, and they are written again with the label', async (context) => {
    const cluster = await startWritten(context, { namespaceSelectors: selectors });
    assert.equal(readRecord(cluster), '["team"]');
    label(cluster, 'team', undefined);
    await restart(context, cluster);
    await expectTakenBack(cluster);
    await waitFor('that is written down', () => readRecord(cluster) === '[]');
    label(cluster, 'team', 'yes');
    await waitForCondition(cluster, 'HTTPRoute', 'team/tickets', 'Accepted', 'True');
    await waitFor('that is written down', () => readRecord(cluster) === '["team"]');
  });

  test('after the API server has refused it', async (context) => {
    const cluster = await startWritten(context);
    label(cluster, 'team', undefined);
    cluster.inject({ verb: 'get', kind: 'ConfigMap', fault: { type: 'status', code: 500 } });
    cluster.inject({ verb: 'update', kind: 'HTTPRoute', fault: { type: 'status', code: 409 } });
    cluster.inject({ verb: 'update', kind: 'HTTPRoute', fault: { type: 'status', code: 500 } });
    await restart(context, cluster);
    await expectTakenBack(cluster);
  });
});

describe('nothing is taken back', () => {
  test('where this installation never looked: another one may have written it', async (context) => {
    const cluster = await startWritten(context, { namespaceSelectors: selectors });
    cluster.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'far', labels: { gateways: 'no' } } });
    putRoute(cluster, 'far/away');
    const ours = { ...theirs, controllerName };
    cluster.change('HTTPRoute', 'far/away', (route) => (route['status'] = { parents: [ours] }));
    label(cluster, 'team', undefined);
    await restart(context, cluster);
    await expectTakenBack(cluster);
    await waitFor('that is written down', () => readRecord(cluster) === '[]');
    assert.deepEqual(readWriters(cluster, 'HTTPRoute', 'far/away'), [controllerName]);
  });

  test('where nothing is written down, or something unreadable', async (context) => {
    const cluster = await startWritten(context);
    cluster.change('ConfigMap', `${installation}/${namespaceRecordName}`, (map) => (map['data'] = { namespaces: '{' }));
    label(cluster, 'team', undefined);
    await restart(context, cluster);
    await waitFor('it is written down anew', () => readRecord(cluster) === '[]');
    assert.equal(readConditions(cluster.find('Gateway', 'team/edge'))['Programmed']?.status, 'True');
    assert.ok(readWriters(cluster, 'HTTPRoute', 'team/tickets').includes(controllerName));
  });
});
