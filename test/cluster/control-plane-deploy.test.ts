// What the controller deploys on a cluster: side by side with what others have, and changed under load without a failed request.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ApiObject } from './api-client.ts';
import { createEcho, createGateway, createRoute, toService } from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { listDeployed, listGatewayPods, waitUntilReachable, waitForGatewayPod } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { installController, type InstalledController } from './installed-controller.ts';
import { listConditions, waitForCondition, waitForEvent, waitUntilWell } from './resource-conditions.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';
import { startSteadyLoad } from './steady-load.ts';

const namespace = claimNamespace('deployed');
interface EchoAnswer {
  readonly service: string;
  readonly pod: string;
}

let cluster: Cluster;
let controller: InstalledController;

const ask = async (address: string, port = 80): Promise<EchoAnswer | number> => {
  const answer = await fetch(`http://${address}:${port}/`, { headers: { connection: 'close' } });
  return answer.ok ? ((await answer.json()) as EchoAnswer) : answer.status;
};

before(async () => {
  // The next release of the gateway, as far as this cluster can tell.
  cluster = await joinCluster();
  await cluster.apply([...createEcho('first'), ...createEcho('second')]);
  controller = await installController(cluster);
});
after(async () => {
  await cluster?.delete(foreignClass);
  await leaveCluster();
});

test('two Gateways with the same port do not disturb each other', async () => {
  await cluster.apply([
    createGateway('web'),
    createGateway('other'),
    createRoute('to-first', { gateway: 'web', to: toService('first') }),
    createRoute('to-second', { gateway: 'other', to: toService('second') }),
  ]);
  await waitUntilWell(cluster, [
    { kind: 'GatewayClass', name: 'proxy' },
    { kind: 'Gateway', name: 'web' },
    { kind: 'Gateway', name: 'other' },
    { kind: 'HTTPRoute', name: 'to-first' },
    { kind: 'HTTPRoute', name: 'to-second' },
  ]);
  const [web, other] = [await waitUntilReachable(cluster, 'web'), await waitUntilReachable(cluster, 'other')];
  assert.notEqual(web, other);
  assert.equal(((await ask(web)) as EchoAnswer).pod, 'first');
  assert.equal(((await ask(other)) as EchoAnswer).pod, 'second');
  await cluster.delete(createGateway('other'));
  await cluster.waitFor(async () => (await listDeployed(cluster, 'other')).length === 0, { what: 'the other is gone' });
  assert.equal(((await ask(web)) as EchoAnswer).pod, 'first');
});

const foreignClass = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'theirs' },
  spec: { controllerName: 'example.com/other-controller' },
};

test('a Gateway and a GatewayClass of another controller are never touched', async () => {
  const foreign = createGateway('foreign', { gatewayClassName: 'theirs' });
  await cluster.apply([
    foreignClass,
    foreign,
    createRoute('to-foreign', { gateway: 'foreign', to: toService('first') }),
    // Applied after them: once it is well, they have been looked at.
    createRoute('afterwards', { gateway: 'web', path: '/afterwards', to: toService('first') }),
  ]);
  await waitUntilWell(cluster, [{ kind: 'HTTPRoute', name: 'afterwards' }]);
  const gateway = await cluster.api.get(locateResource({ kind: 'Gateway', name: 'foreign' }));
  const gatewayClass = await cluster.api.get(locateResource({ kind: 'GatewayClass', name: 'theirs' }));
  for (const object of [gateway, gatewayClass]) {
    const { managedFields } = object.metadata as { managedFields?: readonly { manager: string }[] };
    const managers = (managedFields ?? []).map(({ manager }) => manager);
    assert.deepEqual(managers, ['test'], `who wrote ${object.metadata.name}`);
  }
  const route = await cluster.api.get(locateResource({ kind: 'HTTPRoute', name: 'to-foreign' }));
  assert.deepEqual(listConditions(route), []);
  assert.deepEqual(await listDeployed(cluster, 'foreign'), []);
});

