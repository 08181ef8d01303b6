// Gateway and GatewayClass: defaults, and every constraint of the CRDs of Gateway API 1.6.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseResource } from './parse-resource.ts';
import { fillTemplate, listProblems } from './testing/expect-problems.ts';

const gateway =
  '{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: a}, spec: {gatewayClassName: proxy, HERE}}';
const http = 'listeners: [{name: http, port: 80, protocol: HTTP}]';

test('defaults', () => {
  const result = parseResource(
    fillTemplate(
      gateway,
      'listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: c}]}}], addresses: [{value: 127.0.0.1}]',
    ),
    { origin: 'file' },
  );
  assert.ok(result.ok);
  assert.deepEqual(result.resource, {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'a', namespace: 'default', labels: {}, annotations: {} },
    spec: {
      gatewayClassName: 'proxy',
      listeners: [
        {
          name: 'https',
          port: 443,
          protocol: 'HTTPS',
          tls: { mode: 'Terminate', certificateRefs: [{ group: '', kind: 'Secret', name: 'c' }] },
          allowedRoutes: { namespaces: { from: 'Same' } },
        },
      ],
      addresses: [{ type: 'IPAddress', value: '127.0.0.1' }],
    },
  });
});

describe('listeners', () => {
  const cases: readonly (readonly [yaml: string, ...expected: string[]])[] = [
    ['listeners: []', 'spec.listeners: must have at least 1 entry, has 0'],
    [
      `listeners: [${Array.from({ length: 65 }, (_, i) => `{name: l${i}, port: ${i + 1}, protocol: HTTP}`).join(', ')}]`,
      'spec.listeners: must have at most 64 entries, has 65',
    ],
    ['listeners: [{port: 80, protocol: HTTP}]', 'spec.listeners[0].name: required: a string'],
    [
      'listeners: [{name: Web, port: 80, protocol: HTTP}]',
      'spec.listeners[0].name: must be lower-case letters, digits, "-" and ".", and begin and end with a letter or digit',
    ],
    ['listeners: [{name: a, protocol: HTTP}]', 'spec.listeners[0].port: required: a whole number'],
    ['listeners: [{name: a, port: 65536, protocol: HTTP}]', 'spec.listeners[0].port: must be at most 65535'],
    ['listeners: [{name: a, port: 80}]', 'spec.listeners[0].protocol: required: a string'],
    ['listeners: [{name: a, port: 80, protocol: "HTTP!"}]', 'spec.listeners[0].protocol: must be HTTP or HTTPS'],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, hostname: "https://x"}]',
      'spec.listeners[0].hostname: must be a lower-case host name without a port, such as mcp.example.com or *.example.com',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, hostname: "*"}]',
      'spec.listeners[0].hostname: must be a lower-case host name without a port, such as mcp.example.com or *.example.com',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, tls: {certificateRefs: [{name: c}]}}]',
      'spec.listeners[0].tls: must be absent for protocol HTTP; use protocol HTTPS',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: TCP, hostname: a.b}]',
      'spec.listeners[0].hostname: must be absent for protocol TCP',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: UDP, hostname: a.b}]',
      'spec.listeners[0].hostname: must be absent for protocol UDP',
    ],
    ['listeners: [{name: a, port: 80, protocol: TLS}]', 'spec.listeners[0].tls: required for protocol TLS'],
    [
      'listeners: [{name: a, port: 80, protocol: HTTPS, tls: {mode: Passthrough}}]',
      'spec.listeners[0].tls.mode: must be Terminate for protocol HTTPS',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTPS, tls: {}}]',
      'spec.listeners[0].tls.certificateRefs: required: at least one Secret with a certificate when mode is Terminate',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTPS, tls: {mode: Once, certificateRefs: [{name: c}]}}]',
      'spec.listeners[0].tls.mode: must be one of Terminate or Passthrough',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTPS, tls: {certificateRefs: [{name: c}], options: {a: b}}}]',
      'spec.listeners[0].tls.options: not supported yet: no TLS options are defined; remove it',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP}, {name: a, port: 81, protocol: HTTP}]',
      'spec.listeners[1].name: must be unique; listeners[0] has the same name',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP}, {name: b, port: 80, protocol: HTTP}]',
      'spec.listeners[1]: must differ from listener a in port, protocol or hostname',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, hostname: x.y}, {name: b, port: 80, protocol: HTTP, hostname: x.y}]',
      'spec.listeners[1]: must differ from listener a in port, protocol or hostname',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Some}}}]',
      'spec.listeners[0].allowedRoutes.namespaces.from: must be one of All, Selector or Same; did you mean Same?',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector}}}]',
      'spec.listeners[0].allowedRoutes.namespaces.selector: required with from: Selector',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All, selector: {}}}}]',
      'spec.listeners[0].allowedRoutes.namespaces.selector: has no effect without from: Selector',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchExpressions: [{key: a, operator: In}]}}}}]',
      'spec.listeners[0].allowedRoutes.namespaces.selector.matchExpressions[0].values: must list at least one value for operator In',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}}}]',
      'spec.listeners[0].allowedRoutes.namespaces.selector.matchExpressions[0].values: must be empty for operator Exists',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{group: gateway.networking.k8s.io}]}}]',
      'spec.listeners[0].allowedRoutes.kinds[0].kind: required: a string',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: "9"}]}}]',
      'spec.listeners[0].allowedRoutes.kinds[0].kind: must be a kind such as Service: letters, digits and "-"',
    ],
    [
      'listeners: [{name: a, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{group: _, kind: A}]}}]',
      'spec.listeners[0].allowedRoutes.kinds[0].group: must be an API group such as gateway.networking.k8s.io, or "" for the core group',
    ],
  ];
  for (const [yaml, ...expected] of cases)
    test(expected.join('; '), () => assert.deepEqual(listProblems(fillTemplate(gateway, yaml)), expected));

  test('a selector without from: Selector is legal in Kubernetes, where it has no effect', () => {
    const yaml =
      'listeners: [{name: a, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All, selector: {}}}}]';
    assert.deepEqual(listProblems(fillTemplate(gateway, yaml), 'kubernetes'), []);
  });
});

