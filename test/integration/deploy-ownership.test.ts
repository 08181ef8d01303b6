// Objects that are not ours, or not ours any more: who touches what, whatever happens at the same time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readGateway, startDeployFixture } from './deploy-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const foreign = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web-proxy', namespace: 'default' },
  spec: { ports: [{ port: 80 }], selector: { app: 'theirs' } },
};

test('an object of somebody else is never touched, and told', async (context) => {
  const { cluster, makeGateway, plan, reconcile, result, events, listWrites } = await startDeployFixture(context);
  const before = cluster.put(foreign);
  const planned = plan(makeGateway('web'));
  reconcile([planned]);
  const problem = 'Service default/web-proxy exists and does not belong to this Gateway';
  await waitFor('it is told', () => result('default/web')?.problem === problem);
  await waitFor('the others are made', () => cluster.find('Deployment', 'default/web-proxy') !== undefined);
  assert.equal(cluster.find('Service', 'default/web-proxy'), before);
  // It is looked at again and again, and told once.
  const gets = (): number => cluster.requests.filter(({ verb, kind }) => verb === 'get' && kind === 'Service').length;
  const seen = gets();
  await waitFor('further looks', () => gets() > seen + 3);
  assert.deepEqual(
    events.map(({ subject, type, reason, note }) => [subject.kind, subject.name, subject.uid, type, reason, note]),
    [['Gateway', 'web', planned.gateway.metadata.uid, 'Warning', 'NotOwned', problem]],
  );
  assert.deepEqual(
    listWrites().filter((write) => write.includes('Service ')),
    [],
  );
  cluster.delete('Service', 'default/web-proxy');
  await waitFor('ours takes its place', () => result('default/web')?.problem === undefined);
  assert.equal(cluster.find('Service', 'default/web-proxy')?.metadata.ownerReferences?.[0]?.name, 'web');
});

test("an object that has our labels and another owner is somebody else's", async (context) => {
  const { cluster, makeGateway, plan, reconcile, result } = await startDeployFixture(context);
  const other = makeGateway('other');
  const before = cluster.put({
    ...foreign,
    metadata: {
      ...foreign.metadata,
      labels: {
        'app.kubernetes.io/managed-by': 'gateway.proxy-controller',
        'gateway.networking.k8s.io/gateway-name': 'web',
      },
      ownerReferences: [
        {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'Gateway',
          name: 'other',
          uid: other.metadata.uid,
          controller: true,
        },
      ],
    },
  });
  reconcile([plan(makeGateway('web')), plan(other)]);
  await waitFor('it is told', () => result('default/web')?.problem?.includes('does not belong') === true);
  // It is the other Gateway's, which has a name of its own for its Service, and so it is left over there.
  await waitFor(
    "it goes with the other Gateway's leftovers",
    () => cluster.find('Service', 'default/web-proxy')?.metadata.uid !== before.metadata.uid,
  );
  await waitFor('then ours is made', () => result('default/web')?.problem === undefined);
});

test('an object that another client creates between our read and our write stays theirs', async (context) => {
  const { cluster, makeGateway, plan, reconcile, result } = await startDeployFixture(context);
  cluster.inject({
    verb: 'create',
    kind: 'Service',
    // As late as can be: our POST has arrived.
    when: () => {
      cluster.put(foreign);
      return false;
    },
    fault: { type: 'drop' },
  });
  reconcile([plan(makeGateway('web'))]);
  await waitFor('it is told', () => result('default/web')?.problem?.includes('does not belong') === true);
  assert.deepEqual(cluster.find('Service', 'default/web-proxy')?.['spec'], foreign.spec);
});

test('an object that replaces ours between our read and our write stays theirs', async (context) => {
  const { cluster, deploy, makeGateway, plan, reconcile, result } = await startDeployFixture(context);
  const gateway = makeGateway('web');
  await deploy(plan(gateway));
  let replaced = false;
  cluster.inject({
    kind: 'Service',
    times: Number.POSITIVE_INFINITY,
    when: ({ verb }) => {
      if ((verb === 'apply' || verb === 'patch') && !replaced) {
        replaced = true;
        cluster.delete('Service', 'default/web-proxy');
        cluster.put(foreign);
      }
      return false;
    },
    fault: { type: 'drop' },
  });
  reconcile([plan(gateway, { service: { type: 'NodePort' } })]);
  await waitFor('it is told', () => result('default/web')?.problem?.includes('does not belong') === true);
  assert.ok(replaced);
  assert.deepEqual(cluster.find('Service', 'default/web-proxy')?.['spec'], foreign.spec);
});

