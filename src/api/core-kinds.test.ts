// Service, EndpointSlice, Secret, ConfigMap, Namespace: defaults, constraints, and reading of entries.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readConfigMapEntry, type ConfigMap } from './config-map.ts';
import { matchesLabels } from './label-selector.ts';
import { parseResource } from './parse-resource.ts';
import { readSecretEntry, type Secret } from './secret.ts';
import { fillTemplate, listProblems } from './testing/expect-problems.ts';

type Cases = readonly (readonly [yaml: string, ...expected: string[]])[];

function run(template: string, cases: Cases): void {
  for (const [yaml, ...expected] of cases)
    test(expected.length === 0 ? `good: ${yaml}` : expected.join('; '), () =>
      assert.deepEqual(listProblems(fillTemplate(template, yaml)), expected),
    );
}

function toHex(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes).toString('hex');
}

describe('Service', () => {
  const service = '{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {HERE}}';
  run(service, [
    ['', 'spec.ports: required: at least one port'],
    ['clusterIP: None'],
    ['ports: [{port: 80}]'],
    ['ports: [{}]', 'spec.ports[0].port: required: a whole number'],
    ['ports: [{port: 80, name: A}]', 'spec.ports[0].name: must be lower-case letters, digits and "-"'],
    ['ports: [{port: 80}, {port: 81, name: b}]', 'spec.ports[0].name: required when there are several ports'],
    ['ports: [{port: 80, name: a}, {port: 81, name: a}]', 'spec.ports[1].name: must be unique'],
    ['ports: [{port: 80, name: a}, {port: 80, name: b}]', 'spec.ports[1].port: must be unique for its protocol'],
    ['ports: [{port: 80, name: a}, {port: 80, name: b, protocol: UDP}]'],
    ['ports: [{port: 80, protocol: HTTP}]', 'spec.ports[0].protocol: must be one of TCP, UDP or SCTP'],
    ['ports: [{port: 80, targetPort: 0}]', 'spec.ports[0].targetPort: must be at least 1'],
    ['ports: [{port: 80, targetPort: {}}]', 'spec.ports[0].targetPort: must be a port number or the name of a port'],
    ['type: ExternalName', 'spec.externalName: required with type ExternalName'],
    [
      'type: ExternalName, externalName: "http://a"',
      'spec.externalName: must be a lower-case host name without a port',
    ],
    ['type: ExternalName, externalName: mcp.example.com.'],
    ['type: ExternalName, externalName: a.b, ports: [{port: 80, targetPort: 80}]'],
    [
      'type: ExternalName, externalName: a.b, ports: [{port: 80, targetPort: 3001}]',
      'spec.ports[0].targetPort: has no effect with type ExternalName: connections go to `port`',
    ],
    ['externalName: a.b, ports: [{port: 80}]', 'spec.externalName: has no effect without type: ExternalName'],
    [
      'type: Headless, ports: [{port: 80}]',
      'spec.type: must be one of ClusterIP, NodePort, LoadBalancer or ExternalName',
    ],
    [
      'ports: [{port: 80}], selector: {app: a}',
      'spec.selector: files have no pods to select: write an EndpointSlice with the label kubernetes.io/service-name, or use a ProxyBackend with a static target',
    ],
    [
      'ports: [{port: 80}], sessionAffinity: ClientIP',
      'spec.sessionAffinity: not supported yet: a ProxyBackend keeps MCP sessions on their endpoint',
    ],
    ['ports: [{port: 80}], sessionAffinity: Cookie', 'spec.sessionAffinity: must be one of None or ClientIP'],
    ['ports: [{port: 80}], internalTrafficPolicy: Local', 'spec.internalTrafficPolicy: not supported yet'],
  ]);
  test('its name is a DNS label that begins with a letter', () =>
    assert.deepEqual(
      listProblems(
        fillTemplate('{apiVersion: v1, kind: Service, metadata: {name: HERE}, spec: {clusterIP: None}}', '1a'),
      ),
      ['metadata.name: must be lower-case letters, digits and "-", begin with a letter and end with a letter or digit'],
    ));
  test('what only files refuse is fine in Kubernetes', () =>
    assert.deepEqual(
      listProblems(fillTemplate(service, 'externalName: a.b, ports: [{port: 80}], selector: {a: b}'), 'kubernetes'),
      [],
    ));
  test('defaults', () => {
    const result = parseResource(fillTemplate(service, 'ports: [{port: 80}]'), { origin: 'file' });
    assert.ok(result.ok && result.kind === 'Service');
    assert.deepEqual(result.resource.spec, { type: 'ClusterIP', ports: [{ name: '', port: 80, protocol: 'TCP' }] });
  });
});

