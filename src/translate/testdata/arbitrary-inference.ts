// Arbitrary InferencePools and Pods, for property tests.
import * as fc from 'fast-check';
import { certificate } from './arbitrary-backends.ts';
import { backendPort } from './arbitrary-routes.ts';
import { core, gatewayApi, labels, name, namespace, optional, resource, seldom } from './arbitrary-values.ts';

const inferenceApi = 'inference.networking.k8s.io/v1';

const poolMetadata = fc.record({
  name,
  namespace,
  generation: optional(fc.nat(9)),
  annotations: fc.oneof(
    { weight: 2, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        { 'gateway.proxy/endpoint-picker-timeout': '2s' },
        { 'gateway.proxy/endpoint-picker-timeout': 'soon' },
        { 'gateway.proxy/endpoint-picker-ca': 'a' },
        { 'gateway.proxy/endpoint-picker-ca': 'b' },
        { 'gateway.proxy/endpoint-picker-what': '' },
        { 'gateway.proxy/endpoint-picker-server-name': 'picker.example.com' },
      ),
    },
  ),
});

/** An InferencePool. */
export const inferencePool = resource(
  inferenceApi,
  'InferencePool',
  {
    spec: fc.record({
      selector: fc.record({ matchLabels: fc.constantFrom({ app: 'x' }, { app: 'y' }, { app: 'y', tier: 'public' }) }),
      targetPorts: fc.constantFrom([{ number: 8000 }], [{ number: 8001 }, { number: 8000 }]),
      appProtocol: optional(fc.constantFrom('http', 'kubernetes.io/h2c')),
      endpointPickerRef: fc.option(
        fc.record({
          kind: seldom(fc.constant('Picker')),
          name: fc.constantFrom('a', 'b', 'a', 'b', 'nothing'),
          port: fc.record({ number: backendPort }),
          failureMode: optional(fc.constantFrom('FailOpen', 'FailClose')),
        }),
        { nil: undefined, freq: 7 },
      ),
    }),
  },
  poolMetadata,
);

/** A Pod in any state. */
export const pod = fc.record({
  apiVersion: fc.constant(core),
  kind: fc.constant('Pod'),
  metadata: fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    namespace,
    labels,
    deletionTimestamp: seldom(fc.constant('2026-01-01T00:00:00Z')),
  }),
  spec: fc.constant({ nodeName: 'node' }),
  status: fc.record({
    phase: fc.constantFrom('Running', 'Running', 'Running', 'Pending'),
    podIP: fc.constantFrom('10.0.0.1', '10.0.0.2', 'fd00::1', undefined),
    conditions: fc.constantFrom(
      [{ type: 'Ready', status: 'True' }],
      [{ type: 'Ready', status: 'True' }],
      [{ type: 'Ready', status: 'False' }],
      undefined,
    ),
  }),
});

// Chance alone seldom makes a way from a listener to a pool that can be used.
/** A Gateway, a route, a pool, its Pod and its picker that lead to each other; another Gateway may refuse the route. */
export const poolWay = fc
  .record({ ready: fc.boolean(), second: fc.boolean(), verified: fc.boolean() })
  .map(({ ready, second, verified }) => [
    {
      apiVersion: gatewayApi,
      kind: 'Gateway',
      metadata: { name: 'models', namespace: 'default' },
      spec: { gatewayClassName: 'proxy', listeners: [{ name: 'one', port: 7778, protocol: 'HTTP' }] },
    },
    {
      apiVersion: gatewayApi,
      kind: 'HTTPRoute',
      metadata: { name: 'models', namespace: 'default' },
      spec: {
        parentRefs: [{ name: 'models' }, ...(second ? [{ name: 'a', sectionName: 'none' }] : [])],
        rules: [
          {
            backendRefs: [
              { group: 'inference.networking.k8s.io', kind: 'InferencePool', name: 'models' },
              ...(second ? [{ group: 'inference.networking.k8s.io', kind: 'InferencePool', name: 'a' }] : []),
            ],
          },
        ],
      },
    },
    {
      apiVersion: inferenceApi,
      kind: 'InferencePool',
      metadata: {
        name: 'models',
        namespace: 'default',
        annotations: verified ? { 'gateway.proxy/endpoint-picker-ca': 'authority' } : {},
      },
      spec: {
        selector: { matchLabels: { app: 'models' } },
        targetPorts: [{ number: 8000 }],
        endpointPickerRef: { name: 'picker', port: { number: 9002 } },
      },
    },
    {
      apiVersion: core,
      kind: 'Service',
      metadata: { name: 'picker', namespace: 'default' },
      spec: { ports: [{ port: 9002 }] },
    },
    {
      apiVersion: core,
      kind: 'ConfigMap',
      metadata: { name: 'authority', namespace: 'default' },
      data: { 'ca.crt': certificate?.['tls.crt'] },
    },
    {
      apiVersion: core,
      kind: 'Pod',
      metadata: { name: 'models', namespace: 'default', labels: { app: 'models' } },
      status: {
        phase: 'Running',
        podIP: '10.0.0.9',
        conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      },
    },
  ]);
