// Much at once, under a steady load on two gateway pods: 500 policies that cannot be used, 2,000 routes, and more and fewer pods. Expected each time: no request fails, no
// stranger is let through, what a bad policy should protect is closed, and a change in the midst of it is enforced and told.
import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { createPolicy, createRoute, toService } from './cluster-resources.ts';
import { claimNamespace } from './file-namespace.ts';
import { installController, type InstalledController } from './installed-controller.ts';
import { deployProtectedGateway, type ProtectedGateway } from './protected-gateway.ts';
import { listConditions, waitForCondition } from './resource-conditions.ts';
import { locateResource, locateResources } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('fault-flood');
const badPolicies = 500;
const routes = 2_000;
const writers = 8;
/** A key that is not on its curve. */
const unusable = JSON.stringify({ keys: [{ kty: 'EC', crv: 'P-256', kid: 'broken', x: 'AAAA', y: 'AAAA' }] });
let cluster: Cluster;
let controller: InstalledController;
let gateway: ProtectedGateway;

before(async () => {
  cluster = await joinCluster();
  controller = await installController(cluster);
  gateway = await deployProtectedGateway(cluster, 2);
});
after(leaveCluster);

/** Does something for every number below a count, a few at a time. */
async function forEach(count: number, act: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: writers }, work));
}

const create = (kind: string, object: object): Promise<unknown> =>
  cluster.api.create(locateResources(kind, namespace), object);

/** What a pod answers to somebody without a token. */
async function askPod(address: string, path: string): Promise<number> {
  const answer = await fetch(`http://${address}${path}`, { signal: AbortSignal.timeout(30_000) });
  await answer.arrayBuffer();
  return answer.status;
}

/** Every so often one of them, at both pods. */
async function askSome(count: number, path: (index: number) => string): Promise<ReadonlyMap<number, number>> {
  const answers = new Map<number, number>();
  const pods = await gateway.listPods();
  for (let index = 0; index < count; index += 7)
    for (const { status } of pods) {
      const code = await askPod(status.podIP ?? '', path(index));
      answers.set(code, (answers.get(code) ?? 0) + 1);
    }
  return answers;
}

/** Waits until all objects of a kind that were made here are told so. */
async function waitUntilAllTold(
  t: TestContext,
  kind: string,
  prefix: string,
  count: number,
  isTold: (object: ApiObject) => boolean,
): Promise<void> {
  const since = performance.now();
  await cluster.waitFor(
    async () => {
      const objects = await cluster.api.list(locateResources(kind, namespace));
      return objects.filter((object) => object.metadata.name.startsWith(prefix) && isTold(object)).length === count;
    },
    { what: `all ${count} are told`, intervalMs: 500 },
  );
  t.diagnostic(`all ${count} were told ${Math.round(performance.now() - since)} ms after the last was written`);
}

const isCondition = (object: ApiObject, type: string, status: string): boolean =>
  listConditions(object).some((told) => told.type === type && told.status === status);

test(`${badPolicies} policies that cannot be used: what they should protect is closed, and nobody else notices`, async (t) => {
  const load = await gateway.startLoad(t);
  await forEach(badPolicies, async (index) => {
    const name = `bad-${index}`;
    // The controller finds fault with half of them, gateways with the others.
    const keys = { name: 'company', issuer: 'https://idp.example.com', jwks: { inline: unusable } };
    const traffic =
      index % 2 === 0
        ? { authorization: { action: 'Allow', policy: { matchExpressions: ['jwt.team =='] } } }
        : { jwtAuthentication: { providers: [keys] } };
    // First the policy: the route is never there without it.
    await create('ProxyPolicy', createPolicy(name, { kind: 'HTTPRoute', name }, { traffic }));
    await create('HTTPRoute', createRoute(name, { path: `/${name}`, to: toService('echo') }));
  });
  await gateway.proveChange(t);
  await waitUntilAllTold(
    t,
    'ProxyPolicy',
    'bad-',
    badPolicies,
    (object) => isCondition(object, 'Accepted', 'False') || isCondition(object, 'Programmed', 'False'),
  );
  await cluster.waitFor(
    async () => [...(await askSome(badPolicies, (index) => `/bad-${index}`)).keys()].join() === '500',
    { what: 'both pods have the routes' },
  );
  const answers = await askSome(badPolicies, (index) => `/bad-${index}`);
  t.diagnostic(`answers: ${[...answers].map(([code, count]) => `${count} times ${code}`).join(', ')}`);
  assert.deepEqual([...answers.keys()], [500], 'not one request passed');
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});

test(`${routes} routes: a change in the midst of them is enforced and told`, async (t) => {
  const load = await gateway.startLoad(t);
  const made = forEach(routes, (index) =>
    create('HTTPRoute', createRoute(`many-${index}`, { path: `/many-${index}`, to: toService('echo') })),
  );
  await gateway.proveChange(t);
  await made;
  await gateway.proveChange(t);
  await waitUntilAllTold(t, 'HTTPRoute', 'many-', routes, (object) => isCondition(object, 'Accepted', 'True'));
  await cluster.waitFor(async () => [...(await askSome(routes, (index) => `/many-${index}`)).keys()].join() === '200', {
    what: 'both pods serve them',
  });
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
  await cluster.waitFor(async () => (await controller.readMetric('mcp_gateway_controller_status_pending')) === 0, {
    what: 'no status waits to be written',
  });
});

interface Deployment extends ApiObject {
  readonly status: { readonly replicas?: number; readonly readyReplicas?: number };
}

test('more pods, and fewer', async (t) => {
  const load = await gateway.startLoad(t);
  for (const replicas of [4, 2]) {
    await cluster.api.patch(locateResource({ kind: 'GatewayParameters', name: 'web' }), { spec: { replicas } });
    const change = await gateway.change();
    await cluster.waitForObject<Deployment>(
      locateResource({ kind: 'Deployment', name: 'web-proxy' }),
      ({ status }) => status.replicas === replicas && status.readyReplicas === replicas,
      { what: `${replicas} pods are ready` },
    );
    await cluster.waitFor(async () => (await gateway.listPods()).length === replicas, {
      what: `there are ${replicas} pods`,
    });
    await gateway.expectChange(t, change);
    await waitForCondition(cluster, { kind: 'Gateway', name: 'web' }, { type: 'Programmed', status: 'True' });
  }
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});
