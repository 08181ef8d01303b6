// Parsing as such: what is no resource, unknown kinds and fields, one message per mistake, and no input that makes it throw.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import { kindNames, kinds, listApiVersions, listKinds } from './kinds.ts';
import { parseResource } from './parse-resource.ts';
import { describeSchema, type SchemaNode } from './schema-description.ts';
import { listProblems } from './testing/expect-problems.ts';
import { loadGoodResources } from './testing/load-testdata.ts';
import { effort } from '../../test/kit/effort.ts';

const route = (yaml: string): unknown =>
  parse(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: ${yaml}}`);

describe('what is no resource', () => {
  for (const raw of [undefined, null, 'text', 7, true, [], [{}], Symbol('x'), 7n, () => {}]) {
    test(`a ${typeof raw}`, () =>
      assert.deepEqual(listProblems(raw), [': must be a resource: a mapping with apiVersion, kind and metadata']));
  }
  test('an empty mapping', () =>
    assert.deepEqual(listProblems({}), [
      'apiVersion: required: such as gateway.networking.k8s.io/v1',
      'kind: required: such as HTTPRoute',
    ]));
  test('kind of a wrong type', () =>
    assert.deepEqual(listProblems({ apiVersion: 'v1', kind: 7 }), ['kind: must be a string such as HTTPRoute']));
});

describe('kinds and versions', () => {
  const cases: readonly (readonly [kind: string, apiVersion: string, ...expected: string[]])[] = [
    ['HttpRoute', 'gateway.networking.k8s.io/v1', 'kind: the gateway does not read this kind; did you mean HTTPRoute?'],
    ['ProxyPolice', 'gateway.proxy/v1alpha1', 'kind: the gateway does not read this kind; did you mean ProxyPolicy?'],
    [
      'Deployment',
      'apps/v1',
      'kind: the gateway does not read this kind; known are GatewayClass, Gateway, HTTPRoute, ReferenceGrant, Service, EndpointSlice, Secret, ConfigMap, Namespace, GatewayParameters, ProxyBackend or ProxyPolicy',
    ],
    ['GRPCRoute', 'gateway.networking.k8s.io/v1', 'kind: not supported yet: use an HTTPRoute'],
    ['TCPRoute', 'gateway.networking.k8s.io/v1alpha2', 'kind: not supported yet: use an HTTPRoute'],
    ['List', 'v1', 'kind: lists are not supported: write the items as separate documents, separated by ---'],
    ['HTTPRouteList', 'v1', 'kind: lists are not supported: write the items as separate documents, separated by ---'],
    [
      'Gateway',
      'networking.istio.io/v1',
      'apiVersion: must be gateway.networking.k8s.io/v1 or gateway.networking.k8s.io/v1beta1 for kind Gateway',
    ],
    ['ProxyPolicy', 'gateway.proxy/v1', 'apiVersion: must be gateway.proxy/v1alpha1 for kind ProxyPolicy'],
    [
      'constructor',
      'v1',
      `kind: the gateway does not read this kind; known are ${listKinds([]).slice(0, -1).join(', ')} or ProxyPolicy`,
    ],
  ];
  for (const [kind, apiVersion, ...expected] of cases) {
    test(`${apiVersion} ${kind}`, () =>
      assert.deepEqual(listProblems({ apiVersion, kind, metadata: { name: 'a' } }), expected));
  }
  test('every kind is read in each of its versions', () => {
    for (const resource of loadGoodResources()) {
      for (const apiVersion of listApiVersions(resource.kind))
        assert.deepEqual(listProblems({ ...resource, apiVersion }), []);
    }
  });
});

describe('unknown fields', () => {
  test('a slip gets the nearest name', () =>
    assert.deepEqual(listProblems(route('{hostname: [a.example.com]}')), [
      'spec.hostname: unknown field; did you mean `hostnames`?',
    ]));
  test('anything else gets the valid names', () =>
    assert.deepEqual(listProblems(route('{rules: [{matches: [{path: {kind: Exact}}]}]}')), [
      'spec.rules[0].matches[0].path.kind: unknown field; valid here: type, value',
    ]));
  test('a misspelled required field is not asked for once more', () =>
    assert.deepEqual(listProblems(route('{parentRefs: [{nmae: a}]}')), [
      'spec.parentRefs[0].nmae: unknown field; did you mean `name`?',
    ]));
  test('are pruned when they come from Kubernetes', () => {
    const result = parseResource(route('{future: 1, rules: [{future: 2}]}'), { origin: 'kubernetes' });
    assert.ok(result.ok && result.kind === 'HTTPRoute');
    assert.deepEqual(result.resource.spec, { rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }] }] });
  });
  test('__proto__ is one', () => {
    const raw: unknown = JSON.parse(
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"__proto__":"x"},"__proto__":{"y":1}}',
    );
    assert.deepEqual(listProblems(raw), [
      'data.__proto__: unknown field',
      '__proto__: unknown field; valid here: apiVersion, kind, metadata, immutable, data, binaryData, status',
    ]);
    const result = parseResource(raw, { origin: 'kubernetes' });
    assert.ok(result.ok && result.kind === 'ConfigMap');
    assert.deepEqual(Object.keys(result.resource.data), []);
  });
  test('names of Object.prototype are unknown too', () =>
    assert.deepEqual(listProblems(route('{toString: 1, constructor: 2}')).length, 2));
});

describe('problems', () => {
  test('all at once, in the order of the file, with an identity', () => {
    const raw = parse(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: a, namespace: mcp, label: {}}
spec:
  hostnames: [UPPER.example.com, 7]
  rules:
  - timeouts: {request: soon}
    matches: [{method: FETCH, path: {value: relative}}]
    backendRefs: [{name: x}]
    retry: {}
  parentRefs: gateway
`);
    const result = parseResource(raw, { origin: 'file' });
    assert.ok(!result.ok);
    assert.deepEqual([result.kind, result.namespace, result.name], ['HTTPRoute', 'mcp', 'a']);
    assert.deepEqual(listProblems(raw), [
      'metadata.label: unknown field; did you mean `labels`?',
      'spec.hostnames[0]: must be a lower-case host name without a port, such as mcp.example.com or *.example.com',
      'spec.hostnames[1]: must be a string, not a number: put it in quotes',
      'spec.rules[0].timeouts.request: must be a duration such as 500ms, 10s or 1h30m',
      'spec.rules[0].matches[0].method: must be one of GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE or PATCH',
      'spec.rules[0].matches[0].path.value: must begin with "/" with type PathPrefix',
      'spec.rules[0].backendRefs[0].port: required: the port of the Service',
      'spec.rules[0].retry: not supported yet',
      'spec.parentRefs: must be a list, not a string',
    ]);
  });

  test('a cluster-scoped kind has no namespace', () => {
    const result = parseResource({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'A' } }, { origin: 'file' });
    assert.ok(!result.ok);
    assert.deepEqual([result.namespace, result.name], [undefined, 'A']);
  });

  const words: readonly (readonly [yaml: string, expected: string])[] = [
    [
      '{rules: [{backendRefs: [{name: a, port: "80"}]}]}',
      'spec.rules[0].backendRefs[0].port: must be a whole number, not a string: remove the quotes',
    ],
    [
      '{rules: [{backendRefs: [{name: a, port: http}]}]}',
      'spec.rules[0].backendRefs[0].port: must be a whole number, not a string',
    ],
    ['{rules: [{backendRefs: [{name: a, port: 80.5}]}]}', 'spec.rules[0].backendRefs[0].port: must be a whole number'],
    ['{rules: [{backendRefs: [{name: a, port: 0}]}]}', 'spec.rules[0].backendRefs[0].port: must be at least 1'],
    ['{rules: [{backendRefs: [{name: a, port: 70000}]}]}', 'spec.rules[0].backendRefs[0].port: must be at most 65535'],
    ['{rules: [{backendRefs: [{name: "", port: 80}]}]}', 'spec.rules[0].backendRefs[0].name: must not be empty'],
    [
      '{rules: [{backendRefs: [{name: true, port: 80}]}]}',
      'spec.rules[0].backendRefs[0].name: must be a string, not true: put it in quotes',
    ],
    ['{rules: [{backendRefs: [{port: 80}]}]}', 'spec.rules[0].backendRefs[0].name: required: a string'],
    [
      '{rules: [{filters: [{type: Cors, cors: {}}]}]}',
      'spec.rules[0].filters[0].type: must be one of RequestHeaderModifier, ResponseHeaderModifier, RequestMirror, RequestRedirect, URLRewrite, ExtensionRef or CORS; did you mean CORS?',
    ],
    ['{rules: [{filters: [{type: ExternalAuth}]}]}', 'spec.rules[0].filters[0].type: not supported yet'],
    [
      '{rules: [{filters: [{cors: {}}]}]}',
      'spec.rules[0].filters[0].type: required: one of RequestHeaderModifier, ResponseHeaderModifier, RequestMirror, RequestRedirect, URLRewrite, ExtensionRef or CORS',
    ],
    [
      '{rules: [{filters: [{type: CORS, cors: {allowCredentials: "yes"}}]}]}',
      'spec.rules[0].filters[0].cors.allowCredentials: must be true or false, without quotes',
    ],
    ['{rules: []}', 'spec.rules: must have at least 1 entry, has 0'],
    [
      `{hostnames: [${Array.from({ length: 17 }, (_, i) => `h${i}.example.com`).join(', ')}]}`,
      'spec.hostnames: must have at most 16 entries, has 17',
    ],
    [`{hostnames: [${'a'.repeat(254)}]}`, 'spec.hostnames[0]: must have at most 253 characters, has 254'],
    ['[]', 'spec: must be a mapping, not a list'],
  ];
  for (const [yaml, expected] of words)
    test(`${yaml.slice(0, 60)} -> ${expected.slice(0, 80)}`, () =>
      assert.deepEqual(listProblems(route(yaml)), [expected]));

  test('a bad key is told as a key', () =>
    assert.deepEqual(listProblems({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, data: { 'a b': '' } }), [
      'data["a b"]: the key must be letters, digits, "-", "_" and "." only',
    ]));
});

