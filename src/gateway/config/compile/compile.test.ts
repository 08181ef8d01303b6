import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { createCertificate } from '../../../../test/self-signed-certificate.ts';
import { type Configuration, emptyConfiguration } from '../../../ir/configuration.ts';
import {
  type Backend, BackendSchema, FailureSchema, type Filter, FilterSchema, type Listener, ListenerProtocol, ListenerSchema, PathMatchType, type Route, RouteSchema, SecretSchema, ValueMatchType,
} from '../../../ir/gen/config_pb.ts'; // prettier-ignore
import { matchRoute } from '../../route/match-route.ts';
import { type Compilation, compile } from './compile.ts';
import { noBackendPolicies } from './compile-policies.ts';
import type { MatchedRoute, RouteConfig, RuntimeConfig } from '../runtime-config.ts';
import { effort } from '../../../../test/kit/effort.ts';

const { EXACT, PREFIX, REGULAR_EXPRESSION } = PathMatchType;

function listener(name: string, more: MessageInitShape<typeof ListenerSchema> = {}): Listener {
  return create(ListenerSchema, {
    key: `n/g/${name}`,
    gateway: 'n/g',
    name,
    port: 80,
    protocol: ListenerProtocol.HTTP,
    ...more,
  });
}

function backend(key: string): Backend {
  return create(BackendSchema, { key, kind: { case: 'http', value: { endpoints: [{ host: '127.0.0.1', port: 1 }] } } });
}

function route(name: string, more: MessageInitShape<typeof RouteSchema> = {}): Route {
  return create(RouteSchema, {
    key: `n/${name}/0`,
    httpRoute: `n/${name}`,
    parents: [{ listener: 'n/g/l' }],
    matches: [{ path: { type: PREFIX, value: '/' } }],
    backends: [{ backend: 'Service/n/s/80', weight: 1 }],
    ...more,
  });
}

function filter(value: Filter['filter']): Filter {
  return create(FilterSchema, { filter: value as never });
}

function build(parts: Partial<Configuration>): Compilation {
  return compile({
    ...emptyConfiguration,
    listeners: [listener('l')],
    backends: [backend('Service/n/s/80')],
    ...parts,
  });
}

function find(
  runtime: RuntimeConfig,
  path: string,
  more: { headers?: string[]; hostname?: string } = {},
): MatchedRoute | undefined {
  const hostname = more.hostname ?? 'example.com';
  const found = runtime.ports.get('|80')?.listeners.find(hostname);
  return found && matchRoute(found, { method: 'GET', hostname, path, query: '', headers: more.headers ?? [] });
}

/** The rule at '/', of a configuration with one route. */
function compileOne(
  more: MessageInitShape<typeof RouteSchema>,
  parts: Partial<Configuration> = {},
): { config: RouteConfig; problems: Compilation['problems'] } {
  const { runtime, problems } = build({ ...parts, routes: [route('r', more)] });
  const matched = find(runtime, '/');
  assert.ok(matched !== undefined);
  return { config: matched.route, problems };
}

