// How pods of the test cluster begin, fail, begin again and end, seen from outside.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ApiError } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import {
  createObservedPod,
  locatePod,
  observe,
  observedImages,
  type PodObject,
  startObservedPod,
  waitUntilReady,
} from './observed-pod.ts';
import { listDescendants } from './process-tree.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('pod-lifecycle');
let cluster: Cluster;

before(async () => {
  cluster = await joinCluster({ images: observedImages });
});
after(leaveCluster);

const waitUntilGone = (name: string): Promise<true> =>
  cluster.waitFor(
    () =>
      cluster.api.get(locatePod(name)).then(
        () => undefined,
        (error: unknown) => (error instanceof ApiError && error.status === 404 ? true : undefined),
      ),
    { what: `the pod ${name} is gone` },
  );

const waitForRestart = (name: string, count: number): Promise<PodObject> =>
  cluster.waitForObject<PodObject>(
    locatePod(name),
    ({ status }) => status.containerStatuses?.[0]?.restartCount === count && status.containerStatuses[0].ready,
    { what: `the container of ${name} was restarted ${count} times and is ready` },
  );

test('a container that ends is started again, with its exit code in the status and its emptyDir intact', async () => {
  const address = await startObservedPod(cluster, 'restarted', {
    spec: { volumes: [{ name: 'kept', emptyDir: {} }] },
    container: { volumeMounts: [{ name: 'kept', mountPath: '/kept' }] },
  });
  await observe(address, '/write?path=/kept/file&content=kept');
  await observe(address, '/write?path=/tmp/file&content=lost');
  await observe(address, '/exit?code=3');
  const { status } = await waitForRestart('restarted', 1);
  assert.equal(status.containerStatuses?.[0]?.lastState['terminated']?.exitCode, 3);
  assert.equal(status.podIP, address);
  assert.deepEqual(
    await observe(address, '/read?path=/kept/file').then((file) => (file as { content: string }).content),
    'kept',
  );
  await assert.rejects(observe(address, '/read?path=/tmp/file'), /ENOENT/);

  await cluster.signalContainer({ namespace, pod: 'restarted' }, 'SIGKILL');
  const killed = await waitForRestart('restarted', 2);
  assert.equal(killed.status.containerStatuses?.[0]?.lastState['terminated']?.exitCode, 137);
  // Logs go on across runs.
  assert.equal((await cluster.logs(namespace, 'restarted')).match(/listening on 8080/g)?.length, 3);
});

test('a failed readiness probe takes a pod out, and a good one brings it back', async () => {
  const address = await startObservedPod(cluster, 'unready');
  await observe(address, '/set?ready=false');
  const isReady = (pod: PodObject): boolean => pod.status.containerStatuses?.[0]?.ready ?? false;
  const { status } = await cluster.waitForObject<PodObject>(locatePod('unready'), (pod) => !isReady(pod));
  assert.equal(status.conditions?.find(({ type }) => type === 'Ready')?.status, 'False');
  assert.equal(status.containerStatuses?.[0]?.restartCount, 0);
  await observe(address, '/set?ready=true');
  await cluster.waitForObject<PodObject>(locatePod('unready'), isReady);
});

/** On a busy machine a program takes long to listen: liveness counts from then on. SIGTERM before that is ignored by the first process of a container. */
const slowStart = { httpGet: { path: '/alive', port: 8080 }, periodSeconds: 1, failureThreshold: 1000 };

test('a failed liveness probe restarts the container, gracefully', async () => {
  const address = await startObservedPod(cluster, 'unwell', {
    container: {
      startupProbe: slowStart,
      livenessProbe: {
        httpGet: { path: '/alive', port: 8080 },
        periodSeconds: 1,
        failureThreshold: 2,
        timeoutSeconds: 10,
      },
    },
  });
  await observe(address, '/set?alive=false');
  await waitForRestart('unwell', 1);
  assert.match(await cluster.logs(namespace, 'unwell'), /SIGTERM\ndrained\n/);
  const { stdout } = await cluster.kubectl(['get', 'events', '-o', 'jsonpath={.items[*].message}']);
  assert.match(stdout, /Liveness probe failed: HTTP probe failed with statuscode: 500/);
});