/** Values that are nearly right: fields of the schema with good, bad and missing contents. */
function nearly(node: SchemaNode, depth: number): fc.Arbitrary<unknown> {
  const anything = fc.anything({ maxDepth: 1 });
  if (depth === 0) return anything;
  if (node.properties !== undefined) {
    const fields = Object.fromEntries(
      Object.entries(node.properties).map(([name, field]) => [name, nearly(field, depth - 1)]),
    );
    return fc.oneof(
      { weight: 6, arbitrary: fc.record(fields, { requiredKeys: [] }) },
      { weight: 1, arbitrary: anything },
    );
  }
  if (node.items !== undefined)
    return fc.oneof({ weight: 6, arbitrary: fc.array(nearly(node.items, depth - 1), { maxLength: 2 }) }, anything);
  if (node.enum !== undefined)
    return fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...node.enum) }, { weight: 1, arbitrary: anything });
  if (node.type === 'string')
    return fc.oneof(
      fc.constantFrom('a', '/', 'a.example.com', '1s', 'https://a.example', '', '*'),
      fc.string(),
      anything,
    );
  if (node.type === 'integer') return fc.oneof(fc.integer({ min: 0, max: 70_000 }), fc.double(), anything);
  return anything;
}

const unfriendly = /invalid|expected|received|too (small|big)|zod|undefined|\[object/i;

describe('properties', () => {
  const origins = fc.constantFrom('file' as const, 'kubernetes' as const);

  test('anything at all: never throws', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withNullPrototype: true,
          withSparseArray: true,
        }),
        origins,
        (raw, origin) => {
          const result = parseResource(raw, { origin });
          assert.equal(result.ok, false);
        },
      ),
      { numRuns: effort(500, 100) },
    );
  });

  for (const kind of kindNames) {
    test(`${kind}, nearly right: never throws, no duplicates, no raw message, a good one parses to itself`, () => {
      const [apiVersion] = listApiVersions(kind);
      const shape = nearly(describeSchema(kinds[kind].schema), 7);
      fc.assert(
        fc.property(shape, origins, (value, origin) => {
          const raw = typeof value === 'object' && value !== null ? { ...value, apiVersion, kind } : value;
          const result = parseResource(raw, { origin });
          if (result.ok) {
            const again = parseResource(result.resource, { origin: 'kubernetes' });
            assert.ok(again.ok);
            assert.deepEqual(again.resource, result.resource);
            return;
          }
          const lines = listProblems(raw, origin);
          assert.ok(lines.length > 0);
          assert.equal(new Set(lines).size, lines.length);
          for (const { message } of result.problems) {
            // Messages about CEL quote what was written, whatever it is.
            if (!/^line \d+, column \d+: /.test(message)) assert.doesNotMatch(message, unfriendly);
          }
        }),
        { numRuns: effort(150, 30) },
      );
    });
  }

  test('keys named __proto__ and deep nesting do no harm', () => {
    let deep: unknown = 'end';
    for (let level = 0; level < 20_000; level++) deep = level % 2 === 0 ? [deep] : { spec: deep };
    for (const resource of loadGoodResources()) {
      for (const key of ['spec', 'status', 'metadata', 'data']) {
        assert.doesNotThrow(() => parseResource({ ...resource, [key]: deep }, { origin: 'file' }));
        const raw: unknown = JSON.parse(
          JSON.stringify({ ...resource, [key]: { PROTO: { polluted: true } } }).replaceAll('PROTO', '__proto__'),
        );
        assert.doesNotThrow(() => parseResource(raw, { origin: 'file' }));
      }
    }
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  });
});