describe('listeners', () => {
  test('are grouped by address and port', () => {
    const { runtime, problems } = build({
      listeners: [
        listener('a', { hostname: 'a.test' }),
        listener('b', { hostname: '*.test' }),
        listener('c', { addresses: ['127.0.0.1', '::1', '127.0.0.1'], port: 8080 }),
      ],
    });
    assert.deepEqual(problems, []);
    assert.deepEqual([...runtime.ports.keys()].toSorted(), ['127.0.0.1|8080', '::1|8080', '|80']);
    const port = runtime.ports.get('|80')!;
    assert.equal(port.listeners.find('a.test')?.name, 'a');
    assert.equal(port.listeners.find('b.test')?.name, 'b');
    assert.equal(port.listeners.find('other'), undefined);
    assert.equal(port.selectCertificate, undefined);
    assert.deepEqual([port.address, port.port, port.protocol], ['', 80, 'HTTP']);
    assert.equal(runtime.ports.get('::1|8080')!.address, '::1');
  });

  test('are isolated from each other', () => {
    const { runtime } = build({
      listeners: [listener('a', { hostname: 'a.example.com' }), listener('b', { hostname: '*.example.com' })],
      routes: [route('r', { parents: [{ listener: 'n/g/b', hostnames: ['*.example.com'] }] })],
    });
    assert.equal(find(runtime, '/', { hostname: 'b.example.com' })?.route.key, 'n/r/0');
    assert.equal(find(runtime, '/', { hostname: 'a.example.com' }), undefined);
  });

  test('that cannot be served are reported; the rest is served', () => {
    const { runtime, problems } = build({
      listeners: [
        listener('a'),
        listener('b'),
        listener('c', { hostname: 'c.test', protocol: ListenerProtocol.HTTPS }),
        listener('d', { hostname: 'a.*.test' }),
        listener('e', { port: 70_000 }),
        listener('f', { protocol: ListenerProtocol.UNSPECIFIED, port: 81 }),
        listener('g', { hostname: 'g.test' }),
      ],
      routes: [route('r', { parents: [{ listener: 'n/g/a' }, { listener: 'n/g/missing' }] })],
    });
    assert.deepEqual(
      problems
        .filter(({ message }) => !message.includes('certificate'))
        .map(({ key, message }) => `${key}: ${message}`),
      [
        'n/r/0: the listener n/g/missing does not exist',
        'n/g/b: the listener n/g/a already serves any hostname on port 80; this one is not served',
        'n/g/c: port 80 already speaks HTTP; this HTTPS listener is not served',
        'n/g/d: "a.*.test" is not a hostname',
        'n/g/e: 70000 is not a port',
        'n/g/f: this gateway does not support the protocol of the listener',
      ],
    );
    assert.deepEqual([...runtime.ports.keys()], ['|80']);
    assert.equal(find(runtime, '/')?.route.key, 'n/r/0');
    assert.equal(runtime.ports.get('|80')!.listeners.find('g.test')?.name, 'g');
  });
});