test('gRPC probes ask for the health of a service', async () => {
  const probe = (service: string): object => ({
    grpc: { port: 9003, service },
    periodSeconds: 1,
    failureThreshold: 1,
    timeoutSeconds: 10,
  });
  const createPod = (name: string, readyService: string): object =>
    createObservedPod(name, {
      container: {
        env: [{ name: 'HEALTH_PORT', value: '9003' }],
        readinessProbe: probe(readyService),
        startupProbe: slowStart,
        livenessProbe: probe('alive'),
      },
    });
  await cluster.apply([createPod('healthy', 'ready'), createPod('unknown-service', 'other')]);
  const { status } = await waitUntilReady(cluster, 'healthy');
  const address = status.podIP ?? '';
  await observe(address, '/set?ready=false');
  await cluster.waitForObject<PodObject>(
    locatePod('healthy'),
    (pod) => pod.status.containerStatuses?.[0]?.ready === false,
  );
  await observe(address, '/set?ready=true');
  await waitUntilReady(cluster, 'healthy');
  await observe(address, '/set?alive=false');
  await waitForRestart('healthy', 1);
  assert.match(await cluster.logs(namespace, 'healthy'), /SIGTERM\ndrained\n/);
  const readEvents = async (): Promise<string> =>
    (await cluster.kubectl(['get', 'events', '-o', 'jsonpath={range .items[*]}{.message}{"\\n"}{end}'])).stdout;
  assert.match(await readEvents(), /Readiness probe failed: the server said NOT_SERVING\n/);
  assert.match(await readEvents(), /Liveness probe failed: the server said NOT_SERVING\n/);

  // Its server lives and answers, but knows no such service.
  await cluster.waitFor(
    async () => ((await cluster.logs(namespace, 'unknown-service')).match(/asked about other/g)?.length ?? 0) > 2,
    { what: 'it was asked three times' },
  );
  const [other] = (await cluster.api.get<PodObject>(locatePod('unknown-service'))).status.containerStatuses ?? [];
  assert.deepEqual([other?.ready, other?.restartCount], [false, 0]);
});

test('a startup probe holds the others back until it succeeds', async () => {
  const probe = (path: string): object => ({ httpGet: { path, port: 8080 }, periodSeconds: 1, failureThreshold: 2 });
  await cluster.apply(
    createObservedPod('starting', {
      container: {
        startupProbe: { exec: { command: ['test', '-e', '/kept/started'] }, periodSeconds: 1, failureThreshold: 1000 },
        // Would restart it, if it were asked.
        livenessProbe: { ...probe('/alive'), httpGet: { path: '/nowhere', port: 1 } },
        readinessProbe: probe('/ready'),
        volumeMounts: [{ name: 'kept', mountPath: '/kept' }],
      },
      spec: { volumes: [{ name: 'kept', emptyDir: {} }] },
    }),
  );
  const { status } = await cluster.waitForObject<PodObject>(
    locatePod('starting'),
    (pod) => pod.status.phase === 'Running',
  );
  assert.equal(status.containerStatuses?.[0]?.ready, false);
  assert.equal(status.containerStatuses?.[0]?.restartCount, 0);
  await cluster.exec({ namespace, pod: 'starting', command: ['sh', '-c', ': > /kept/started'] });
  // Now liveness is judged, and fails.
  await cluster.waitForObject<PodObject>(
    locatePod('starting'),
    (pod) => (pod.status.containerStatuses?.[0]?.restartCount ?? 0) > 0,
  );
});

test('a deleted pod gets SIGTERM, finishes what it does, and goes away', async () => {
  const address = await startObservedPod(cluster, 'leaving');
  const slow = observe<string>(address, '/slow?milliseconds=1500');
  await cluster.waitFor(async () => (await observe<string>(address, '/ready')) === 'ready', { what: 'it answers' });
  const { metadata } = await cluster.api.delete<PodObject>(locatePod('leaving'));
  assert.ok(metadata.deletionTimestamp !== undefined);
  assert.equal(await slow, 'slept');
  await waitUntilGone('leaving');
  assert.match(await cluster.logs(namespace, 'leaving'), /SIGTERM\ndrained\n$/);
  await assert.rejects(fetch(`http://${address}:8080/ready`, { signal: AbortSignal.timeout(2000) }));
});

