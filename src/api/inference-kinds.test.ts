// InferencePool and Pod: defaults, constraints as the CRD has them, what is kept of a Pod, and when it is an endpoint.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findExtension, kindNames, listKinds } from './kinds.ts';
import { parseResource } from './parse-resource.ts';
import { readReadyAddress, type Pod } from './pod.ts';
import { fillTemplate, listProblems } from './testing/expect-problems.ts';

const poolTemplate =
  '{apiVersion: inference.networking.k8s.io/v1, kind: InferencePool, metadata: {name: a}, spec: {HERE}}';
const shape = 'selector: {matchLabels: {app: a}}, targetPorts: [{number: 8000}]';

function manyLabels(count: number): string {
  return Array.from({ length: count }, (_, index) => `l${index}: v`).join(', ');
}

describe('InferencePool', () => {
  const cases: readonly (readonly [yaml: string, ...expected: string[]])[] = [
    [shape],
    [`${shape}, endpointPickerRef: {name: p, port: {number: 9002}}`],
    ['', 'spec.selector: required: a mapping', 'spec.targetPorts: required: a list'],
    ['selector: {}, targetPorts: [{number: 1}]', 'spec.selector.matchLabels: required: a mapping'],
    [
      'selector: {matchLabels: {}}, targetPorts: [{number: 1}]',
      'spec.selector.matchLabels: must have at least one label',
    ],
    [`selector: {matchLabels: {${manyLabels(64)}}}, targetPorts: [{number: 1}]`],
    [
      `selector: {matchLabels: {${manyLabels(65)}}}, targetPorts: [{number: 1}]`,
      'spec.selector.matchLabels: must have at most 64 entries, has 65',
    ],
    [
      'selector: {matchLabels: {app: a b}}, targetPorts: [{number: 1}]',
      'spec.selector.matchLabels.app: must be letters, digits, "-", "_" and ".", and begin and end with a letter or digit',
    ],
    [
      'selector: {matchLabels: {app: a}, matchExpressions: []}, targetPorts: [{number: 1}]',
      'spec.selector.matchExpressions: unknown field; valid here: matchLabels',
    ],
    ['selector: {matchLabels: {app: a}}, targetPorts: []', 'spec.targetPorts: must have at least 1 entry, has 0'],
    [
      `selector: {matchLabels: {app: a}}, targetPorts: [${Array.from({ length: 9 }, (_, index) => `{number: ${index + 1}}`).join(', ')}]`,
      'spec.targetPorts: must have at most 8 entries, has 9',
    ],
    [
      'selector: {matchLabels: {app: a}}, targetPorts: [{number: 80}, {number: 81}, {number: 80}]',
      'spec.targetPorts[2].number: must be unique',
    ],
    ['selector: {matchLabels: {app: a}}, targetPorts: [{number: 0}]', 'spec.targetPorts[0].number: must be at least 1'],
    [`${shape}, appProtocol: grpc`, 'spec.appProtocol: must be one of http or kubernetes.io/h2c'],
    [`${shape}, endpointPickerRef: {port: {number: 1}}`, 'spec.endpointPickerRef.name: required: a string'],
    [`${shape}, endpointPickerRef: {name: p}`, 'spec.endpointPickerRef.port: required: the port of the Service'],
    [`${shape}, endpointPickerRef: {name: p, kind: Picker}`],
    [
      `${shape}, endpointPickerRef: {name: p, port: {number: 1}, failureMode: Fail}`,
      'spec.endpointPickerRef.failureMode: must be one of FailOpen or FailClose',
    ],
  ];
  for (const [yaml, ...expected] of cases)
    test(expected.length === 0 ? `good: ${yaml.slice(0, 120)}` : expected.join('; '), () =>
      assert.deepEqual(listProblems(fillTemplate(poolTemplate, yaml)), expected),
    );

  test('has the defaults of the CRD', () => {
    const raw = fillTemplate(poolTemplate, `${shape}, endpointPickerRef: {name: p, port: {number: 9002}}`);
    const result = parseResource(raw, { origin: 'file' });
    assert.ok(result.ok && result.kind === 'InferencePool');
    assert.equal(result.resource.spec.appProtocol, 'http');
    assert.deepEqual(result.resource.spec.endpointPickerRef, {
      group: '',
      kind: 'Service',
      name: 'p',
      port: { number: 9002 },
      failureMode: 'FailClose',
    });
  });

  test('is read with its own group only', () => {
    const raw = {
      apiVersion: 'inference.networking.x-k8s.io/v1alpha2',
      kind: 'InferencePool',
      metadata: { name: 'a' },
    };
    assert.deepEqual(listProblems(raw), ['apiVersion: must be inference.networking.k8s.io/v1 for kind InferencePool']);
  });
});

