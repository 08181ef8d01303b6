import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind } from '../../api/kinds.ts';
import type { KubernetesObject } from '../../kubernetes/client.ts';
import { type CachedObject, cacheObject } from './cached-object.ts';
import { watchedKindsByName } from './watched-kinds.ts';

function cache(object: object, before?: CachedObject): CachedObject {
  const given = object as KubernetesObject;
  return cacheObject(watchedKindsByName.get(given.kind as Kind)!, given, before);
}

function readResource(cached: CachedObject): Record<string, unknown> {
  assert.ok(cached.outcome.state === 'valid', JSON.stringify(cached.outcome));
  return cached.outcome.resource;
}

const gateway = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u1',
    resourceVersion: '7',
    generation: 2,
    creationTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['x.example/y'],
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', 'example.com/a': 'b' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u0' }],
  },
  spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
  status: { addresses: [] },
};

test('an object keeps its status and version beside the parsed form, which has neither', () => {
  const cached = cache(gateway);
  assert.equal(cached.uid, 'u1');
  assert.equal(cached.resourceVersion, '7');
  assert.equal(cached.generation, 2);
  assert.deepEqual(cached.status, { addresses: [] });
  const resource = readResource(cached);
  assert.equal(resource['status'], undefined);
  const metadata = resource['metadata'] as Record<string, unknown>;
  assert.equal(metadata['resourceVersion'], undefined);
  assert.equal(metadata['finalizers'], undefined);
  assert.deepEqual(metadata['annotations'], { 'example.com/a': 'b' });
  assert.equal(metadata['uid'], 'u1');
  assert.equal(metadata['generation'], 2);
  assert.equal((metadata['ownerReferences'] as unknown[]).length, 1);
});

test('the parsed form stays the same object while only status, version or finalizers change', () => {
  const first = cache(gateway);
  const second = cache(
    {
      ...gateway,
      metadata: { ...gateway.metadata, resourceVersion: '8', finalizers: [] },
      status: { addresses: [{ value: '10.0.0.1' }] },
    },
    first,
  );
  assert.equal(second.outcome, first.outcome);
  assert.equal(second.resourceVersion, '8');
  assert.deepEqual(second.status, { addresses: [{ value: '10.0.0.1' }] });
});

for (const [what, change] of Object.entries({
  spec: { spec: { ...gateway.spec, gatewayClassName: 'other' } },
  labels: { metadata: { ...gateway.metadata, labels: { a: 'b' } } },
  generation: { metadata: { ...gateway.metadata, generation: 3 } },
  uid: { metadata: { ...gateway.metadata, uid: 'u2' } },
  deletion: { metadata: { ...gateway.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' } },
}))
  test(`a change of ${what} is a change`, () => {
    const first = cache(gateway);
    assert.notEqual(cache({ ...gateway, ...change }, first).outcome, first.outcome);
  });

test('fields in another order are no change', () => {
  const first = cache(gateway);
  const { metadata, ...rest } = gateway;
  const second = cache(
    { ...rest, spec: Object.fromEntries(Object.entries(gateway.spec).toReversed()), metadata },
    first,
  );
  assert.equal(second.outcome, first.outcome);
});

test('what does not validate is told as such, and its status is still there', () => {
  const cached = cache({ ...gateway, spec: { listeners: 5 } });
  assert.ok(cached.outcome.state === 'invalid');
  const { kind, namespace, name, problems } = cached.outcome.invalid;
  assert.deepEqual({ kind, namespace, name }, { kind: 'Gateway', namespace: 'default', name: 'web' });
  assert.ok(problems.length > 0);
  assert.deepEqual(cached.status, { addresses: [] });
});

test('of a ConfigMap only the certificate authority is kept', () => {
  const base = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'x', annotations: { 'a/b': '1' } },
  };
  const first = cache({ ...base, data: { 'ca.crt': 'pem', 'settings.yaml': 'x'.repeat(1_000_000) } });
  assert.deepEqual(readResource(first)['data'], { 'ca.crt': 'pem' });
  const second = cache(
    { ...base, metadata: { ...base.metadata, annotations: { 'a/b': '2' } }, data: { 'ca.crt': 'pem', other: 'y' } },
    first,
  );
  assert.equal(second.outcome, first.outcome, 'what nobody reads is no change');
  assert.deepEqual(readResource(cache({ ...base, binaryData: { 'ca.crt': 'AAAA', x: 'AAAA' } }))['binaryData'], {
    'ca.crt': 'AAAA',
  });
});