test('a Gateway that is made anew waits until what belonged to the earlier one is gone', async (context) => {
  const { cluster, deploy, makeGateway, plan, reconcile, result, events } = await startDeployFixture(context);
  await deploy(plan(makeGateway('web')));
  const { uid } = cluster.find('Service', 'default/web-proxy')!.metadata;
  cluster.delete('Gateway', 'default/web');
  const planned = plan(makeGateway('web'));
  reconcile([planned]);
  await waitFor('it waits', () => result('default/web')?.problem?.includes('an earlier Gateway of this name') === true);
  assert.equal(cluster.find('Service', 'default/web-proxy')?.metadata.uid, uid);
  assert.deepEqual(result('default/web')?.addresses, [], 'addresses of the earlier one are not its own');
  cluster.collectGarbage();
  await waitFor('all is made anew', () => result('default/web')?.problem === undefined);
  assert.equal(
    cluster.find('Deployment', 'default/web-proxy')?.metadata.ownerReferences?.[0]?.uid,
    planned.gateway.metadata.uid,
  );
  assert.deepEqual(events, []);
});

test('an autoscaler of somebody else under our name is not removed', async (context) => {
  const { cluster, deploy, makeGateway, plan, listWrites } = await startDeployFixture(context);
  cluster.put({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: {
      name: 'web-proxy',
      namespace: 'default',
      labels: { 'app.kubernetes.io/managed-by': 'gateway.proxy-controller' },
    },
    spec: { maxReplicas: 3 },
  });
  const gateway = makeGateway('web');
  await deploy(plan(gateway, { overlays: { podDisruptionBudget: {} } }));
  await deploy(plan(gateway));
  await waitFor('the budget is gone', () => cluster.find('PodDisruptionBudget', 'default/web-proxy') === undefined);
  assert.ok(cluster.find('HorizontalPodAutoscaler', 'default/web-proxy') !== undefined);
  assert.deepEqual(
    listWrites().filter((write) => write.startsWith('delete')),
    ['delete PodDisruptionBudget web-proxy'],
  );
});

test('all objects of a Gateway are removed when it changes its class', async (context) => {
  const { cluster, deploy, makeGateway, plan, reconcile, result } = await startDeployFixture(context);
  await deploy(plan(makeGateway('web')));
  cluster.change('Gateway', 'default/web', (gateway) => void (gateway['spec'].gatewayClassName = 'theirs'));
  reconcile([]);
  await waitFor('nothing is left', () =>
    ['ServiceAccount', 'Service', 'Deployment'].every((kind) => cluster.find(kind, 'default/web-proxy') === undefined),
  );
  await waitFor('no result is left', () => result('default/web') === undefined);
});

test('a Gateway that moves between two classes of ours gets new objects, and loses the old ones', async (context) => {
  const { cluster, deploy, makeGateway, plan } = await startDeployFixture(context);
  await deploy(plan(makeGateway('web')));
  const moved = cluster.change(
    'Gateway',
    'default/web',
    (gateway) => void (gateway['spec'].gatewayClassName = 'proxy2'),
  );
  await deploy(plan(readGateway(moved)));
  await waitFor('the new ones are there', () => cluster.find('Deployment', 'default/web-proxy2') !== undefined);
  await waitFor('the old ones are gone', () => cluster.find('Deployment', 'default/web-proxy') === undefined);
});

test('no object is removed when its Gateway is held, no longer visible, or deleted', async (context) => {
  const { cluster, deploy, makeGateway, plan, reconcile, result, listWrites } = await startDeployFixture(context);
  await deploy(plan(makeGateway('web')));
  const other = plan(makeGateway('other'));
  const gets = (): number => cluster.requests.filter(({ verb, kind }) => verb === 'get' && kind === 'Gateway').length;

  reconcile([other], { held: [{ name: 'default/web', reason: 'its parameters are invalid' }] });
  await waitFor('the other one is deployed', () => result('default/other')?.replicas !== undefined);
  assert.equal(gets(), 0);
  assert.deepEqual(result('default/web')?.replicas, { wanted: 1, ready: 0 }, 'its addresses and pods are still told');

  reconcile([other]);
  await waitFor('the API server is asked', () => gets() > 0);
  cluster.delete('Gateway', 'default/web');
  reconcile([plan(other.gateway, { replicas: 2 })]);
  await waitFor('two replicas', () =>
    JSON.stringify(cluster.find('Deployment', 'default/other-proxy')).includes('"replicas":2'),
  );
  assert.ok(cluster.find('Deployment', 'default/web-proxy') !== undefined);
  assert.deepEqual(
    listWrites().filter((write) => write.startsWith('delete')),
    [],
  );
  cluster.collectGarbage();
  await waitFor('the garbage collector takes it', () => result('default/web') === undefined);
});

test('a Gateway that is being deleted gets nothing new', async (context) => {
  const { cluster, makeGateway, plan, reconcile, result } = await startDeployFixture(context);
  const leaving = makeGateway('leaving');
  const planned = plan({ ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
  reconcile([planned, plan(makeGateway('web'))]);
  await waitFor('the other one is deployed', () => result('default/web')?.replicas !== undefined);
  assert.equal(cluster.find('Deployment', 'default/leaving-proxy'), undefined);
});
