// InferencePools through the controller: nothing of it without the switch; with it their endpoints reach gateways, and their statuses the API server.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  controllerName,
  programGateway,
  putGateway,
  putRoute,
  readConditions,
  type Replica,
  startCluster,
  startReplica,
  type TestGateway,
  waitForCondition,
} from './controller-fixture.ts';
import type { Cleanup, FakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

const inferenceExtension = true;
const poolKey = 'InferencePool/team/model';

/** A pool, its picker's Service with one endpoint, and a route to the pool. */
function putPool(cluster: FakeApiServer): void {
  cluster.put({
    apiVersion: 'inference.networking.k8s.io/v1',
    kind: 'InferencePool',
    metadata: { namespace: 'team', name: 'model' },
    spec: {
      selector: { matchLabels: { app: 'model' } },
      targetPorts: [{ number: 8000 }, { number: 8001 }],
      endpointPickerRef: { name: 'picker', port: { number: 9002 } },
    },
  });
  cluster.put({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'team', name: 'picker' },
    spec: { clusterIP: '10.96.0.9', ports: [{ port: 9002, protocol: 'TCP', targetPort: 9002 }] },
  });
  cluster.put({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'team', name: 'picker-1', labels: { 'kubernetes.io/service-name': 'picker' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.9.9'], conditions: { ready: true } }],
    ports: [{ port: 9002, protocol: 'TCP' }],
  });
  putPoolRoute(cluster);
}

function putPoolRoute(cluster: FakeApiServer): void {
  cluster.put({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { namespace: 'team', name: 'model' },
    spec: {
      parentRefs: [{ name: 'edge' }],
      rules: [{ backendRefs: [{ group: 'inference.networking.k8s.io', kind: 'InferencePool', name: 'model' }] }],
    },
  });
}

function putModelPod(cluster: FakeApiServer, name: string, podIP: string, ready: 'True' | 'False' = 'True'): void {
  cluster.put({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'team', name, labels: { app: 'model' }, finalizers: ['example.com/grace'] },
    status: { phase: 'Running', podIP, conditions: [{ type: 'Ready', status: ready }] },
  });
}

/** The endpoints of the pool that a gateway has. */
function readEndpoints(gateway: TestGateway): readonly string[] | undefined {
  const backend = gateway.configuration?.backends.find(({ key }) => key === poolKey);
  if (backend?.kind.case !== 'inference') return undefined;
  return backend.kind.value.upstream?.endpoints.map(({ host, port }) => `${host}:${port}`);
}

async function waitForEndpoints(gateway: TestGateway, expected: readonly string[]): Promise<void> {
  await waitFor(`the gateway has the endpoints ${expected.join(' ')}`, () =>
    readEndpoints(gateway)?.join() === expected.join() ? true : undefined,
  );
}

function readPoolParents(cluster: FakeApiServer): readonly (string | undefined)[] {
  const status = cluster.find('InferencePool', 'team/model')?.['status'] as
    | { readonly parents?: readonly { readonly controllerName?: string }[] }
    | undefined;
  return (status?.parents ?? []).map((parent) => parent.controllerName);
}

/** As two others may have written it: one who says who they are, and one who does not. */
const others = [
  { parentRef: { name: 'elsewhere' }, controllerName: 'example.com/other', conditions: [] },
  { parentRef: { namespace: 'team', name: 'edge' }, conditions: [] },
];
const otherNames = ['example.com/other', undefined];

async function startWithPool(context: Cleanup): Promise<[FakeApiServer, Replica, TestGateway]> {
  const cluster = await startCluster(context);
  putGateway(cluster);
  putPool(cluster);
  putModelPod(cluster, 'model-0', '10.0.0.7');
  const replica = await startReplica(context, cluster, { inferenceExtension });
  return [cluster, replica, await programGateway(context, cluster, replica)];
}

/** The leader watches the pods that it deploys. */
const ofGateways = 'app.kubernetes.io/managed-by=gateway.proxy-controller';

