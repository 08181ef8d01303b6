// New pods of a gateway do not get ready, under a steady load on the two of before. Expected each time: no request fails, no stranger is let through, within
// seconds the condition, an Event, a metric and `status` name the reason, and when the cause is gone so is all of that.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { listGatewayPods } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { installController, type InstalledController } from './installed-controller.ts';
import { deployProtectedGateway, type ProtectedGateway } from './protected-gateway.ts';
import {
  listConditions,
  type ToldCondition,
  type ToldEvent,
  waitForCondition,
  waitUntilWell,
} from './resource-conditions.ts';
import { locateResource, type ResourceName } from './resource-paths.ts';
import { CommandFailedError, runCommand } from './run-command.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('fault-rollout');
const web: ResourceName = { kind: 'Gateway', name: 'web' };
const program = join(import.meta.dirname, '../../bin/mcp-gatehouse.mjs');
let cluster: Cluster;
let controller: InstalledController;
let gateway: ProtectedGateway;

before(async () => {
  cluster = await joinCluster({ images: { 'gateway-that-crashes': { entrypoint: ['/bin/false'] } } });
  await setClass({});
  controller = await installController(cluster, {
    values: { gatewayClassParametersRefs: { proxy: { name: 'of-class', namespace } } },
  });
  gateway = await deployProtectedGateway(cluster, 2);
});
after(leaveCluster);

/** What an administrator gives all Gateways. */
async function setClass(spec: object): Promise<void> {
  await cluster.apply({
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'GatewayParameters',
    metadata: { name: 'of-class', namespace },
    spec,
  });
}

async function findStuck(): Promise<ToldCondition | undefined> {
  return listConditions(await cluster.api.get(locateResource(web))).find(({ type }) => type === 'RolloutStuck');
}

async function listEvents(): Promise<readonly ToldEvent[]> {
  const events = await cluster.api.list<ToldEvent>(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`);
  return events.filter(({ reason, regarding }) => reason === 'RolloutStuck' && regarding.name === web.name);
}

const readMetric = (reason: string): Promise<number> =>
  controller.readMetric('mcp_gateway_controller_rollout_stuck', `gateway="${namespace}/web",reason="${reason}"`);

async function readStatus(): Promise<string> {
  const flags = ['--kubeconfig', cluster.access.kubeconfigFile, '-n', namespace];
  try {
    return (await runCommand(process.execPath, [program, 'status', ...flags])).stdout;
  } catch (error) {
    if (!(error instanceof CommandFailedError)) throw error;
    return error.stdout;
  }
}

interface Deployment extends ApiObject {
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Whether Kubernetes has lost patience, after the three minutes that it is given (src/deploy/render-deployment.ts). */
async function isGivenUp(): Promise<boolean> {
  const { status } = await cluster.api.get<Deployment>(locateResource({ kind: 'Deployment', name: 'web-proxy' }));
  return status.conditions?.some(({ type, status: is }) => type === 'Progressing' && is === 'False') ?? false;
}

/** Waits until a rollout is told to be stuck, everywhere. */
async function expectStuck(t: TestContext, since: number, reason: string, words: RegExp): Promise<void> {
  const told = await waitForCondition(cluster, web, { type: 'RolloutStuck', status: 'True', reason });
  t.diagnostic(`told after ${((performance.now() - since) / 1_000).toFixed(1)} s: ${told.message}`);
  assert.equal(await isGivenUp(), false, 'told at the first try, not when Kubernetes gives the rollout up');
  assert.match(told.message, words);
  assert.match(told.message, /2 ready pods keep serving\.$/);
  await cluster.waitFor(async () => (await listEvents()).some(({ note }) => words.test(note)), {
    what: 'the Event',
  });
  assert.equal(await readMetric(reason), 1);
  const status = await readStatus();
  assert.match(status, new RegExp(`RolloutStuck is True, ${reason}`));
  assert.match(status, /What to do: /);
  assert.doesNotMatch(status, /All is well/);
  // The pods of before have the present configuration, and a change still reaches them.
  await waitForCondition(cluster, web, { type: 'Programmed', status: 'True' });
}

async function expectHealed(old: readonly string[]): Promise<void> {
  await cluster.waitFor(
    async () => {
      const pods = await listGatewayPods(cluster, 'web');
      const names = pods.map(({ metadata }) => metadata.name);
      return (await findStuck()) === undefined && names.length === 2 && !names.some((name) => old.includes(name));
    },
    { what: 'the rollout is complete', timeoutMs: 180_000 },
  );
  assert.equal(await readMetric('None'), 0);
  await waitUntilWell(cluster, [web]);
  assert.match(await readStatus(), /All is well\.\n$/);
}

const listNames = async (): Promise<readonly string[]> =>
  (await gateway.listPods()).map(({ metadata }) => metadata.name);

test('an image that cannot be pulled', async (t) => {
  const load = await gateway.startLoad(t);
  const old = await listNames();
  await setClass({ image: { repository: 'no-such-gateway', tag: '2.0.0' } });
  await expectStuck(
    t,
    performance.now(),
    'ImagePullBackOff',
    /ImagePullBackOff: image no-such-gateway:2\.0\.0 cannot be pulled/,
  );
  const pods = (await gateway.listPods()).filter(({ metadata }) => old.includes(metadata.name));
  assert.equal(pods.length, 2);
  await gateway.proveChange(t, pods);
  assert.equal((await listEvents()).length, 1, 'once');
  await setClass({ logging: { level: 'warn' } });
  await expectHealed(old);
  await gateway.expectUnharmed(t, load);
});

test('pods that crash', async (t) => {
  const load = await gateway.startLoad(t);
  const old = await listNames();
  await setClass({ image: { repository: 'gateway-that-crashes', tag: '2.0.0' } });
  await expectStuck(t, performance.now(), 'CrashLoopBackOff', /CrashLoopBackOff: it ended with exit code 1/);
  await setClass({ logging: { level: 'info' } });
  await expectHealed(old);
  await gateway.expectUnharmed(t, load);
});

test('pods that the namespace does not allow', async (t) => {
  const load = await gateway.startLoad(t);
  const old = await listNames();
  const path = `/api/v1/namespaces/${namespace}/limitranges`;
  await cluster.api.create(path, {
    metadata: { name: 'small' },
    spec: { limits: [{ type: 'Container', min: { memory: '64Gi' } }] },
  });
  t.after(() => cluster.api.delete(path));
  await setClass({ logging: { level: 'debug' } });
  await expectStuck(t, performance.now(), 'FailedCreate', /Deployment web-proxy: FailedCreate: .*forbidden/);
  await cluster.api.delete(`${path}/small`);
  await expectHealed(old);
  await gateway.expectUnharmed(t, load);
});