describe('EndpointSlice', () => {
  const slice = '{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, HERE}';
  run(slice, [
    ['endpoints: []', 'addressType: required: one of IPv4, IPv6 or FQDN'],
    ['addressType: DNS', 'addressType: must be one of IPv4, IPv6 or FQDN'],
    ['addressType: IPv4, endpoints: [{}]', 'endpoints[0].addresses: required: a list'],
    ['addressType: IPv4, endpoints: [{addresses: []}]', 'endpoints[0].addresses: must have at least 1 entry, has 0'],
    [
      'addressType: IPv4, endpoints: [{addresses: ["::1"]}]',
      'endpoints[0].addresses[0]: must be an IPv4 address such as 127.0.0.1',
    ],
    [
      'addressType: IPv6, endpoints: [{addresses: [127.0.0.1]}]',
      'endpoints[0].addresses[0]: must be an IPv6 address such as ::1',
    ],
    [
      'addressType: FQDN, endpoints: [{addresses: ["*.a"]}]',
      'endpoints[0].addresses[0]: must be a lower-case host name',
    ],
    [
      'addressType: IPv4, endpoints: [{addresses: [127.0.0.1, 127.0.0.1]}]',
      'endpoints[0].addresses[1]: must not be listed twice',
    ],
    [
      'addressType: IPv4, endpoints: [{addresses: [127.0.0.1], conditions: {ready: 1}}]',
      'endpoints[0].conditions.ready: must be true or false, not a number',
    ],
    ['addressType: IPv4, ports: [{name: a, port: 1}, {name: a, port: 2}]', 'ports[1].name: must be unique'],
    ['addressType: IPv4, ports: [{port: 0}]', 'ports[0].port: must be at least 1'],
    [
      'addressType: IPv4, endpoints: [{addresses: [127.0.0.1], condition: {}}]',
      'endpoints[0].condition: unknown field; did you mean `conditions`?',
    ],
  ]);
});

describe('Secret and ConfigMap', () => {
  run('{apiVersion: v1, kind: Secret, metadata: {name: a}, HERE}', [
    ['data: {a: "not base64!"}', 'data.a: must be base64'],
    ['data: {a: YQ}', 'data.a: must be base64'],
    ['data: {"a/b": ""}', 'data["a/b"]: the key must be letters, digits, "-", "_" and "." only'],
    ['stringData: {a: 7}', 'stringData.a: must be a string, not a number: put it in quotes'],
    ['type: 7', 'type: must be a string, not a number: put it in quotes'],
    [
      'spec: {}',
      'spec: unknown field; valid here: apiVersion, kind, metadata, type, immutable, data, stringData, status',
    ],
  ]);
  run('{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, HERE}', [
    ['data: {a: {}}', 'data.a: must be a string, not a mapping'],
    ['data: {a: x}, binaryData: {a: ""}', 'binaryData.a: must not be in `data` as well'],
    ['binaryData: {a: "?"}', 'binaryData.a: must be base64'],
    ['status: {}', 'status: remove it: status is written by the gateway, not read'],
  ]);
  const metadata = { name: 'a', namespace: 'default', labels: {}, annotations: {} };
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: 'Opaque',
    data: { a: 'AAE=', b: 'YQ==' },
    stringData: { b: 'ü' },
  };
  test('entries of a Secret: bytes from base64, text wins, nothing inherited', () => {
    assert.equal(toHex(readSecretEntry(secret, 'a')), '0001');
    assert.equal(toHex(readSecretEntry(secret, 'b')), 'c3bc');
    assert.equal(readSecretEntry(secret, 'c'), undefined);
    assert.equal(readSecretEntry(secret, 'constructor'), undefined);
  });
  test('entries of a ConfigMap', () => {
    const configMap: ConfigMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { a: 'x' },
      binaryData: { b: 'AAE=' },
    };
    assert.equal(toHex(readConfigMapEntry(configMap, 'a')), '78');
    assert.equal(toHex(readConfigMapEntry(configMap, 'b')), '0001');
    assert.equal(readConfigMapEntry(configMap, 'toString'), undefined);
  });
});

describe('Namespace', () =>
  run('{apiVersion: v1, kind: Namespace, metadata: {HERE}}', [
    [
      'name: a.b',
      'metadata.name: must be lower-case letters, digits and "-", and begin and end with a letter or digit',
    ],
    ['name: a, namespace: b', 'metadata.namespace: remove it: this kind belongs to no namespace'],
  ]));

describe('label selectors', () => {
  const labels = { team: 'tickets', stage: 'prod' };
  const cases: readonly (readonly [string, Parameters<typeof matchesLabels>[0], boolean])[] = [
    ['empty', {}, true],
    ['label', { matchLabels: { team: 'tickets' } }, true],
    ['other value', { matchLabels: { team: 'x' } }, false],
    ['absent label', { matchLabels: { constructor: 'x' } }, false],
    ['In', { matchExpressions: [{ key: 'stage', operator: 'In', values: ['dev', 'prod'] }] }, true],
    ['In, absent', { matchExpressions: [{ key: 'x', operator: 'In', values: ['dev'] }] }, false],
    ['NotIn', { matchExpressions: [{ key: 'stage', operator: 'NotIn', values: ['dev'] }] }, true],
    ['NotIn, absent', { matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['dev'] }] }, true],
    ['NotIn, listed', { matchExpressions: [{ key: 'stage', operator: 'NotIn', values: ['prod'] }] }, false],
    ['Exists', { matchExpressions: [{ key: 'stage', operator: 'Exists' }] }, true],
    ['Exists, absent', { matchExpressions: [{ key: 'x', operator: 'Exists' }] }, false],
    ['DoesNotExist', { matchExpressions: [{ key: 'stage', operator: 'DoesNotExist' }] }, false],
    [
      'all must hold',
      { matchLabels: { team: 'tickets' }, matchExpressions: [{ key: 'x', operator: 'Exists' }] },
      false,
    ],
  ];
  for (const [name, selector, expected] of cases)
    test(name, () => assert.equal(matchesLabels(selector, labels), expected));
});