describe('without the switch', () => {
  test('a route that names a pool says so, and nobody ever asks for pools or lists pods of others', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putPool(cluster);
    putModelPod(cluster, 'model-0', '10.0.0.7');
    const replica = await startReplica(context, cluster);
    const gateway = await programGateway(context, cluster, replica);
    const told = await waitForCondition(cluster, 'HTTPRoute', 'team/model', 'ResolvedRefs', 'False', 'InvalidKind');
    assert.match(told.message, /inferenceExtension\.enabled/);
    putModelPod(cluster, 'model-1', '10.0.0.8');
    putRoute(cluster, 'team/last');
    await waitForCondition(cluster, 'HTTPRoute', 'team/last', 'Accepted', 'True');
    await replica.stopOnce();
    assert.equal(readEndpoints(gateway), undefined);
    assert.equal(cluster.find('InferencePool', 'team/model')!['status'], undefined);
    assert.deepEqual(
      cluster.requests
        .filter(
          ({ path, verb, kind, query }) =>
            path.includes('inference') ||
            (kind === 'Pod' && verb !== 'get' && query.get('labelSelector') !== ofGateways),
        )
        .map(({ verb, path }) => `${verb} ${path}`),
      [],
    );
    assert.doesNotMatch(await replica.metrics.expose(), /InferencePool|kind="Pod"/);
  });
});

