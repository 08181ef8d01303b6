// An API server that refuses, stumbles or goes away: one Gateway's trouble is its own, and all of it heals by itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, silentLog } from '../../src/base/log.ts';
import { startDeployFixture } from './deploy-fixture.ts';
import { startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

test('a refusal of the API server is reported on that Gateway and does not delay others', async (context) => {
  const { cluster, makeGateway, plan, reconcile, result, events } = await startDeployFixture(context);
  const refusal = {
    type: 'status',
    code: 422,
    reason: 'Invalid',
    message: 'Service "bad-proxy" is invalid: spec.ports',
  } as const;
  const heal = cluster.inject({
    kind: 'Service',
    verb: 'create',
    times: Number.POSITIVE_INFINITY,
    when: ({ body }) => (body as { metadata: { name: string } }).metadata.name === 'bad-proxy',
    fault: refusal,
  });
  reconcile([plan(makeGateway('bad')), plan(makeGateway('good'))]);
  await waitFor('the good one is deployed', () => result('default/good')?.replicas !== undefined);
  await waitFor(
    'the bad one says why',
    () => result('default/bad')?.problem?.includes('Service "bad-proxy" is invalid: spec.ports') === true,
  );
  assert.equal(result('default/good')?.problem, undefined);
  assert.ok(cluster.find('Deployment', 'default/bad-proxy') !== undefined, 'its other objects are made');
  assert.deepEqual(
    events.map(({ subject, reason }) => [subject.name, reason]),
    [['bad', 'DeployFailed']],
  );
  heal();
  await waitFor('it heals', () => result('default/bad')?.problem === undefined);
});

test('a moment of trouble is no news, and a long one is', async (context) => {
  const { cluster, makeGateway, plan, reconcile, result, deployer, events } = await startDeployFixture(context);
  const problems: unknown[] = [];
  deployer.results.subscribe((results) => problems.push(results.get('default/web')?.problem));
  cluster.inject({
    kind: 'Service',
    verb: 'create',
    times: 2,
    fault: { type: 'status', code: 500, message: 'etcd is busy' },
  });
  cluster.inject({ kind: 'Deployment', verb: 'get', times: 1, fault: { type: 'drop' } });
  const gateway = makeGateway('web');
  reconcile([plan(gateway)]);
  await waitFor('it is deployed', () => result('default/web')?.replicas !== undefined);
  assert.deepEqual(new Set(problems), new Set([undefined]));
  assert.deepEqual(events, []);

  const heal = cluster.inject({
    kind: 'Service',
    verb: 'apply',
    times: Number.POSITIVE_INFINITY,
    fault: { type: 'status', code: 500, message: 'failed calling webhook' },
  });
  reconcile([plan(gateway, { service: { type: 'NodePort' } })]);
  await waitFor('it is told', () => result('default/web')?.problem?.includes('failed calling webhook') === true);
  heal();
  await waitFor('it heals', () => result('default/web')?.problem === undefined);
});

test('a Gateway that goes with its namespace is no news', async (context) => {
  const { cluster, makeGateway, plan, reconcile, result, deployer, events } = await startDeployFixture(context);
  const problems: unknown[] = [];
  deployer.results.subscribe((results) => problems.push(results.get('default/web')?.problem));
  const refused = { type: 'status', code: 403, cause: 'NamespaceTerminating' } as const;
  cluster.inject({ kind: 'Service', verb: 'create', times: 2, fault: refused });
  reconcile([plan(makeGateway('web'))]);
  await waitFor('it is tried again', () => result('default/web')?.replicas !== undefined);
  assert.ok(cluster.find('Service', 'default/web-proxy') !== undefined);
  assert.deepEqual(new Set(problems), new Set([undefined]));
  assert.deepEqual(events, []);
});

test('a kind that may not be listed is named in the log', async (context) => {
  const cluster = await startFakeApiServer(context);
  const warnings: object[] = [];
  const log: Log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
  const heal = cluster.inject({
    kind: 'HorizontalPodAutoscaler',
    verb: 'list',
    times: Number.POSITIVE_INFINITY,
    fault: { type: 'status', code: 403, reason: 'Forbidden', message: 'may not list horizontalpodautoscalers' },
  });
  const { makeGateway, plan, reconcile } = await startDeployFixture(context, cluster, log);
  reconcile([plan(makeGateway('web'))]);
  await waitFor('it is told', () => warnings.length > 0);
  assert.match(JSON.stringify(warnings), /HorizontalPodAutoscaler.*may not list horizontalpodautoscalers/);
  heal();
  await waitFor('all is deployed', () => cluster.find('Deployment', 'default/web-proxy') !== undefined);
});

test('an API server that goes away and comes back', async (context) => {
  const { cluster, deploy, makeGateway, plan, reconcile, result } = await startDeployFixture(context);
  const gateway = makeGateway('web');
  await deploy(plan(gateway));
  await cluster.goAway();
  reconcile([plan(gateway, { replicas: 3 })]);
  await cluster.comeBack();
  await waitFor('it is deployed', () =>
    JSON.stringify(cluster.find('Deployment', 'default/web-proxy')).includes('"replicas":3'),
  );
  // Changes are still noticed.
  cluster.delete('Service', 'default/web-proxy');
  await waitFor('the Service is back', () => cluster.find('Service', 'default/web-proxy') !== undefined);
  await waitFor('all is well', () => result('default/web')?.problem === undefined);
});

test('conflicts are looked at again', async (context) => {
  const { cluster, deploy, makeGateway, plan, result } = await startDeployFixture(context);
  const gateway = makeGateway('web');
  await deploy(plan(gateway));
  cluster.inject({
    verb: 'apply',
    kind: 'Deployment',
    times: 3,
    fault: { type: 'status', code: 409, reason: 'Conflict' },
  });
  cluster.inject({
    verb: 'patch',
    kind: 'Deployment',
    times: 1,
    fault: { type: 'status', code: 409, reason: 'Conflict' },
  });
  await deploy(plan(gateway, { replicas: 2 }));
  await waitFor('two replicas', () =>
    JSON.stringify(cluster.find('Deployment', 'default/web-proxy')).includes('"replicas":2'),
  );
  assert.equal(result('default/web')?.problem, undefined);
});

test('after stop nothing is written', async (context) => {
  const { cluster, deploy, deployer, makeGateway, plan, reconcile } = await startDeployFixture(context);
  const gateway = makeGateway('web');
  await deploy(plan(gateway));
  const hang = new Promise(() => {});
  cluster.inject({ verb: 'get', kind: 'Deployment', fault: { type: 'wait', until: hang } });
  reconcile([plan(gateway, { replicas: 2 })]);
  await waitFor(
    'it is at work',
    () => cluster.requests.filter(({ verb, kind }) => verb === 'get' && kind === 'Deployment').length > 1,
  );
  await deployer.stop();
  const requests = cluster.requests.length;
  reconcile([plan(gateway, { replicas: 3 })]);
  cluster.delete('Service', 'default/web-proxy');
  assert.equal(cluster.requests.length, requests);
  assert.equal(cluster.find('Service', 'default/web-proxy'), undefined);
});

test('parameters that cannot be rendered change nothing', async (context) => {
  const { cluster, deploy, makeGateway, plan, reconcile, result } = await startDeployFixture(context);
  const gateway = makeGateway('web');
  await deploy(plan(gateway, { replicas: 2 }));
  const before = cluster.find('Deployment', 'default/web-proxy');
  reconcile([
    plan(gateway, { overlays: { deployment: { spec: { template: { spec: { containers: [{ image: 'x' }] } } } } } }),
  ]);
  await waitFor(
    'it is told',
    () => result('default/web')?.problem?.startsWith('an overlay cannot be applied') === true,
  );
  assert.equal(cluster.find('Deployment', 'default/web-proxy'), before);
});
