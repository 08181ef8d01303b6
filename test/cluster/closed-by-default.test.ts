// With `unprotectedRoutes: Deny` of the class nothing opens when protection goes away: a policy is deleted, all of them with their CRD, and the parameters with
// theirs, while two gateway pods are asked by strangers the whole time. Not one request of theirs may pass.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { crdChart } from '../chart/helm.ts';
import { createPolicy, createRoute, toService } from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { clearInstallation, installationNamespace, installController } from './installed-controller.ts';
import { deployProtectedGateway, type ProtectedGateway, protectingPolicy } from './protected-gateway.ts';
import { waitForCondition } from './resource-conditions.ts';
import { locateResource, locateResources, type ResourceName } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const home = claimNamespace('closed-by-default');
const route: ResourceName = { kind: 'HTTPRoute', name: 'guarded' };
const parameters = (name: string, namespace: string, spec: object): object => ({
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'GatewayParameters',
  metadata: { name, namespace },
  spec,
});
/** As deployProtectedGateway has it: pods stay as they are. */
const deployed = { replicas: 2, shutdown: { drain: '5s' } };
let cluster: Cluster;
let gateway: ProtectedGateway;

before(async () => {
  cluster = await joinCluster();
  await clearInstallation(cluster);
  await cluster.apply(parameters('closed', installationNamespace, { unprotectedRoutes: 'Deny' }));
  await installController(cluster, {
    values: { gatewayClassParametersRefs: { proxy: { name: 'closed', namespace: installationNamespace } } },
  });
  gateway = await deployProtectedGateway(cluster, 2);
});
after(async () => {
  if (cluster !== undefined) await restoreCrds();
  await leaveCluster();
});

/** For the next file. */
async function restoreCrds(): Promise<void> {
  await cluster.waitFor(
    async () => {
      // One that is on its way out can be written, and goes all the same.
      await cluster.applyFolder(join(crdChart, 'templates'));
      const found = await cluster.api.list('/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
      return !found.some(({ metadata }) => metadata.deletionTimestamp !== undefined);
    },
    { what: 'all CRDs are there' },
  );
  for (const kind of ['ProxyPolicy', 'GatewayParameters', 'ProxyBackend'])
    await cluster.waitFor(async () => (await cluster.api.list(locateResources(kind))).length >= 0, {
      what: `the kind ${kind} is served`,
    });
  await clearInstallation(cluster);
}

/** Strangers at both pods. Ends with the test at the latest. */
async function startStrangers(t: TestContext, path = '/guarded'): Promise<{ stop(): Promise<void> }> {
  const pods = await gateway.listPods();
  assert.equal(pods.length, 2);
  const answers = new Map<number, number>();
  const state = { isRunning: true };
  const loops = pods.flatMap(({ status }) =>
    Array.from({ length: 3 }, async () => {
      while (state.isRunning) {
        const code = await askPod(status.podIP ?? '', path);
        answers.set(code, (answers.get(code) ?? 0) + 1);
      }
    }),
  );
  const stop = async (): Promise<void> => {
    state.isRunning = false;
    await Promise.all(loops);
  };
  t.after(stop);
  return {
    async stop() {
      await stop();
      const count = [...answers.values()].reduce((sum, each) => sum + each, 0);
      t.diagnostic(
        `${count} requests of strangers: ${[...answers].map(([code, n]) => `${n} times ${code}`).join(', ')}`,
      );
      assert.ok(count > 0);
      assert.deepEqual(
        [...answers.keys()].filter((code) => code !== 401 && code !== 403),
        [],
      );
    },
  };
}

async function askPod(address: string, path: string): Promise<number> {
  const answer = await fetch(`http://${address}${path}`, { signal: AbortSignal.timeout(10_000) });
  await answer.arrayBuffer();
  return answer.status;
}

/** Waits until every pod answers so. */
async function waitForAnswer(path: string, code: number): Promise<void> {
  await cluster.waitFor(
    async () => {
      const pods = await gateway.listPods();
      const answers = await Promise.all(pods.map(({ status }) => askPod(status.podIP ?? '', path)));
      return answers.length === 2 && answers.every((each) => each === code);
    },
    { what: `every pod answers ${code} on ${path}` },
  );
}

const closedCondition = { type: 'Protected', status: 'False', reason: 'Unprotected', message: /closed has unprotectedRoutes: Deny/ } as const; // prettier-ignore

test('a new route is closed until a policy protects it, or opens it', async (t) => {
  await cluster.apply(createRoute('page', { path: '/page', to: toService('echo') }));
  const page = { kind: 'HTTPRoute', name: 'page' } as const;
  await waitForCondition(cluster, page, closedCondition);
  await waitForAnswer('/page', 403);
  const strangers = await startStrangers(t, '/page');
  await strangers.stop();
  const open = createPolicy('page', page, { traffic: { publicAccess: true } });
  await cluster.apply(open);
  await waitForAnswer('/page', 200);
  await waitForCondition(cluster, page, { type: 'Open', status: 'True', reason: 'PublicAccess' });
  await cluster.delete(open);
  await waitForAnswer('/page', 403);
});

test('a policy is deleted: its route closes, and says so', async (t) => {
  const strangers = await startStrangers(t);
  const policy = await cluster.api.get(locateResource(protectingPolicy));
  await cluster.api.delete(locateResource(protectingPolicy));
  await waitForAnswer('/guarded', 403);
  await waitForCondition(cluster, route, closedCondition);
  const { metadata, status: _status, ...rest } = policy as typeof policy & { status?: unknown };
  await cluster.apply({ ...rest, metadata: { name: metadata.name, namespace: metadata.namespace } });
  await waitForAnswer('/guarded', 401);
  await strangers.stop();
});

test('parameters of the Gateway cannot open it', async (t) => {
  const strangers = await startStrangers(t);
  await cluster.apply(parameters('web', home, { ...deployed, unprotectedRoutes: 'Allow' }));
  await waitForCondition(
    cluster,
    { kind: 'Gateway', name: 'web' },
    {
      type: 'Accepted',
      status: 'False',
      reason: 'InvalidParameters',
      message: /unprotectedRoutes must be Deny or absent/,
    },
  );
  await waitForAnswer('/page', 403);
  await cluster.apply(parameters('web', home, deployed));
  await waitForCondition(cluster, { kind: 'Gateway', name: 'web' }, { type: 'Accepted', status: 'True' });
  await strangers.stop();
});

test('the CRD of policies is deleted: all routes close, and stay closed in new pods', async (t) => {
  const strangers = await startStrangers(t);
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await cluster.api.delete(`${crds}/proxypolicies.gateway.proxy`);
  await waitForAnswer('/guarded', 403);
  await waitForCondition(cluster, route, closedCondition);
  // And the parameters that say so, with theirs.
  await cluster.api.delete(`${crds}/gatewayparameters.gateway.proxy`);
  await waitForCondition(cluster, route, { type: 'Protected', status: 'False', message: /does not exist/ });
  await waitForAnswer('/guarded', 403);
  await waitForAnswer('/page', 403);
  await strangers.stop();
  const [pod] = await gateway.listPods();
  await cluster.api.delete(locateResource({ kind: 'Pod', name: pod!.metadata.name }));
  await cluster.waitFor(
    async () => !(await gateway.listPods()).some(({ metadata }) => metadata.name === pod!.metadata.name),
    { what: 'another pod takes its place' },
  );
  await waitForAnswer('/guarded', 403);
});
