// One of two gateway pods is cut off from the controller for longer than maxStaleness, under a steady load, while an audience is revoked. Expected: the pod says so
// and leaves the Service, and from then on nobody is served by the old policy; with `onStale: Close` the pod itself serves nobody any more.
import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { installController, type InstalledController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { deployProtectedGateway, type ProtectedGateway } from './protected-gateway.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const home = claimNamespace('fault-stale');
let cluster: Cluster;
let controller: InstalledController;
let gateway: ProtectedGateway;

before(async () => {
  cluster = await joinCluster();
  controller = await installController(cluster);
  gateway = await deployProtectedGateway(cluster, 2, { maxStaleness: '10s' });
});
after(leaveCluster);

interface EndpointSlice extends ApiObject {
  readonly endpoints?: readonly { readonly addresses: readonly string[]; readonly conditions: { ready?: boolean } }[];
}

/** The addresses that the Service of the gateway sends requests to. */
async function listEndpoints(): Promise<readonly string[]> {
  const slices = await cluster.api.list<EndpointSlice>(`/apis/discovery.k8s.io/v1/namespaces/${home}/endpointslices`);
  return slices
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'web-proxy')
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions.ready !== false)
    .flatMap(({ addresses }) => addresses);
}

const addressOf = ({ status }: PodObject): string => status.podIP ?? '';
/** Far more than the rules of the node need to spread connections over both pods. */
const askedOften = 60;

/** How many requests with a token for this audience are let in, each on its own connection. */
async function countPassed(audience: string): Promise<number> {
  const statuses: number[] = [];
  for (let count = 0; count < askedOften; count += 1) statuses.push(await gateway.askAs(audience));
  assert.ok(
    statuses.every((status) => status === 200 || status === 401),
    `answers other than 200 and 401: ${statuses.join()}`,
  );
  return statuses.filter((status) => status === 200).length;
}

interface CutOff {
  readonly pod: PodObject;
  readonly other: PodObject;
  readonly revoked: string;
  readonly change: Awaited<ReturnType<ProtectedGateway['change']>>;
  readonly heal: () => Promise<void>;
  /** When (Unix milliseconds). */
  readonly cutAt: number;
}

/** Cuts one pod off, and revokes what was let in a moment ago. */
async function cutOff(t: TestContext): Promise<CutOff> {
  const [pod, other] = (await gateway.listPods()) as [PodObject, PodObject];
  const { audience: revoked, madeAt } = await gateway.change();
  await gateway.expectChange(t, { audience: revoked, madeAt });
  const heal = await cluster.blackHole({ from: addressOf(pod), to: await controller.findAddress(), port: 9978 });
  const cutAt = Date.now();
  const change = await gateway.change();
  return { pod, other, revoked, change, heal, cutAt };
}

/** As GatewayParameters say. */
const maxStalenessMs = 10_000;

async function expectLeft({ pod, other, cutAt }: CutOff, t: TestContext): Promise<void> {
  await cluster.waitFor(async () => (await gateway.readMetric(pod, 'mcp_gateway_stale')) === 1, {
    what: 'the pod is stale',
  });
  const staleBy = Date.now();
  await cluster.waitFor(async () => (await listEndpoints()).join() === addressOf(other), {
    what: 'the pod has left the Service',
  });
  const seconds = (at: number): string => ((at - cutAt) / 1_000).toFixed(1);
  t.diagnostic(`stale after ${seconds(staleBy)} s, out of the Service after ${seconds(Date.now())} s`);
  const page = await fetch(`http://${addressOf(pod)}:15021/ready`);
  assert.equal(page.status, 503);
  const text = await page.text();
  const [, lastContact = ''] =
    /no contact with a controller since (\S+), longer than 10s \(maxStaleness\)/.exec(text) ?? [];
  assert.ok(
    Date.now() - Date.parse(lastContact) >= maxStalenessMs,
    `not before it was silent for long enough: ${text}`,
  );
  assert.equal(await gateway.readMetric(other, 'mcp_gateway_stale'), 0);
}

async function expectBack({ pod, heal, change }: CutOff, t: TestContext): Promise<void> {
  await heal();
  await gateway.expectChange(t, { ...change, madeAt: performance.now() });
  await cluster.waitFor(async () => (await listEndpoints()).length === 2, { what: 'the pod is back in the Service' });
  assert.equal(await gateway.readMetric(pod, 'mcp_gateway_stale'), 0);
}

test('a pod that is cut off leaves the Service: no request fails, and the old policy is not in force for anybody', async (t) => {
  const load = await gateway.startLoad(t);
  const cut = await cutOff(t);
  const { pod, other, revoked, change } = cut;
  assert.equal(await gateway.askAs(revoked, addressOf(pod)), 200, 'until it is stale it enforces the old policy');
  await expectLeft(cut, t);
  // The rules of the node follow the endpoints a little later.
  await cluster.waitFor(async () => (await countPassed(revoked)) === 0, { what: 'the revoked audience is out' });
  assert.equal(await countPassed(revoked), 0);
  assert.equal(await countPassed(change.audience), askedOften);
  assert.equal(await gateway.isEnforced(change.audience, [other]), true);
  assert.equal(await gateway.askAs(revoked, addressOf(pod)), 200, 'it still serves whoever reaches it');
  await expectBack(cut, t);
  await gateway.expectUnharmed(t, load);
});

test('with onStale: Close it also answers 503, after a restart from its snapshot as well', async (t) => {
  await cluster.api.patch(locateResource({ kind: 'GatewayParameters', name: 'web' }), { spec: { onStale: 'Close' } });
  const isAsked = ({ spec }: PodObject & { spec?: { containers: { env?: { name: string; value?: string }[] }[] } }) =>
    spec?.containers[0]?.env?.some(({ name, value }) => name === 'MCP_GATEHOUSE_ON_STALE' && value === 'close');
  await cluster.waitFor(
    async () => {
      const pods = await gateway.listPods();
      return pods.length === 2 && pods.every(isAsked) && (await listEndpoints()).length === 2;
    },
    { what: 'both pods were replaced' },
  );
  await cluster.waitFor(() => gateway.isEnforced('api'), { what: 'both serve' });
  const load = await gateway.startLoad(t);
  const cut = await cutOff(t);
  const { pod, revoked } = cut;
  await expectLeft(cut, t);
  for (const audience of ['api', revoked]) assert.equal(await gateway.askAs(audience, addressOf(pod)), 503);

  // Requests that reached it in the moment between are refused, and nothing else happened to them.
  await cluster.waitFor(async () => (await countPassed(revoked)) === 0, { what: 'nobody gets to the pod any more' });
  const refused = load.takeFailures();
  t.diagnostic(`${refused.length} requests were answered with 503 until the pod was out of the Service`);
  assert.deepEqual(
    refused.filter((failure) => !/ 503 .*"configuration_stale"/.test(failure)),
    [],
  );
  await load.waitForMore(200);
  assert.deepEqual(load.failures, []);

  await cluster.signalContainer({ namespace: home, pod: pod.metadata.name }, 'SIGKILL');
  await cluster.waitFor(
    async () => (await gateway.readMetric(pod, 'mcp_gateway_stale').catch(() => Number.NaN)) === 1,
    { what: 'the restarted process is stale' },
  );
  await cluster.waitFor(async () => (await gateway.askAs('api', addressOf(pod)).catch(() => 0)) === 503, {
    what: 'it answers from its snapshot: 503',
  });
  assert.deepEqual(load.failures, []);
  await expectBack(cut, t);
  await gateway.expectUnharmed(t, load);
});