test('an object of somebody else that is in the way is never taken over, and the Gateway says so', async () => {
  const taken = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'taken-proxy', namespace },
    spec: {
      selector: { matchLabels: { app: 'somebody-else' } },
      template: {
        metadata: { labels: { app: 'somebody-else' } },
        spec: { containers: [{ name: 'echo', image: 'echo-basic' }] },
      },
    },
  };
  await cluster.apply(taken);
  const path = locateResource({ kind: 'Deployment', name: 'taken-proxy' });
  const { metadata: theirs } = await cluster.api.get(path);
  await cluster.apply(createGateway('taken'));
  const told = await waitForCondition(
    cluster,
    { kind: 'Gateway', name: 'taken' },
    { type: 'Programmed', status: 'False', message: /taken-proxy/ },
  );
  assert.match(told.message, /does not belong to this Gateway/);
  await waitForEvent(cluster, { kind: 'Gateway', name: 'taken' }, 'NotOwned');
  const { metadata: now } = await cluster.api.get(path);
  assert.deepEqual(
    [now.uid, now.generation, now.labels, now.ownerReferences],
    [theirs.uid, theirs.generation, theirs.labels, undefined],
  );
  // Once it is out of the way, the Gateway comes up by itself.
  await cluster.delete(taken);
  await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'taken' }]);
  await cluster.delete(createGateway('taken'));
});

const setParameters = (spec: object): Promise<void> =>
  cluster.apply({
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'GatewayParameters',
    metadata: { name: 'web', namespace },
    spec: { shutdown: { drain: '5s' }, ...spec },
  });

interface Deployment extends ApiObject {
  readonly spec: { readonly replicas: number };
  readonly status: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}

const waitForRollout = (isAsked: (text: string) => boolean): Promise<Deployment> =>
  cluster.waitForObject<Deployment>(
    locateResource({ kind: 'Deployment', name: 'web-proxy' }),
    ({ metadata, spec, status }) =>
      isAsked(JSON.stringify(spec)) &&
      status.observedGeneration === metadata.generation &&
      [status.replicas, status.updatedReplicas, status.availableReplicas].every((count) => count === spec.replicas),
    { what: 'the rollout is complete', timeoutMs: 180_000 },
  );

test('another image and other parameters roll out under load, and no request fails', async (t) => {
  await setParameters({ replicas: 2 });
  const parametersRef = { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'web' };
  await cluster.apply(createGateway('web', { infrastructure: { parametersRef } }));
  await waitForRollout((spec) => spec.includes('"replicas":2'));
  const old = new Set((await listGatewayPods(cluster, 'web')).map(({ metadata }) => metadata.name));
  const load = startSteadyLoad(`http://${await waitUntilReachable(cluster, 'web')}/`);
  await load.waitForMore(50);

  await setParameters({
    replicas: 2,
    image: { tag: '2.0.0' },
    logging: { level: 'debug' },
  });
  await waitForRollout((spec) => spec.includes('gateway:2.0.0') && spec.includes('"debug"'));
  const now = (await listGatewayPods(cluster, 'web')).map(({ metadata }) => metadata.name);
  assert.deepEqual(
    now.filter((name) => old.has(name)),
    [],
    'all pods are new ones',
  );
  await load.waitForMore(50);
  await setParameters({
    replicas: 1,
    image: { tag: '2.0.0' },
    logging: { level: 'debug' },
  });
  await waitForRollout((spec) => spec.includes('"replicas":1'));
  await cluster.waitFor(
    async () => (await listDeployed(cluster, 'web')).filter((object) => object.startsWith('Pod ')).length === 1,
    { what: 'one pod is left, and those before have ended' },
  );
  await load.waitForMore(50);
  await load.stop();
  t.diagnostic(`${load.completed} requests during the rollouts, ${load.failures.length} failed`);
  assert.deepEqual(load.failures, []);
  await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'web' }]);
});

test('a listener more opens its port without new pods', async () => {
  const pod = await waitForGatewayPod(cluster, 'web');
  const parametersRef = { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'web' };
  const listeners = [80, 8081].map((port) => ({ name: `port-${port}`, port, protocol: 'HTTP' }));
  await cluster.apply(createGateway('web', { infrastructure: { parametersRef }, listeners }));
  await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'web' }]);
  const address = await waitUntilReachable(cluster, 'web');
  await cluster.waitFor(async () => ((await ask(address, 8081)) as EchoAnswer).pod === 'first', {
    what: 'port 8081 answers',
  });
  assert.deepEqual(
    (await listGatewayPods(cluster, 'web')).map(({ metadata }) => metadata.name),
    [pod.metadata.name],
  );
});

test('the controller was never refused by the API server', async () => {
  assert.doesNotMatch(await controller.readLogs(), /forbidden/i);
});
