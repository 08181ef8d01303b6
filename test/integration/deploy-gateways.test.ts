// What is deployed for Gateways: made, changed field by field, repaired, and taken away again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usualSettings } from '../../src/deploy/testdata/read-plan.ts';
import { startDeployFixture } from './deploy-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

interface LiveDeployment {
  readonly spec: {
    readonly replicas?: number;
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly resources: Record<string, unknown> }[] };
    };
  };
}

test('objects are made once, belong to the Gateway, and what is as it is to be costs nothing', async (context) => {
  const { cluster, deploy, makeGateway, plan, reconcile, listWrites, events } = await startDeployFixture(context);
  const gateway = makeGateway('web');
  const planned = plan(gateway, { overlays: { podDisruptionBudget: {}, horizontalPodAutoscaler: {} } });
  await deploy(planned);
  const kinds = ['ServiceAccount', 'Service', 'Deployment', 'HorizontalPodAutoscaler', 'PodDisruptionBudget'];
  assert.deepEqual(
    listWrites(),
    kinds.map((kind) => `create ${kind} web-proxy`),
  );
  for (const kind of kinds) {
    const { metadata } = cluster.find(kind, 'default/web-proxy')!;
    assert.deepEqual(
      metadata.ownerReferences?.map(({ uid, controller, blockOwnerDeletion }) => [uid, controller, blockOwnerDeletion]),
      [[gateway.metadata.uid, true, true]],
    );
  }
  const requests = cluster.requests.length;
  reconcile([planned]);
  reconcile([{ ...planned, ports: [...planned.ports] }]);
  // Something that has to be done shows that everything before it was.
  reconcile([plan(gateway)]);
  await waitFor(
    'the optional objects are gone',
    () => cluster.find('PodDisruptionBudget', 'default/web-proxy') === undefined,
  );
  assert.deepEqual(
    cluster.requests.slice(requests).filter(({ kind }) => kind === 'ServiceAccount' || kind === 'Service'),
    [],
  );
  assert.deepEqual(events, []);
});

test('fields that are no longer said go away, and those of others stay', async (context) => {
  const { cluster, deploy, makeGateway, plan } = await startDeployFixture(context);
  const gateway = makeGateway('web');
  await deploy(plan(gateway, { replicas: 2, resources: { limits: { memory: '1Gi' } } }));
  cluster.change(
    'Deployment',
    'default/web-proxy',
    ({ metadata }) => void (metadata.annotations = { 'example.com/note': 'mine' }),
  );
  const read = (): LiveDeployment => cluster.find('Deployment', 'default/web-proxy') as unknown as LiveDeployment;
  assert.equal(read().spec.replicas, 2);
  // What was made by POST counts as applied: it goes when it is not said any more.
  await deploy(plan(gateway, {}));
  await waitFor('nobody says how many any more', () => read().spec.replicas === undefined);
  await deploy(plan(gateway, { replicas: 3 }));
  await waitFor('three replicas', () => read().spec.replicas === 3);
  assert.equal(read().spec.template.spec.containers[0]?.resources['limits'], undefined);
  await deploy(plan(gateway, {}));
  await waitFor('nobody says how many', () => read().spec.replicas === undefined);
  assert.deepEqual(cluster.find('Deployment', 'default/web-proxy')?.metadata.annotations, {
    'example.com/note': 'mine',
  });
  // Applied with the uid of what was looked at.
  const applies = cluster.requests.filter(({ verb, kind }) => verb === 'apply' && kind === 'Deployment');
  assert.ok(applies.length >= 2);
  const { uid } = cluster.find('Deployment', 'default/web-proxy')!.metadata;
  for (const { body } of applies) assert.equal((body as { metadata: { uid: string } }).metadata.uid, uid);
});

test('another leader takes over what is there without changing it', async (context) => {
  const first = await startDeployFixture(context);
  const gateway = first.makeGateway('web');
  const parameters = { replicas: 2, overlays: { podDisruptionBudget: {} } };
  await first.deploy(first.plan(gateway, parameters));
  await first.deployer.stop();
  const before = first.cluster.find('Deployment', 'default/web-proxy');
  const second = await startDeployFixture(context, first.cluster);
  await second.deploy(second.plan(gateway, parameters));
  const after = first.cluster.find('Deployment', 'default/web-proxy');
  assert.equal(after?.metadata.uid, before?.metadata.uid);
  assert.equal(after?.metadata.generation, before?.metadata.generation);
  assert.deepEqual(after?.['spec'], before?.['spec']);
});

test('the authority of the controller is in a ConfigMap that follows it, and goes with TLS', async (context) => {
  const { cluster, deploy, makeGateway, plan, reconcile } = await startDeployFixture(context);
  const planned = plan(makeGateway('web'));
  await deploy(planned);
  assert.equal(cluster.find('ConfigMap', 'default/web-proxy'), undefined);
  for (const xdsCa of ['one', 'two']) {
    reconcile([planned], { settings: { ...usualSettings, xdsCa } });
    await waitFor(`authority ${xdsCa}`, () => {
      const data = cluster.find('ConfigMap', 'default/web-proxy')?.['data'] as Record<string, string> | undefined;
      return data?.['ca.crt'] === xdsCa;
    });
  }
  reconcile([planned]);
  await waitFor('no ConfigMap', () => cluster.find('ConfigMap', 'default/web-proxy') === undefined);
});

