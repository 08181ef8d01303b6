// The control plane of the test cluster can be stopped, killed, paused and made to forget; pods do not mind.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ApiError } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { locatePod, observe, observedImages, type PodObject, startObservedPod } from './observed-pod.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('control-plane-faults');
let cluster: Cluster;

before(async () => {
  cluster = await joinCluster({ images: observedImages });
});
after(leaveCluster);

test('the API server is killed and comes back; pods go on, and what happened meanwhile is told', async () => {
  const address = await startObservedPod(cluster, 'through');
  await cluster.stopComponent('apiserver', 'SIGKILL');
  await assert.rejects(cluster.api.get(locatePod('through')));
  // The node restarts the container without asking anyone.
  await observe(address, '/exit?code=5');
  await cluster.waitFor(() => observe(address, '/ready'), { what: 'the container runs again' });
  await cluster.startComponent('apiserver');
  await cluster.waitForObject<PodObject>(
    locatePod('through'),
    ({ status }) =>
      status.containerStatuses?.[0]?.lastState['terminated']?.exitCode === 5 && status.containerStatuses[0].ready,
  );
  await startObservedPod(cluster, 'afterwards');
});

test('etcd is paused: writes wait or fail, and work again when it goes on', async () => {
  await cluster.pauseComponent('etcd');
  const create = cluster.api.create(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'waiting' } });
  const outcome = create.then(
    () => 'created',
    () => 'failed',
  );
  assert.equal(
    await Promise.race([outcome, new Promise((resolve) => setTimeout(() => resolve('waits'), 500))]),
    'waits',
  );
  await cluster.resumeComponent('etcd');
  await cluster.waitFor(
    () =>
      cluster.api.create(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'later' } }).then(
        () => true,
        (error: unknown) => error instanceof ApiError && error.status === 409,
      ),
    { what: 'writes work again' },
  );
  await outcome;
  await cluster.restartComponent('etcd', 'SIGKILL');
  await startObservedPod(cluster, 'after-etcd');
});

test('forgotten history answers 410 to who resumes from it', async () => {
  const { metadata } = await cluster.api.get<{ metadata: { resourceVersion: string } }>(
    `/api/v1/namespaces/${namespace}/configmaps`,
  );
  for (const name of ['a', 'b', 'c']) {
    await cluster.api.create(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name } });
  }
  await cluster.compactHistory();
  // The API server itself remembers for a while; a new one does not.
  await cluster.restartComponent('apiserver');
  const query = `?watch=1&resourceVersion=${metadata.resourceVersion}&timeoutSeconds=1`;
  const answer = await cluster.api
    .call<string>('GET', `/api/v1/namespaces/${namespace}/configmaps${query}`)
    .catch(String);
  assert.match(JSON.stringify(answer), /too old resource version|410|Expired/);
});

test('without the controller manager no pods come; with it they do', async () => {
  await cluster.stopComponent('controller-manager');
  await cluster.apply({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'managed', namespace },
    spec: {
      selector: { matchLabels: { app: 'managed' } },
      template: {
        metadata: { labels: { app: 'managed' } },
        spec: { containers: [{ name: 'echo', image: 'echo-basic' }] },
      },
    },
  });
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/managed`;
  type Deployment = PodObject & {
    readonly status: { readonly readyReplicas?: number; readonly observedGeneration?: number };
  };
  assert.equal((await cluster.api.get<Deployment>(path)).status.observedGeneration, undefined);
  await cluster.startComponent('controller-manager');
  await cluster.waitForObject<Deployment>(path, ({ status }) => status.readyReplicas === 1);
});