test('an EndpointSlice loses pods and nodes, and may have null for its lists', () => {
  const base = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'a', namespace: 'x', labels: { 'kubernetes.io/service-name': 'a' } },
    addressType: 'IPv4',
  };
  assert.deepEqual(readResource(cache({ ...base, endpoints: null, ports: null }))['endpoints'], []);
  const endpoint = {
    addresses: ['10.0.0.1'],
    conditions: { ready: true },
    nodeName: 'n',
    zone: 'z',
    targetRef: { kind: 'Pod', name: 'p', uid: 'u' },
    hints: { forZones: [] },
  };
  const { endpoints } = readResource(cache({ ...base, endpoints: [endpoint], ports: [{ name: '', port: 80 }] }));
  assert.deepEqual(endpoints, [{ addresses: ['10.0.0.1'], conditions: { ready: true } }]);
  // Of a Gateway's own Service the pods are kept: they are compared with the gateways that are connected.
  const labels = { ...base.metadata.labels, 'gateway.networking.k8s.io/gateway-name': 'edge' };
  const own = cache({
    ...base,
    metadata: { ...base.metadata, labels },
    endpoints: [endpoint, { addresses: ['10.0.0.2'] }],
  });
  assert.deepEqual(readResource(own)['endpoints'], [
    { addresses: ['10.0.0.1'], conditions: { ready: true }, targetRef: { kind: 'Pod', name: 'p' } },
    { addresses: ['10.0.0.2'], conditions: {} },
  ]);
});

test('a Secret keeps its entries and has no status', () => {
  const cached = cache({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'a', namespace: 'x' },
    data: { k: 'dg==' },
    status: {},
  });
  assert.deepEqual(readResource(cached)['data'], { k: 'dg==' });
  assert.equal(cached.status, undefined);
});

test('a Namespace is its labels', () => {
  const cached = cache({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'a', labels: { team: 'x' }, annotations: { 'a/b': 'c' } },
  });
  assert.deepEqual((readResource(cached)['metadata'] as { labels: unknown }).labels, { team: 'x' });
});

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'model-0',
    namespace: 'default',
    uid: 'u1',
    resourceVersion: '7',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { app: 'model' },
    annotations: { 'example.com/a': 'b' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'model', uid: 'u0' }],
  },
  spec: { containers: [{ name: 'model', image: 'model', env: [{ name: 'TOKEN', value: 'x' }] }] },
  status: {
    phase: 'Running',
    hostIP: '192.0.2.1',
    podIP: '10.0.0.7',
    podIPs: [{ ip: '10.0.0.7' }, { ip: 'fd00::7' }],
    startTime: '2026-01-01T00:00:00Z',
    containerStatuses: [{ name: 'model', ready: true }],
    conditions: [
      { type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' },
      { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-01T00:00:01Z' },
    ],
  },
};

test('of a Pod only what makes it an endpoint is kept', () => {
  const cached = cache(pod);
  assert.equal(cached.status, undefined);
  assert.deepEqual(readResource(cached), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'model-0', namespace: 'default', labels: { app: 'model' } },
    status: { phase: 'Running', podIP: '10.0.0.7', conditions: [{ type: 'Ready', status: 'True' }] },
  });
});

test('what a node writes into a Pod again and again is no change; what makes it an endpoint is', () => {
  const first = cache(pod);
  const beat = {
    ...pod,
    metadata: { ...pod.metadata, resourceVersion: '8', annotations: { 'example.com/a': 'c' } },
    status: {
      ...pod.status,
      containerStatuses: [{ name: 'model', ready: true, restartCount: 1 }],
      conditions: pod.status.conditions.map((condition) => ({
        ...condition,
        lastProbeTime: '2026-01-01T00:01:00Z',
        lastTransitionTime: '2026-01-01T00:01:00Z',
      })),
    },
  };
  assert.equal(cache(beat, first).digest, first.digest);
  assert.equal(cache(beat, first).outcome, first.outcome);
  const [scheduled, ready] = pod.status.conditions;
  for (const change of [
    { metadata: { ...pod.metadata, labels: { app: 'other' } } },
    { metadata: { ...pod.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' } },
    { status: { ...pod.status, phase: 'Failed' } },
    { status: { ...pod.status, podIP: '10.0.0.8', podIPs: [{ ip: '10.0.0.8' }] } },
    { status: { ...pod.status, conditions: [scheduled, { ...ready, status: 'False' }] } },
    { status: { ...pod.status, conditions: [scheduled] } },
  ])
    assert.notEqual(cache({ ...pod, ...change }, first).outcome, first.outcome, JSON.stringify(change));
});

test('a Pod with the least that it can have', () => {
  const { status: _status, spec: _spec, ...least } = pod;
  assert.deepEqual(readResource(cache(least))['status'], {});
  const addressed = { ...least, status: { phase: 'Running', podIPs: [{ ip: '10.0.0.7' }], conditions: null } };
  assert.deepEqual(readResource(cache(addressed))['status'], { phase: 'Running', podIPs: [{ ip: '10.0.0.7' }] });
});