test('a pod that does not listen is killed when its time is up; preStop comes first', async () => {
  await startObservedPod(cluster, 'stubborn', {
    spec: { terminationGracePeriodSeconds: 4, volumes: [{ name: 'kept', emptyDir: {} }] },
    container: {
      env: [{ name: 'STUBBORN', value: 'true' }],
      lifecycle: { preStop: { httpGet: { path: '/log?text=from+preStop', port: 8080 } } },
    },
  });
  await cluster.api.delete(locatePod('stubborn'));
  await waitUntilGone('stubborn');
  assert.match(await cluster.logs(namespace, 'stubborn'), /from preStop\nSIGTERM\n$/);
});

test('a pod that is deleted while it starts leaves no process', async () => {
  const createBrief = (index: number): object =>
    createObservedPod(`brief-${index}`, { container: { args: ['brief-pod'] } });
  for (let index = 0; index < 6; index += 1) {
    await cluster.api.create(`/api/v1/namespaces/${namespace}/pods`, createBrief(index));
    // At once, and while its process starts.
    if (index % 2 === 1) {
      await cluster.waitForObject<PodObject>(locatePod(`brief-${index}`), ({ status }) => status.podIP !== undefined);
    }
    await cluster.api.delete(locatePod(`brief-${index}`), { gracePeriodSeconds: 0 });
    await waitUntilGone(`brief-${index}`);
  }
  // The node has seen all of them when this one is ready.
  await startObservedPod(cluster, 'after-brief');
  await cluster.waitFor(() => listDescendants(process.pid).every(({ command }) => !command.includes('brief-pod')), {
    what: 'no process of a deleted pod is left',
  });
});

test('a Job succeeds or fails by its exit code, after its init containers', async () => {
  const createJob = (name: string, script: string): object => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace },
    spec: {
      backoffLimit: 0,
      template: {
        spec: {
          restartPolicy: 'Never',
          volumes: [{ name: 'shared', emptyDir: {} }],
          initContainers: [
            {
              name: 'first',
              image: 'shell',
              args: ['-c', 'echo first > /shared/file'],
              volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
            },
          ],
          containers: [
            {
              name: 'job',
              image: 'shell',
              args: ['-c', script],
              volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
            },
          ],
        },
      },
    },
  });
  await cluster.apply([createJob('good', 'grep first /shared/file'), createJob('bad', 'exit 4')]);
  const path = `/apis/batch/v1/namespaces/${namespace}/jobs`;
  type Job = PodObject & { readonly status: { readonly succeeded?: number; readonly failed?: number } };
  await cluster.waitForObject<Job>(`${path}/good`, ({ status }) => status.succeeded === 1);
  await cluster.waitForObject<Job>(`${path}/bad`, ({ status }) => status.failed === 1);
});

test('a Deployment rolls over without leaving anything behind', async () => {
  const createDeployment = (version: string): object => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'rolled', namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'rolled' } },
      template: {
        metadata: { labels: { app: 'rolled' } },
        spec: {
          terminationGracePeriodSeconds: 5,
          containers: [
            {
              name: 'observed',
              image: 'observed',
              env: [{ name: 'VERSION', value: version }],
              readinessProbe: { httpGet: { path: '/ready', port: 8080 } },
            },
          ],
        },
      },
    },
  });
  const waitForVersion = (version: string): Promise<readonly PodObject[]> =>
    cluster.waitFor(
      async () => {
        const pods = await cluster.api.list<PodObject>(
          `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3Drolled`,
        );
        const versions = await Promise.all(
          pods.map(({ status }) =>
            observe<Record<string, string>>(status.podIP ?? '', '/environment').then((all) => all['VERSION']),
          ),
        );
        return pods.length === 2 && versions.every((found) => found === version) ? pods : undefined;
      },
      { what: `two pods of version ${version}, and no others` },
    );
  await cluster.apply(createDeployment('1'));
  await waitForVersion('1');
  await cluster.apply(createDeployment('2'));
  const pods = await waitForVersion('2');
  await cluster.delete(createDeployment('2'));
  for (const { metadata } of pods) await waitUntilGone(metadata.name);
});

test('usage of a container is what the kernel counts', async () => {
  await startObservedPod(cluster, 'measured');
  const usage = await cluster.readUsage({ namespace, pod: 'measured' });
  assert.ok(usage.residentBytes > 20e6 && usage.residentBytes < 1e9, String(usage.residentBytes));
  assert.ok(usage.peakResidentBytes >= usage.residentBytes);
  assert.ok(usage.cpuSeconds > 0);
  await waitUntilReady(cluster, 'measured');
});