describe('rules', () => {
  test('carry everything that the request path needs', () => {
    const { config, problems } = compileOne({
      ruleName: 'main',
      ruleIndex: 3,
      requestTimeoutMs: 10,
      backendRequestTimeoutMs: 5,
      backends: [
        { backend: 'Service/n/s/80', weight: 3 },
        { backend: 'Service/n/s/80', weight: 0 },
        { backend: 'Service/n/gone/80', weight: 2, failure: { status: 500, reason: 'BackendNotFound' } },
      ],
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(
      [config.ruleName, config.ruleIndex, config.requestTimeoutMs, config.backendRequestTimeoutMs],
      ['main', 3, 10, 5],
    );
    assert.equal(config.backends.totalWeight, 5);
    assert.deepEqual(config.backends.entries.map(({ weight, failure }) => [weight, failure?.reason]), [[3, undefined], [0, undefined], [2, 'BackendNotFound']]); // prettier-ignore
    assert.equal(config.failure, undefined);
  });

  test('without matches match everything', () => {
    const { runtime } = build({ routes: [route('r', { matches: [] })] });
    assert.equal(find(runtime, '/any/path')?.route.key, 'n/r/0');
    assert.equal(find(build({ routes: [route('r', { matches: [{}] })] }).runtime, '/any')?.route.key, 'n/r/0');
  });

  test('that translation closed stay closed', () => {
    const failure = create(FailureSchema, { status: 500, reason: 'UnsupportedValue', message: 'x' });
    assert.equal(compileOne({ failure }).config.failure, failure);
  });

  test('two parentRefs to one listener join their hostnames', () => {
    const parents = [
      { listener: 'n/g/l', hostnames: ['a.test'] },
      { listener: 'n/g/l', hostnames: ['b.test', 'a.test'] },
    ];
    const { runtime } = build({ routes: [route('r', { parents })] });
    assert.ok(find(runtime, '/', { hostname: 'a.test' }) && find(runtime, '/', { hostname: 'b.test' }));
    assert.equal(find(runtime, '/', { hostname: 'c.test' }), undefined);
  });

  test('a backend that does not exist fails its share only', () => {
    const { config, problems } = compileOne({
      backends: [
        { backend: 'Service/n/s/80', weight: 1 },
        { backend: 'Service/n/x/80', weight: 1 },
      ],
    });
    assert.deepEqual(problems, [
      { list: 'routes', key: 'n/r/0', message: 'the backend Service/n/x/80 does not exist' },
    ]);
    assert.deepEqual(
      config.backends.entries.map(({ failure }) => failure?.status),
      [undefined, 500],
    );
    assert.equal(config.failure, undefined);
  });
});

describe('a rule that cannot be compiled fails closed', () => {
  const open = route('open', { createdAt: 1 });

  test('a bad path expression closes what it can be meant for, and nothing else', () => {
    const bad = route('bad', {
      matches: [{ path: { type: REGULAR_EXPRESSION, value: '/admin/(.*' } }, { path: { type: EXACT, value: '/fine' } }],
    });
    const { runtime, problems } = build({ routes: [open, bad] });
    assert.deepEqual(
      problems.map(({ key }) => key),
      ['n/bad/0'],
    );
    assert.match(problems[0]!.message, /not valid RE2: .*missing closing \)/);
    for (const path of ['/admin/x', '/fine']) assert.equal(find(runtime, path)?.route.failure?.status, 500, path);
    assert.equal(find(runtime, '/other')?.route.key, 'n/open/0');
  });

  test('a bad path expression without a literal beginning closes its hostname', () => {
    for (const value of ['(/a', '/a(|/b']) {
      const bad = route('bad', {
        matches: [{ path: { type: REGULAR_EXPRESSION, value } }],
        parents: [{ listener: 'n/g/l', hostnames: ['bad.test'] }],
      });
      const { runtime } = build({ routes: [open, bad] });
      assert.equal(find(runtime, '/b', { hostname: 'bad.test' })?.route.failure?.status, 500);
      assert.equal(find(runtime, '/b')?.route.key, 'n/open/0');
    }
  });

  test('a bad header expression is taken as met', () => {
    const headers = [
      { name: 'x', type: ValueMatchType.REGULAR_EXPRESSION, value: '(' },
      { name: 'y', type: ValueMatchType.EXACT, value: '1' },
    ];
    const { runtime, problems } = build({ routes: [open, route('bad', { matches: [{ headers }] })] });
    assert.equal(problems.length, 1);
    assert.equal(find(runtime, '/', { headers: ['y', '1'] })?.route.failure?.status, 500);
    assert.equal(find(runtime, '/', { headers: ['y', '2'] })?.route.key, 'n/open/0');
  });

  const badMatches: readonly (readonly [string, MessageInitShape<typeof RouteSchema>['matches']])[] = [
    ['a path no request can have', [{ path: { type: PREFIX, value: 'mcp' } }]],
    ['a path with a query', [{ path: { type: EXACT, value: '/mcp?x' } }]],
    ['an unknown kind of path', [{ path: { type: PathMatchType.UNSPECIFIED, value: '/' } }]],
    ['an unknown kind of header match', [{ headers: [{ name: 'x', value: '1' }] }]],
  ];
  for (const [name, matches] of badMatches) {
    test(name, () => {
      const { config, problems } = compileOne({ matches: matches! });
      assert.equal(config.failure?.status, 500);
      assert.equal(problems.length, 1);
    });
  }

  const badFilters: readonly (readonly [string, Filter[]])[] = [
    ['an unknown filter', [create(FilterSchema)]],
    [
      'a header that cannot be sent',
      [filter({ case: 'requestHeaderModifier', value: { set: [{ name: 'x', value: 'a\r\nb' }] } as never })],
    ],
    ['a header name that is none', [filter({ case: 'responseHeaderModifier', value: { remove: ['a b'] } as never })]],
    [
      'redirect and rewrite together',
      [
        filter({ case: 'requestRedirect', value: { statusCode: 302 } as never }),
        filter({ case: 'urlRewrite', value: {} as never }),
      ],
    ],
    [
      'a redirect to another scheme',
      [filter({ case: 'requestRedirect', value: { statusCode: 302, scheme: 'javascript' } as never })],
    ],
    [
      'a redirect without a redirect status',
      [filter({ case: 'requestRedirect', value: { statusCode: 200 } as never })],
    ],
    ['a redirect without a status', [filter({ case: 'requestRedirect', value: {} as never })]],
    [
      'a redirect to no hostname',
      [filter({ case: 'requestRedirect', value: { statusCode: 302, hostname: 'a/b' } as never })],
    ],
    [
      'a rewrite to no path',
      [
        filter({
          case: 'urlRewrite',
          value: { path: { modifier: { case: 'replaceFullPath', value: 'a b' } } } as never,
        }),
      ],
    ],
    ['a rewrite of an unknown type', [filter({ case: 'urlRewrite', value: { path: {} } as never })]],
    [
      'CORS for something that is no origin',
      [filter({ case: 'cors', value: { allowOrigins: ['example.com'] } as never })],
    ],
    [
      'a mirror of nothing',
      [filter({ case: 'requestMirror', value: { backend: 'Service/n/s/80', numerator: 1 } as never })],
    ],
  ];
  for (const [name, filters] of badFilters) {
    test(name, () => {
      const { config, problems } = compileOne({ filters });
      assert.equal(config.failure?.reason, 'RouteNotCompiled');
      assert.equal(problems.length, 1);
    });
  }

  test('a prefix to replace behind a regular expression', () => {
    const rewrite = filter({
      case: 'urlRewrite',
      value: { path: { modifier: { case: 'replacePrefixMatch', value: '/x' } } } as never,
    });
    const { config } = compileOne({
      matches: [{ path: { type: REGULAR_EXPRESSION, value: '/.*' } }],
      filters: [rewrite],
    });
    assert.equal(config.failure?.status, 500);
  });

  test('a bad filter of one backend fails its share only', () => {
    const cors = filter({ case: 'cors', value: { allowOrigins: ['*'] } as never });
    const redirect = filter({ case: 'requestRedirect', value: { statusCode: 302 } as never });
    for (const one of [create(FilterSchema), cors, redirect]) {
      const { config, problems } = compileOne({
        backends: [
          { backend: 'Service/n/s/80', weight: 1, filters: [one] },
          { backend: 'Service/n/s/80', weight: 1 },
        ],
      });
      assert.deepEqual(
        config.backends.entries.map(({ failure }) => failure?.status),
        [500, undefined],
      );
      assert.equal(problems.length, 1);
    }
  });
});

describe('filters', () => {
  test('are sorted by what they do', () => {
    const { config } = compileOne({
      filters: [
        filter({ case: 'requestHeaderModifier', value: { set: [{ name: 'a', value: '1' }] } as never }),
        filter({ case: 'responseHeaderModifier', value: { remove: ['b'] } as never }),
        filter({
          case: 'urlRewrite',
          value: { hostname: 'up.test', path: { modifier: { case: 'replacePrefixMatch', value: '' } } } as never,
        }),
        filter({ case: 'requestMirror', value: { backend: 'Service/n/s/80', numerator: 1, denominator: 2 } as never }),
        filter({ case: 'requestMirror', value: { backend: 'Service/n/x/80', numerator: 1, denominator: 2 } as never }),
        filter({ case: 'cors', value: { allowOrigins: ['*'] } as never }),
      ],
    });
    assert.equal(config.failure, undefined);
    assert.equal(config.filters.requestHeaders.length, 1);
    assert.equal(config.filters.responseHeaders.length, 1);
    assert.equal(config.filters.rewrite?.hostname, 'up.test');
    assert.deepEqual(config.filters.mirrors, [
      { backend: 'Service/n/s/80', numerator: 1, denominator: 2, policies: noBackendPolicies },
    ]);
    assert.equal(config.policies['traffic.cors']?.answersAnyOrigin, true);
  });
});

describe('backends', () => {
  const upstream = {
    endpoints: [{ host: 'up.test', port: 443 }],
    hostHeader: 'up.test',
    connectTimeoutMs: 10_000,
    idleTimeoutMs: 7,
  };
  const authority = createCertificate({ names: ['ca.test'] }).cert;
  const ca = create(SecretSchema, { key: 'ConfigMap/n/ca', value: { case: 'caCertificates', value: authority } });
  const withCa = create(BackendSchema, {
    key: 'b',
    kind: { case: 'http', value: { ...upstream, tls: { serverName: 'up.test', ca: 'ConfigMap/n/ca' } } },
  });

  test('of both kinds', () => {
    const mcp = create(BackendSchema, {
      key: 'ProxyBackend/n/m',
      kind: {
        case: 'mcp',
        value: { targets: [{ name: 't', upstream, path: '/%6dcp', transport: 2 }], sessionRouting: 2 },
      },
    });
    const { runtime, problems } = build({ backends: [withCa, mcp], secrets: [ca] });
    assert.deepEqual(problems, []);
    const http = runtime.backends.get('b')!;
    assert.deepEqual(http.tls, { serverName: 'up.test', ca: authority, insecureSkipVerify: false });
    assert.deepEqual(
      [http.connectTimeoutMs, http.idleTimeoutMs, http.requestTimeoutMs, http.protocol, http.hostHeader],
      [10_000, 7, 0, 'http1', 'up.test'],
    );
    assert.deepEqual(runtime.backends.get('ProxyBackend/n/m')?.mcp, {
      target: 't',
      path: '/mcp',
      transport: 'sse',
      sessionRouting: 'stateless',
    });
  });

  test('get another fingerprint when their CA changes', () => {
    const before = compile({ ...emptyConfiguration, backends: [withCa], secrets: [ca] });
    const renewed = create(SecretSchema, {
      key: 'ConfigMap/n/ca',
      value: { case: 'caCertificates', value: createCertificate({ names: ['ca.test'] }).cert },
    });
    const same = compile({ ...emptyConfiguration, backends: [withCa], secrets: [ca] }, before.runtime);
    const after = compile({ ...emptyConfiguration, backends: [withCa], secrets: [renewed] }, before.runtime);
    assert.equal(same.runtime.backends.get('b'), before.runtime.backends.get('b'));
    assert.notEqual(after.runtime.backends.get('b')!.fingerprint, before.runtime.backends.get('b')!.fingerprint);
  });

  const target = { name: 't', upstream, path: '/mcp' };
  const bad: readonly (readonly [string, Backend, RegExp])[] = [
    ['no kind', create(BackendSchema, { key: 'b' }), /does not support the kind/],
    ['no target', create(BackendSchema, { key: 'b', kind: { case: 'mcp', value: {} } }), /no target/],
    [
      'several targets',
      create(BackendSchema, { key: 'b', kind: { case: 'mcp', value: { targets: [target, target] } } }),
      /2 targets/,
    ],
    [
      'a target path with a query',
      create(BackendSchema, {
        key: 'b',
        kind: { case: 'mcp', value: { targets: [{ ...target, path: '/mcp?key=1' }] } },
      }),
      /has a query/,
    ],
    [
      'no CA',
      create(BackendSchema, { key: 'b', kind: { case: 'http', value: { ...upstream, tls: { ca: 'Secret/n/gone' } } } }),
      /Secret\/n\/gone are missing/,
    ],
    [
      'a port that is none',
      create(BackendSchema, { key: 'b', kind: { case: 'http', value: { endpoints: [{ host: 'a', port: 0 }] } } }),
      /not an address/,
    ],
    [
      'an unknown protocol',
      create(BackendSchema, { key: 'b', kind: { case: 'http', value: { ...upstream, protocol: 99 as never } } }),
      /protocol 99/,
    ],
  ];
  for (const [name, message, expected] of bad) {
    test(`with ${name} are left out, and their rules answer 500`, () => {
      const { config, problems } = compileOne({ backends: [{ backend: 'b', weight: 1 }] }, { backends: [message] });
      assert.deepEqual(
        problems.map(({ key }) => key),
        ['b'],
      );
      assert.match(problems[0]!.message, expected);
      assert.equal(config.backends.entries[0]!.failure?.status, 500);
    });
  }

  test('with a CA that cannot be read are left out', () => {
    for (const value of ['', 'x', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----']) {
      const broken = create(SecretSchema, { key: 'ConfigMap/n/ca', value: { case: 'caCertificates', value } });
      const { runtime, problems } = build({ backends: [withCa], secrets: [broken] });
      assert.equal(runtime.backends.size, 0);
      assert.equal(problems.length, 1);
    }
  });
});

describe('compile', () => {
  test('reports two messages with one key', () => {
    const { problems } = build({ routes: [route('a'), route('a')] });
    assert.deepEqual(problems, [
      { list: 'routes', key: 'n/a/0', message: 'there are two messages with this key; one of them is not used' },
    ]);
  });

  test('counts versions', () => {
    const first = compile(emptyConfiguration);
    assert.equal(first.runtime.version, 1);
    assert.equal(compile(emptyConfiguration, first.runtime).runtime.version, 2);
  });

  test('never throws, and the order of messages makes no difference', () => {
    const text = fc.constantFrom(
      '',
      '/',
      '/a',
      '(',
      'a b',
      '\0',
      '*.test',
      'a.test',
      'n/g/l',
      'Service/n/s/80',
      'ProxyBackend/n/b',
      'x\r\ny',
      '%',
      '[',
    );
    const number = fc.constantFrom(0, 1, 2, 3, 80, 70_000);
    const anyRoute = fc
      .record({
        key: text,
        httpRoute: text,
        value: text,
        type: number,
        host: text,
        backend: text,
        weight: number,
        numerator: number,
      })
      .map((one) =>
        create(RouteSchema, {
          key: one.key,
          httpRoute: one.httpRoute,
          parents: [{ listener: 'n/g/l', hostnames: [one.host] }],
          matches: [
            {
              path: { type: one.type as never, value: one.value },
              headers: [{ name: one.host, type: one.type as never, value: one.value }],
            },
          ],
          backends: [{ backend: one.backend, weight: one.weight }],
          filters: [
            {
              filter: {
                case: 'requestMirror',
                value: { backend: one.backend, numerator: one.numerator, denominator: one.weight },
              },
            },
            {
              filter: {
                case: 'requestRedirect',
                value: {
                  hostname: one.host,
                  port: one.weight,
                  statusCode: 302,
                  path: { modifier: { case: 'replaceFullPath', value: one.value } },
                },
              },
            },
          ],
        }),
      );
    const anyListener = fc
      .record({ key: text, hostname: text, port: number, protocol: number })
      .map((one) => create(ListenerSchema, { ...one, protocol: one.protocol as never, certificates: [one.hostname] }));
    fc.assert(
      fc.property(
        fc.uniqueArray(anyRoute, { selector: ({ key }) => key, maxLength: 6 }),
        fc.uniqueArray(anyListener, { selector: ({ key }) => key, maxLength: 4 }),
        (routes, listeners) => {
          const forward = compile({ ...emptyConfiguration, routes, listeners });
          const backward = compile({
            ...emptyConfiguration,
            routes: routes.toReversed(),
            listeners: listeners.toReversed(),
          });
          assert.deepEqual(backward.problems, forward.problems);
          assert.deepEqual([...backward.runtime.ports.keys()], [...forward.runtime.ports.keys()]);
        },
      ),
      { numRuns: effort(500, 100) },
    );
  });
});