describe('addresses', () => {
  const cases: readonly (readonly [yaml: string, ...expected: string[]])[] = [
    ['[{value: localhost}]', 'spec.addresses[0].value: must be an IPv4 or IPv6 address such as 127.0.0.1 or ::1'],
    ['[{type: Hostname, value: "UP"}]', 'spec.addresses[0].value: must be a lower-case host name'],
    ['[{type: Hostname, value: ""}]', 'spec.addresses[0].value: must be a lower-case host name'],
    ['[{type: Street, value: x}]', 'spec.addresses[0].type: must be IPAddress'],
    ['[{value: 127.0.0.1}, {value: 127.0.0.1}]', 'spec.addresses[1].value: must be unique'],
    ['[{type: Hostname, value: a}, {type: Hostname, value: a}]', 'spec.addresses[1].value: must be unique'],
    [
      `[${Array.from({ length: 17 }, (_, i) => `{value: 127.0.0.${i}}`).join(', ')}]`,
      'spec.addresses: must have at most 16 entries, has 17',
    ],
  ];
  for (const [yaml, ...expected] of cases)
    test(expected.join('; '), () =>
      assert.deepEqual(listProblems(fillTemplate(gateway, `${http}, addresses: ${yaml}`)), expected),
    );
});

describe('the rest of the spec', () => {
  test('gatewayClassName', () => {
    const raw = fillTemplate(
      '{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: a}, spec: {HERE}}',
      http,
    );
    assert.deepEqual(listProblems(raw), ['spec.gatewayClassName: required: a string']);
  });
  test('infrastructure is for Kubernetes', () => {
    const raw = fillTemplate(gateway, `${http}, infrastructure: {labels: {a: b}}`);
    assert.deepEqual(listProblems(raw), ['spec.infrastructure: only a controller deploys Gateways; `run` does not']);
    assert.deepEqual(listProblems(raw, 'kubernetes'), []);
  });
  test('infrastructure is bounded', () => {
    const many = Array.from({ length: 9 }, (_, i) => `l${i}: x`).join(', ');
    assert.deepEqual(
      listProblems(fillTemplate(gateway, `${http}, infrastructure: {labels: {${many}}}`), 'kubernetes'),
      ['spec.infrastructure.labels: must have at most 8 entries, has 9'],
    );
  });
});

