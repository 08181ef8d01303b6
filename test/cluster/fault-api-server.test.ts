// Faults of the API server and of etcd under a steady load. Expected each time: no request fails, no stranger is let through, and afterwards a change is
// enforced and told.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ApiError, type ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { installationNamespace, installController, type InstalledController } from './installed-controller.ts';
import { deployProtectedGateway, protectingPolicy, type ProtectedGateway } from './protected-gateway.ts';
import { listShortcomings } from './resource-conditions.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('fault-api-server');
let cluster: Cluster;
let controller: InstalledController;
let gateway: ProtectedGateway;

before(async () => {
  cluster = await joinCluster();
  controller = await installController(cluster);
  gateway = await deployProtectedGateway(cluster, 2);
});
after(leaveCluster);

/** How often the containers of the controller were started again. */
async function countRestarts(): Promise<number> {
  const pods = await controller.listPods();
  return pods.reduce((sum, { status }) => sum + (status.containerStatuses?.[0]?.restartCount ?? 0), 0);
}

/** Without the API server, which says where the controller is only with etcd. */
const readMetrics = async (address: string): Promise<string> => (await fetch(`http://${address}:9092/metrics`)).text();

test('the API server is killed and comes back', async (t) => {
  const load = await gateway.startLoad(t);
  await cluster.restartComponent('apiserver', 'SIGKILL');
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});

test('etcd is away for longer than the leader may go on without having renewed its Lease', async (t) => {
  const load = await gateway.startLoad(t);
  const pods = await gateway.listPods();
  const address = await controller.findAddress();
  await cluster.stopComponent('etcd');
  await cluster.waitFor(async () => /^mcp_gateway_controller_leader(?:\{.*\})? 0$/m.test(await readMetrics(address)), {
    what: 'the leader has given up',
  });
  await cluster.startComponent('etcd');
  // The API server connects to etcd again kind by kind. That of pods may take ten seconds longer than others, and is not asked for here.
  await gateway.proveChange(t, pods);
  await gateway.expectUnharmed(t, load);
  assert.equal(await countRestarts(), 0, 'the controller has lived through it');
});

interface Deployment extends ApiObject {
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly object[] } } };
}

/** Lets the controller hang for as long as the machine needs: it would be restarted after half a minute. */
async function takeLivenessProbeAway(): Promise<void> {
  const path = locateResource({ kind: 'Deployment', name: 'proxy', namespace: installationNamespace });
  const { spec } = await cluster.api.get<Deployment>(path);
  const containers = spec.template.spec.containers.map((container) => ({ ...container, livenessProbe: null }));
  await cluster.api.patch(path, { spec: { template: { spec: { containers } } } });
  await controller.waitUntilReady();
}

test('what the controller has not seen yet is forgotten: it reads everything again', async (t) => {
  await takeLivenessProbeAway();
  const load = await gateway.startLoad(t);
  const countExpired = (): Promise<number> =>
    controller.readMetric('mcp_gateway_controller_relists_total', 'kind="ProxyPolicy",reason="expired"');
  const expiredBefore = await countExpired();
  const [pod] = await controller.listPods();
  const container = { namespace: installationNamespace, pod: pod!.metadata.name };
  await cluster.signalContainer(container, 'SIGSTOP');
  const change = await gateway.change();
  await cluster.compactHistory();
  await cluster.restartComponent('apiserver');
  assert.equal(await gateway.isEnforced(change.audience), false, 'nobody could tell the gateway');
  await cluster.signalContainer(container, 'SIGCONT');
  await gateway.expectChange(t, change);
  const expired = (await countExpired()) - expiredBefore;
  t.diagnostic(`the policies were listed again ${expired} times because what happened since was forgotten`);
  assert.ok(expired >= 1, 'the API server said Gone, and the change came with a list');
  // What happens from now on is seen as well.
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
  assert.equal(await countRestarts(), 0);
});

interface Ancestor {
  readonly ancestorRef: object;
  readonly controllerName: string;
  readonly conditions: readonly object[];
}
interface Policy extends ApiObject {
  readonly status: { readonly ancestors: readonly Ancestor[] };
}

const strangerName = 'example.com/other-controller';

/** An entry of another controller. */
function createForeignEntry(message: string): Ancestor {
  const condition = {
    type: 'Accepted',
    status: 'True',
    reason: 'Accepted',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  return {
    ancestorRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'web', namespace },
    controllerName: strangerName,
    conditions: [{ ...condition, message }],
  };
}

test('1,000 writes of somebody else to one status: theirs is kept, and ours ends up right', async (t) => {
  const load = await gateway.startLoad(t);
  const path = `${locateResource(protectingPolicy)}/status`;
  const conflictsBefore = await controller.readMetric('mcp_gateway_controller_status_conflicts_total');
  const writesBefore = await controller.readMetric('mcp_gateway_controller_status_writes_total');
  const theyDid = { written: 0, refused: 0, last: '' };
  const write = async (): Promise<void> => {
    const policy = await cluster.api.get<Policy>(path);
    const number = theyDid.written + 1;
    const others = policy.status.ancestors.filter(({ controllerName }) => controllerName !== strangerName);
    // Every tenth time they throw our entry away: a program that believes to be alone.
    const kept = number % 10 === 0 ? [] : others;
    const message = `write ${number}`;
    try {
      // With the version that it is based on: either theirs or ours is refused, and nothing is lost by accident.
      await cluster.api.call('PUT', path, {
        ...policy,
        status: { ancestors: [...kept, createForeignEntry(message)] },
      });
      theyDid.written += 1;
      theyDid.last = message;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
      theyDid.refused += 1;
    }
  };
  while (theyDid.written < 1_000) {
    await write();
    // Their writes meet ours.
    if (theyDid.written % 50 === 0) await gateway.change();
  }
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
  const policy = await cluster.api.get<Policy>(path);
  const ours = policy.status.ancestors.filter(({ controllerName }) => controllerName !== strangerName);
  assert.deepEqual(listShortcomings({ ...policy, status: { ancestors: ours } }), []);
  const theirs = policy.status.ancestors.filter(({ controllerName }) => controllerName === strangerName);
  assert.deepEqual(theirs, [createForeignEntry(theyDid.last)]);
  assert.equal(policy.status.ancestors.length, 2);
  const conflicts = (await controller.readMetric('mcp_gateway_controller_status_conflicts_total')) - conflictsBefore;
  const writes = (await controller.readMetric('mcp_gateway_controller_status_writes_total')) - writesBefore;
  t.diagnostic(
    `they wrote ${theyDid.written} times and were refused ${theyDid.refused} times; we wrote ${writes}, refused ${conflicts}`,
  );
});