test('what somebody changes or deletes is repaired', async (context) => {
  const { cluster, deploy, makeGateway, plan, listWrites } = await startDeployFixture(context);
  await deploy(plan(makeGateway('web')));
  const readType = (): unknown =>
    (cluster.find('Service', 'default/web-proxy')?.['spec'] as { type: unknown } | undefined)?.type;
  for (const type of ['ClusterIP', 'NodePort', 'ExternalName']) {
    cluster.change('Service', 'default/web-proxy', (service) => void (service['spec'].type = type));
    await waitFor(`${type} is undone`, () => readType() === 'LoadBalancer');
  }
  for (const kind of ['ServiceAccount', 'Service', 'Deployment']) {
    const { uid } = cluster.find(kind, 'default/web-proxy')!.metadata;
    cluster.delete(kind, 'default/web-proxy');
    await waitFor(`another ${kind}`, () => {
      const found = cluster.find(kind, 'default/web-proxy');
      return found !== undefined && found.metadata.uid !== uid;
    });
  }
  // Statuses, and fields that are not ours, are no reason to write.
  const writes = listWrites().length;
  cluster.change('Deployment', 'default/web-proxy', (deployment) => {
    deployment['status'] = { readyReplicas: 1 };
    deployment.metadata.annotations = { 'deployment.kubernetes.io/revision': '1' };
    deployment['spec'].replicas = 5;
  });
  cluster.delete('ServiceAccount', 'default/web-proxy');
  await waitFor('one more write', () => listWrites().length > writes);
  assert.deepEqual(listWrites().slice(writes), ['create ServiceAccount web-proxy']);
});

test('the autoscaler keeps its number of pods', async (context) => {
  const { cluster, deploy, makeGateway, plan } = await startDeployFixture(context);
  const gateway = makeGateway('web');
  const readReplicas = (): unknown =>
    (cluster.find('Deployment', 'default/web-proxy')!['spec'] as { replicas: unknown }).replicas;
  await deploy(plan(gateway, { replicas: 4 }));
  const autoscaled = { replicas: 4, overlays: { horizontalPodAutoscaler: {} } };
  await deploy(plan(gateway, autoscaled));
  await waitFor('an autoscaler', () => cluster.find('HorizontalPodAutoscaler', 'default/web-proxy') !== undefined);
  assert.equal(readReplicas(), 4, 'nobody else has set it: letting go of it would leave one pod');
  cluster.change('Deployment', 'default/web-proxy', (deployment) => void (deployment['spec'].replicas = 7));
  await deploy(plan(gateway, { ...autoscaled, logging: { level: 'debug' } }));
  await waitFor('the level is applied', () =>
    JSON.stringify(cluster.find('Deployment', 'default/web-proxy')).includes('"debug"'),
  );
  assert.equal(readReplicas(), 7);
  const last = cluster.requests.findLast(({ verb, kind }) => verb === 'apply' && kind === 'Deployment')!;
  assert.equal((last.body as LiveDeployment).spec.replicas, undefined, 'it is the autoscaler that says how many');
});

test('addresses and pods are those of the live objects', async (context) => {
  const { cluster, deploy, makeGateway, plan, result } = await startDeployFixture(context);
  const gateway = makeGateway('web');
  await deploy(plan(gateway));
  assert.deepEqual(result('default/web'), {
    problem: undefined,
    addressProblem: undefined,
    addresses: [],
    replicas: { wanted: 1, ready: 0 },
    rollout: undefined,
  });
  cluster.change('Service', 'default/web-proxy', (service) => {
    service['status'] = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { hostname: 'lb.example.com' }, {}] } };
  });
  cluster.change('Deployment', 'default/web-proxy', (deployment) => void (deployment['status'] = { readyReplicas: 1 }));
  await waitFor('an address', () => (result('default/web')?.addresses.length ?? 0) > 0);
  await waitFor('a pod', () => result('default/web')?.replicas?.ready === 1);
  assert.deepEqual(result('default/web')?.addresses, [
    { type: 'IPAddress', value: '192.0.2.1' },
    { type: 'Hostname', value: 'lb.example.com' },
  ]);
  await deploy(plan(gateway, { service: { type: 'ClusterIP' } }));
  cluster.change('Service', 'default/web-proxy', (service) => {
    service['spec'].clusterIPs = ['10.96.0.1', 'fd00::1'];
  });
  await waitFor('cluster IPs', () => result('default/web')?.addresses[0]?.value === '10.96.0.1');
  assert.equal(result('default/web')?.addresses.length, 2);
});

test('an address that cannot be had keeps nothing from being deployed', async (context) => {
  const { deploy, makeGateway, plan, result } = await startDeployFixture(context);
  await deploy({ ...plan(makeGateway('web')), addresses: ['192.0.2.1', '192.0.2.2'] });
  assert.deepEqual(result('default/web'), {
    problem: undefined,
    addressProblem: 'spec.addresses: 192.0.2.2 cannot be assigned beside 192.0.2.1: a Service has one address',
    addresses: [],
    replicas: { wanted: 1, ready: 0 },
    rollout: undefined,
  });
});

test('without a port a Service that is there stays as it is', async (context) => {
  const { cluster, deploy, makeGateway, plan, listWrites } = await startDeployFixture(context);
  const planned = plan(makeGateway('web'));
  await deploy(planned);
  const service = cluster.find('Service', 'default/web-proxy');
  // Twice: what is left over from the first turn is removed before the second.
  for (const replicas of [2, 3]) {
    await deploy({ ...planned, ports: [], parameters: plan(planned.gateway, { replicas }).parameters });
    await waitFor(`${replicas} replicas`, () =>
      JSON.stringify(cluster.find('Deployment', 'default/web-proxy')).includes(`"replicas":${replicas}`),
    );
  }
  assert.equal(cluster.find('Service', 'default/web-proxy'), service);
  assert.ok(!listWrites().includes('delete Service web-proxy'));
});