describe('with the switch', () => {
  test('pods that become ready, are not any more, or go, change the endpoints of gateways', async (context) => {
    const [cluster, , gateway] = await startWithPool(context);
    await waitForEndpoints(gateway, ['10.0.0.7:8000', '10.0.0.7:8001']);
    putModelPod(cluster, 'model-1', '10.0.0.8', 'False');
    putModelPod(cluster, 'model-2', '10.0.0.9');
    await waitForEndpoints(gateway, ['10.0.0.7:8000', '10.0.0.7:8001', '10.0.0.9:8000', '10.0.0.9:8001']);
    putModelPod(cluster, 'model-1', '10.0.0.8');
    putModelPod(cluster, 'model-0', '10.0.0.7', 'False');
    await waitForEndpoints(gateway, ['10.0.0.8:8000', '10.0.0.8:8001', '10.0.0.9:8000', '10.0.0.9:8001']);
    // Its containers are given time to end: it is no endpoint from the beginning of that on.
    cluster.delete('Pod', 'team/model-2');
    await waitForEndpoints(gateway, ['10.0.0.8:8000', '10.0.0.8:8001']);
    assert.notEqual(cluster.find('Pod', 'team/model-2'), undefined);
    cluster.change('Pod', 'team/model-1', (pod) => (pod.metadata.labels = { app: 'other' }));
    await waitForEndpoints(gateway, []);
  });

  test('what nodes write into pods again and again sends gateways nothing', async (context) => {
    const [cluster, , gateway] = await startWithPool(context);
    await waitForEndpoints(gateway, ['10.0.0.7:8000', '10.0.0.7:8001']);
    const { applied } = gateway;
    for (let beat = 0; beat < 20; beat += 1)
      cluster.change('Pod', 'team/model-0', (pod) => {
        pod['status'].conditions[0].lastProbeTime = `2026-01-01T00:00:${10 + beat}Z`;
      });
    putModelPod(cluster, 'model-1', '10.0.0.8');
    await waitForEndpoints(gateway, ['10.0.0.7:8000', '10.0.0.7:8001', '10.0.0.8:8000', '10.0.0.8:8001']);
    assert.equal(gateway.applied, applied + 1);
  });

  test('the status of a pool says what its Gateway makes of it, beside what others say, and goes with the route', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putPool(cluster);
    cluster.change('InferencePool', 'team/model', (pool) => (pool['status'] = { parents: others }));
    const replica = await startReplica(context, cluster, { inferenceExtension });
    await programGateway(context, cluster, replica);
    await waitForCondition(cluster, 'InferencePool', 'team/model', 'Accepted', 'True', 'Accepted');
    await waitForCondition(cluster, 'InferencePool', 'team/model', 'ResolvedRefs', 'True', 'ResolvedRefs');
    await waitForCondition(cluster, 'HTTPRoute', 'team/model', 'ResolvedRefs', 'True');
    assert.deepEqual(readPoolParents(cluster), [...otherNames, controllerName]);

    cluster.delete('Service', 'team/picker');
    await waitForCondition(cluster, 'InferencePool', 'team/model', 'ResolvedRefs', 'False', 'InvalidExtensionRef');
    await waitForCondition(cluster, 'HTTPRoute', 'team/model', 'ResolvedRefs', 'False', 'BackendNotFound');

    cluster.delete('HTTPRoute', 'team/model');
    await waitFor('our entry is gone', () => !readPoolParents(cluster).includes(controllerName));
    assert.deepEqual(cluster.find('InferencePool', 'team/model')!['status'], { parents: others });
    putPoolRoute(cluster);
    await waitFor('our entry is back', () => readPoolParents(cluster).includes(controllerName));
    cluster.delete('Gateway', 'team/edge');
    await waitFor('our entry is gone with the Gateway', () => !readPoolParents(cluster).includes(controllerName));
    assert.deepEqual(readPoolParents(cluster), otherNames);
  });

  test('what somebody writes over is repaired; who was faster is read and kept', async (context) => {
    const [cluster, replica] = await startWithPool(context);
    await waitForCondition(cluster, 'InferencePool', 'team/model', 'Accepted', 'True');
    cluster.inject({ kind: 'InferencePool', verb: 'update', times: 3, fault: { type: 'status', code: 409 } });
    cluster.change('InferencePool', 'team/model', (pool) => (pool['status'] = { parents: others }));
    await waitFor('ours is back', () => readPoolParents(cluster).includes(controllerName));
    assert.deepEqual(readPoolParents(cluster), [...otherNames, controllerName]);
    assert.match(
      await replica.metrics.expose(),
      /mcp_gateway_controller_status_conflicts_total\{kind="InferencePool"\} 3/,
    );
  });

  test('a pool that no route of ours names is read, and never written', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putPool(cluster);
    cluster.delete('HTTPRoute', 'team/model');
    const replica = await startReplica(context, cluster, { inferenceExtension });
    await programGateway(context, cluster, replica);
    putRoute(cluster, 'team/last');
    await waitForCondition(cluster, 'ProxyBackend', 'team/last', 'Accepted', 'True');
    await replica.stopOnce();
    assert.deepEqual(
      cluster.requests.filter(({ kind, verb }) => kind === 'InferencePool' && verb === 'update'),
      [],
    );
    assert.equal(cluster.find('InferencePool', 'team/model')!['status'], undefined);
  });

  test('a pool that does not validate says why', async (context) => {
    const [cluster] = await startWithPool(context);
    await waitForCondition(cluster, 'InferencePool', 'team/model', 'Accepted', 'True');
    cluster.change('InferencePool', 'team/model', (pool) => (pool['spec'].targetPorts = []));
    const told = await waitForCondition(cluster, 'InferencePool', 'team/model', 'Accepted', 'False');
    assert.match(told.message, /targetPorts/);
    assert.equal(told.observedGeneration, 2);
    await waitForCondition(cluster, 'HTTPRoute', 'team/model', 'ResolvedRefs', 'False');
  });

  test('what a gateway cannot use is told beside the pool', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putPool(cluster);
    const replica = await startReplica(context, cluster, { inferenceExtension });
    await programGateway(context, cluster, replica, {
      judge: ({ backends }) =>
        backends
          .filter(({ key }) => key === poolKey)
          .map(({ key }) => ({ list: 'backends' as const, key, message: 'it is odd' })),
    });
    const event = await waitFor('there is an Event', () =>
      cluster.list('Event').find((each) => each['reason'] === 'Rejected'),
    );
    const { kind, name, apiVersion } = event['regarding'] as { kind: string; name: string; apiVersion: string };
    assert.deepEqual([apiVersion, kind, name], ['inference.networking.k8s.io/v1', 'InferencePool', 'model']);
  });

  test('our entry is taken out of a pool whose namespace is not looked after any more', async (context) => {
    const cluster = await startCluster(context);
    const label = (value: string): unknown =>
      cluster.change('Namespace', 'team', (namespace) => (namespace.metadata.labels = { served: value }));
    label('yes');
    putGateway(cluster);
    putPool(cluster);
    cluster.change('InferencePool', 'team/model', (pool) => (pool['status'] = { parents: others }));
    const replica = await startReplica(context, cluster, {
      inferenceExtension,
      namespaceSelectors: [{ matchLabels: { served: 'yes' } }],
    });
    await programGateway(context, cluster, replica);
    await waitFor('our entry is there', () => readPoolParents(cluster).includes(controllerName));
    label('no');
    await waitFor('our entry is gone', () => !readPoolParents(cluster).includes(controllerName));
    assert.deepEqual(readPoolParents(cluster), otherNames);
  });

  test('without the CRD the controller is ready, and serves everything else', async (context) => {
    const cluster = await startCluster(context);
    cluster.uninstall('InferencePool');
    putGateway(cluster);
    putRoute(cluster);
    putPoolRoute(cluster);
    const replica = await startReplica(context, cluster, { inferenceExtension });
    await programGateway(context, cluster, replica);
    assert.equal(replica.health.read().ready, true);
    await waitForCondition(cluster, 'HTTPRoute', 'team/tickets', 'ResolvedRefs', 'True');
    await waitForCondition(cluster, 'HTTPRoute', 'team/model', 'ResolvedRefs', 'False', 'BackendNotFound');
    assert.equal(readConditions(cluster.find('HTTPRoute', 'team/model'))['Accepted']?.status, 'True');
  });
});