function parsePod(yaml: string): Pod {
  const raw = fillTemplate('{apiVersion: v1, kind: Pod, metadata: {name: a}, HERE}', yaml);
  for (const origin of ['file', 'kubernetes'] as const) {
    const result = parseResource(raw, { origin });
    assert.ok(result.ok && result.kind === 'Pod', `${yaml} from ${origin}`);
    if (origin === 'kubernetes') return result.resource;
  }
  throw new Error('not reached');
}

describe('Pod', () => {
  test('keeps what is read, and nothing of the rest', () => {
    const pod = parsePod(
      'spec: {containers: [{name: a, env: null}]}, other: null, status: {phase: Running, hostIP: x, podIP: 10.0.0.1, qosClass: null,' +
        ' conditions: [{type: Ready, status: "True", lastProbeTime: null, message: m}]}',
    );
    assert.deepEqual(pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a', namespace: 'default', labels: {} },
      status: { phase: 'Running', podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
    });
  });

  test('has an address of the right shape', () => {
    const raw = fillTemplate('{apiVersion: v1, kind: Pod, metadata: {name: a}, HERE}', 'status: {podIP: here}');
    assert.deepEqual(listProblems(raw), ['status.podIP: must be an IP address']);
  });

  const ready = 'conditions: [{type: Ready, status: "True"}]';
  const cases: readonly (readonly [status: string, address: string | undefined])[] = [
    [`phase: Running, podIP: 10.0.0.1, ${ready}`, '10.0.0.1'],
    [`phase: Running, podIP: "fd00::1", ${ready}`, 'fd00::1'],
    [`phase: Running, podIP: "", podIPs: [{ip: 10.0.0.2}, {ip: "fd00::1"}], ${ready}`, '10.0.0.2'],
    [`phase: Running, podIPs: [{}], ${ready}`, undefined],
    [`phase: Running, podIP: "", ${ready}`, undefined],
    [`phase: Running, ${ready}`, undefined],
    [`phase: Succeeded, podIP: 10.0.0.1, ${ready}`, undefined],
    [`podIP: 10.0.0.1, ${ready}`, undefined],
    ['phase: Running, podIP: 10.0.0.1', undefined],
    ['phase: Running, podIP: 10.0.0.1, conditions: [{type: Ready, status: "False"}]', undefined],
    ['phase: Running, podIP: 10.0.0.1, conditions: [{type: Initialized, status: "True"}]', undefined],
  ];
  for (const [status, address] of cases)
    test(`${address === undefined ? 'no endpoint' : `the endpoint ${address}`}: ${status}`, () =>
      assert.equal(readReadyAddress(parsePod(`status: {${status}}`)), address));

  test('that is going away is no endpoint', () => {
    const pod = parsePod(`status: {phase: Running, podIP: 10.0.0.1, ${ready}}`);
    const leaving = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-31T12:00:00Z' } };
    assert.equal(readReadyAddress(leaving), undefined);
  });
});

describe('extensions', () => {
  test('kinds of an extension are only listed with it', () => {
    assert.deepEqual(
      kindNames.filter((kind) => findExtension(kind) === 'inference'),
      ['InferencePool', 'Pod'],
    );
    assert.deepEqual(listKinds(['inference']), kindNames);
    assert.deepEqual(
      listKinds([]),
      kindNames.filter((kind) => kind !== 'InferencePool' && kind !== 'Pod'),
    );
  });
});
