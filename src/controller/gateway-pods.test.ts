// Which pods of a Gateway take traffic, by the EndpointSlices of its Service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EndpointSlice, endpointSliceSchema } from '../api/endpoint-slice.ts';
import { listGatewayPods } from './gateway-pods.ts';

type Conditions = EndpointSlice['endpoints'][number]['conditions'];

function createSlice(name: string, pods: Readonly<Record<string, Conditions>>, labels: object = {}): EndpointSlice {
  return endpointSliceSchema.parse({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name,
      namespace: 'team',
      labels: {
        'kubernetes.io/service-name': 'edge-proxy',
        'gateway.networking.k8s.io/gateway-name': 'edge',
        ...labels,
      },
    },
    addressType: 'IPv4',
    endpoints: Object.entries(pods).map(([pod, conditions], index) => ({
      addresses: [`10.0.0.${index + 1}`],
      conditions,
      targetRef: { kind: 'Pod', name: pod },
    })),
  });
}

function read(
  ...slices: readonly EndpointSlice[]
): readonly [serving: string[], unready: string[], retiring: string[]] | undefined {
  const pods = listGatewayPods(slices).get('team/edge-proxy');
  return pods && [[...pods.serving], [...pods.unready], [...pods.retiring]];
}

test('pods that are ready serve, of all slices, each once', () => {
  const slices = [createSlice('a', { one: { ready: true }, two: {} }), createSlice('b', { one: {}, three: {} })];
  assert.deepEqual(read(...slices), [['one', 'two', 'three'], [], []]);
});

test('pods that are not ready do not; those that terminate retire while others serve', () => {
  const terminating = { ready: false, serving: true, terminating: true };
  const slice = createSlice('a', { starting: { ready: false }, old: terminating, young: { ready: true } });
  assert.deepEqual(read(slice), [['young'], ['starting'], ['old']]);
});

test('without one that is ready, those that still serve while they terminate get the traffic', () => {
  const slice = createSlice('a', {
    starting: { ready: false, serving: false },
    old: { ready: false, serving: true, terminating: true },
    older: { ready: false, serving: false, terminating: true },
  });
  assert.deepEqual(read(slice), [['old'], ['starting'], []]);
});

test('Services of others, and endpoints that are not pods, do not count', () => {
  const other = createSlice('a', { one: {} });
  const { 'gateway.networking.k8s.io/gateway-name': _gateway, ...labels } = other.metadata.labels;
  assert.equal(read({ ...other, metadata: { ...other.metadata, labels } }), undefined);
  const [endpoint] = other.endpoints;
  const bare = { ...other, endpoints: [{ ...endpoint!, targetRef: undefined }] };
  assert.deepEqual(read(bare), [[], [], []]);
  assert.equal(read(), undefined);
});