describe('metadata', () => {
  const template = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: HERE, spec: {gatewayClassName: proxy, ${http}}}`;
  const cases: readonly (readonly [yaml: string, ...expected: string[]])[] = [
    ['{}', 'metadata.name: required: a string'],
    [
      '{name: A}',
      'metadata.name: must be lower-case letters, digits, "-" and ".", and begin and end with a letter or digit',
    ],
    [
      '{name: a, namespace: a.b}',
      'metadata.namespace: must be lower-case letters, digits and "-", and begin and end with a letter or digit',
    ],
    [
      '{name: a, labels: {"-": x}}',
      'metadata.labels["-"]: the key must be a name of at most 63 letters, digits, "-", "_" and ".", with an optional DNS prefix and "/"',
    ],
    [
      '{name: a, labels: {x: "a b"}}',
      'metadata.labels.x: must be letters, digits, "-", "_" and ".", and begin and end with a letter or digit',
    ],
    ['{name: a, labels: {x: true}}', 'metadata.labels.x: must be a string, not true: put it in quotes'],
    [
      '{name: a, creationTimestamp: yesterday}',
      'metadata.creationTimestamp: must be an RFC 3339 time such as 2026-01-31T12:00:00Z',
    ],
    [
      '{generateName: a-}',
      'metadata.generateName: set `name` instead: only an API server can generate names',
      'metadata.name: required: a string',
    ],
  ];
  for (const [yaml, ...expected] of cases)
    test(expected.join('; '), () => assert.deepEqual(listProblems(fillTemplate(template, yaml)), expected));
});

describe('GatewayClass', () => {
  const template = '{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: a}, spec: HERE}';
  const cases: readonly (readonly [yaml: string, ...expected: string[]])[] = [
    ['{}', 'spec.controllerName: required: a string'],
    ['{controllerName: proxy}', 'spec.controllerName: must be a domain and a path, such as gateway.proxy/controller'],
    [
      `{controllerName: a.b/c, description: ${'x'.repeat(65)}}`,
      'spec.description: must have at most 64 characters, has 65',
    ],
    [
      '{controllerName: a.b/c, parametersRef: {}}',
      'spec.parametersRef: only a controller deploys Gateways; `run` does not',
    ],
  ];
  for (const [yaml, ...expected] of cases)
    test(expected.join('; '), () => assert.deepEqual(listProblems(fillTemplate(template, yaml)), expected));
  test('parameters are for Kubernetes', () => {
    const name = '{controllerName: a.b/c, parametersRef: {group: gateway.proxy, kind: GatewayParameters, name: a}}';
    assert.deepEqual(listProblems(fillTemplate(template, name), 'kubernetes'), []);
    assert.deepEqual(
      listProblems(fillTemplate(template, '{controllerName: a.b/c, parametersRef: {kind: A}}'), 'kubernetes'),
      ['spec.parametersRef.group: required: a string', 'spec.parametersRef.name: required: a string'],
    );
  });
  test('belongs to no namespace', () =>
    assert.deepEqual(
      listProblems({
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'GatewayClass',
        metadata: { name: 'a', namespace: 'b' },
        spec: { controllerName: 'a.b/c' },
      }),
      ['metadata.namespace: remove it: this kind belongs to no namespace'],
    ));
});

describe('ReferenceGrant', () => {
  const template =
    '{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {name: a}, spec: HERE}';
  const cases: readonly (readonly [yaml: string, ...expected: string[]])[] = [
    ['{from: [], to: [{group: "", kind: Service}]}', 'spec.from: must have at least 1 entry, has 0'],
    ['{from: [{group: "", kind: A, namespace: a}], to: []}', 'spec.to: must have at least 1 entry, has 0'],
    [
      '{from: [{kind: A}], to: [{kind: B}]}',
      'spec.from[0].group: required: a string',
      'spec.from[0].namespace: required: a string',
      'spec.to[0].group: required: a string',
    ],
    [
      '{from: [{group: "", kind: A, namespace: a}], to: [{group: "", kind: Service, name: ""}]}',
      'spec.to[0].name: must not be empty',
    ],
  ];
  for (const [yaml, ...expected] of cases)
    test(expected.join('; '), () => assert.deepEqual(listProblems(fillTemplate(template, yaml)), expected));
});
