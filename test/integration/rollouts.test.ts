// Rollouts of deployed gateways: what Deployments and pods say reaches the result of the deployer, and from there the Gateway's conditions, Events and
// metrics; and leaves them again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  programGateway,
  putGateway,
  readConditions,
  startCluster,
  startReplica,
  waitForCondition,
} from './controller-fixture.ts';
import { startDeployFixture } from './deploy-fixture.ts';
import { startFakeApiServer, type FakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

const labels = {
  'app.kubernetes.io/managed-by': 'gateway.proxy-controller',
  'gateway.networking.k8s.io/gateway-name': 'web',
  'pod-template-hash': '5d9',
};

function putPod(cluster: FakeApiServer, name: string, status: object, more: object = {}): void {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-proxy-5d9', uid: 'a', controller: true };
  const metadata = { name, namespace: 'default', labels, ownerReferences: [owner], ...more };
  cluster.put({ apiVersion: 'v1', kind: 'Pod', metadata, status });
}

const unpullable = {
  phase: 'Pending',
  containerStatuses: [
    { name: 'gateway', image: 'a:2', state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } },
  ],
};

function setStatus(cluster: FakeApiServer, status: object, name = 'default/web-proxy'): void {
  cluster.change('Deployment', name, (deployment) => (deployment['status'] = { observedGeneration: 9, ...status }));
}

test('a stuck rollout is told by the pod, and no longer when it gets on', async (context) => {
  const { cluster, makeGateway, plan, deploy, result } = await startDeployFixture(context);
  await deploy(plan(makeGateway('web')));
  assert.equal(result('default/web')?.rollout, undefined, 'nobody has looked at the Deployment');

  setStatus(cluster, { replicas: 2, updatedReplicas: 1, availableReplicas: 1 });
  await waitFor('it is under way', () => result('default/web')?.rollout !== undefined);
  assert.deepEqual(result('default/web')?.rollout, {
    progress: '0 of 1 pods are up to date and ready',
    ready: 1,
    problem: undefined,
  });

  // Pods of others do not count, whatever their labels say.
  putPod(cluster, 'other', unpullable, { ownerReferences: [] });
  putPod(cluster, 'web-proxy-5d9-x', unpullable);
  const problem = {
    reason: 'ImagePullBackOff',
    message: 'pod web-proxy-5d9-x, container gateway: ImagePullBackOff: image a:2 cannot be pulled: not found',
  };
  await waitFor('it is stuck', () => result('default/web')?.rollout?.problem !== undefined);
  assert.deepEqual(result('default/web')?.rollout?.problem, problem);

  cluster.delete('Pod', 'default/web-proxy-5d9-x');
  await waitFor('it gets on', () => result('default/web')?.rollout?.problem === undefined);
  setStatus(cluster, { replicas: 1, updatedReplicas: 1, availableReplicas: 1 });
  await waitFor('it is done', () => result('default/web')?.rollout === undefined);
});

test('without the right to watch pods everything is deployed, and Deployments tell', async (context) => {
  const given = await startFakeApiServer(context);
  given.inject({
    kind: 'Pod',
    verb: 'list',
    times: Number.POSITIVE_INFINITY,
    fault: { type: 'status', code: 403, reason: 'Forbidden', message: 'pods is forbidden' },
  });
  const { cluster, makeGateway, plan, deploy, result } = await startDeployFixture(context, given);
  await deploy(plan(makeGateway('web')));
  const condition = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' };
  setStatus(cluster, { conditions: [condition] });
  await waitFor('it is stuck', () => result('default/web')?.rollout?.problem !== undefined);
  assert.deepEqual(result('default/web')?.rollout?.problem, {
    reason: 'FailedCreate',
    message: 'Deployment web-proxy: FailedCreate: exceeded quota',
  });
});

test('a Gateway is programmed by the pods of before, and says that its rollout is stuck', async (context) => {
  const cluster = await startCluster(context);
  putGateway(cluster);
  const replica = await startReplica(context, cluster);
  await programGateway(context, cluster, replica);
  const find = (type: string) => readConditions(cluster.find('Gateway', 'team/edge'))[type];
  const listEvents = () =>
    cluster.list('Event').filter(({ reason }) => reason === 'RolloutStuck') as readonly { readonly note?: string }[];
  const readMetric = async (): Promise<string | undefined> =>
    /mcp_gateway_controller_rollout_stuck\{.*/.exec(await replica.metrics.expose())?.[0];
  assert.equal(find('RolloutStuck'), undefined);
  assert.equal(await readMetric(), 'mcp_gateway_controller_rollout_stuck{gateway="team/edge",reason="None"} 0');

  const status = { replicas: 2, updatedReplicas: 1, availableReplicas: 1 };
  setStatus(cluster, status, 'team/edge-proxy');
  await waitForCondition(cluster, 'Gateway', 'team/edge', 'RolloutStuck', 'False');
  assert.equal(find('RolloutStuck')?.message, 'Rolling out: 0 of 1 pods are up to date and ready.');

  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'edge-proxy-5d9', uid: 'a', controller: true };
  putPod(cluster, 'edge-proxy-5d9-x', unpullable, { namespace: 'team', ownerReferences: [owner] });
  await waitForCondition(cluster, 'Gateway', 'team/edge', 'RolloutStuck', 'True');
  const why =
    'Pods do not get ready: pod edge-proxy-5d9-x, container gateway: ImagePullBackOff: image a:2 cannot be pulled: not found.';
  assert.deepEqual(
    [find('RolloutStuck')?.reason, find('RolloutStuck')?.message],
    ['ImagePullBackOff', `${why} 0 of 1 pods are up to date and ready; 1 ready pod keeps serving.`],
  );
  assert.equal(find('Programmed')?.status, 'True');
  assert.equal(
    await readMetric(),
    'mcp_gateway_controller_rollout_stuck{gateway="team/edge",reason="ImagePullBackOff"} 1',
  );
  await waitFor('the Event', () => listEvents().length > 0);

  // Later the Deployment says that it takes long; the kubelet tries again.
  const late = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'timed out' };
  setStatus(cluster, { ...status, conditions: [late] }, 'team/edge-proxy');
  await waitFor(
    'the Deployment is quoted',
    () => find('RolloutStuck')?.message.includes('ProgressDeadlineExceeded') === true,
  );
  assert.deepEqual(
    listEvents().map(({ note }) => note),
    [why],
  );

  cluster.delete('Pod', 'team/edge-proxy-5d9-x');
  setStatus(cluster, { replicas: 1, updatedReplicas: 1, availableReplicas: 1 }, 'team/edge-proxy');
  await waitFor('it is done', () => find('RolloutStuck') === undefined);
  assert.equal(await readMetric(), 'mcp_gateway_controller_rollout_stuck{gateway="team/edge",reason="None"} 0');
});
