// Which own endpoints and resources follow from routes to protected backends. Goes through compile(), as a configuration does.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { emptyConfiguration } from '../../../ir/configuration.ts';
import {
  BackendSchema, ListenerProtocol, LoginFlow, ListenerSchema, PathMatchType, type Policy, PolicySchema, PolicyTargetKind, type PathMatchSchema, RouteSchema,
  type ValueMatchSchema, ValueMatchType,
} from '../../../ir/gen/config_pb.ts'; // prettier-ignore
import type { AcquireAuthentication } from '../../authentication/mcp/mcp-authentication-registry.ts';
import type { McpAuthenticationConfig } from '../protected-resource.ts';
import { findOwnEndpoint, findProtectedResource } from '../../route/find-protection.ts';
import { matchRoute } from '../../route/match-route.ts';
import { compile } from './compile.ts';
import type { ListenerConfig } from '../runtime-config.ts';
import { effort } from '../../../../test/kit/effort.ts';

const known = new Map<string, McpAuthenticationConfig>();

/** As the registry does: one object for one input. */
const acquire: AcquireAuthentication = ({ source, message }) => {
  const key = `${source} ${message.resource}`;
  const path = message.resource === '' ? undefined : new URL(message.resource).pathname.replace(/\/$/, '');
  const config = known.get(key) ?? ({ source, message, resourcePath: path } as McpAuthenticationConfig);
  known.set(key, config);
  return config;
};

type Match = ReturnType<typeof prefix>;
type PathMatch = MessageInitShape<typeof PathMatchSchema>;

const match = (path: PathMatch, headers: MessageInitShape<typeof ValueMatchSchema>[] = []) => ({ path, headers });
const prefix = (value: string) => match({ type: PathMatchType.PREFIX, value });
const exact = (value: string) => match({ type: PathMatchType.EXACT, value });
const expression = (value: string) => match({ type: PathMatchType.REGULAR_EXPRESSION, value });
const withHeader = ({ path }: Match) => match(path, [{ name: 'x', type: ValueMatchType.EXACT, value: '1' }]);

interface Rule {
  readonly hosts?: readonly string[];
  readonly matches: readonly Match[];
  /** Names of ProxyBackends; one named open-* has no policy. */
  readonly backends: readonly (string | { readonly name: string; readonly weight: number })[];
}

interface Setup {
  readonly rules: readonly Rule[];
  /** By backend: its policy, with another resource after `@`. */
  readonly policies: Readonly<Record<string, string>>;
}

/** What translation always sets. */
const usualLogin = { keys: { cacheDurationMs: 300_000 }, registration: { perMinute: 60, maxBodyBytes: 65_536 } };

function protect(backend: string, policy: string): Policy {
  const [name = '', resource = ''] = policy.split('@');
  return create(PolicySchema, {
    key: `n/${name}/backend.mcp.authentication/ProxyBackend/${backend}`,
    source: `n/${name}`,
    target: { kind: PolicyTargetKind.PROXY_BACKEND, namespace: 'n', name: backend },
    // What the resource is called does not matter here.
    spec: {
      case: 'mcpAuthentication',
      value: { issuer: 'https://idp.test', resource, flow: LoginFlow.DIRECT, audiences: ['a'], ...usualLogin },
    },
  });
}

function build({ rules, policies }: Setup): { listener: ListenerConfig; problems: string[] } {
  const listener = create(ListenerSchema, {
    key: 'n/g/l',
    gateway: 'n/g',
    name: 'l',
    port: 80,
    protocol: ListenerProtocol.HTTP,
  });
  const names = new Set(rules.flatMap(({ backends }) => backends.map((each) => readName(each))));
  const { runtime, problems } = compile(
    {
      ...emptyConfiguration,
      listeners: [listener],
      routes: rules.map(({ hosts = [], matches, backends }, index) =>
        create(RouteSchema, {
          key: `n/r/${index}`,
          httpRoute: 'n/r',
          ruleIndex: index,
          parents: [{ listener: listener.key, hostnames: [...hosts] }],
          matches: [...matches],
          backends: backends.map((each) => ({
            backend: `ProxyBackend/n/${readName(each)}`,
            weight: typeof each === 'string' ? 1 : each.weight,
          })),
        }),
      ),
      backends: [...names].map((name) =>
        create(BackendSchema, {
          key: `ProxyBackend/n/${name}`,
          kind: { case: 'mcp', value: { targets: [{ name, upstream: { endpoints: [{ host: 'h', port: 1 }] } }] } },
        }),
      ),
      policies: Object.entries(policies).map(([backend, policy]) => protect(backend, policy)),
    },
    undefined,
    { acquireAuthentication: acquire },
  );
  return {
    listener: runtime.ports.get('|80')!.listeners.find('any')!,
    problems: problems.map(({ message }) => message),
  };
}

function readName(backend: string | { readonly name: string }): string {
  return typeof backend === 'string' ? backend : backend.name;
}

/** What a path of a host is: "form of policy at P", or undefined. */
function ask(listener: ListenerConfig, path: string, host = 'a.test'): string | undefined {
  const own = findOwnEndpoint(listener, host, path);
  return own === undefined
    ? undefined
    : `${own.form} of ${own.resource.config.source} at ${own.resource.path || '/'}${own.isRootForm ? ' (root)' : ''}`;
}

/** The policy that protects a request, 'open', or 'closed'. */
function access(listener: ListenerConfig, path: string, headers: readonly string[] = [], host = 'a.test'): string {
  const request = { method: 'POST', hostname: host, path, query: '', headers };
  const matched = matchRoute(listener, request);
  if (matched === undefined) return 'nowhere';
  const results = matched.route.backends.entries.map((choice) => {
    if (choice.policies['backend.mcp.authentication'] === undefined) return 'open';
    const resource = findProtectedResource({ listener, hostname: host }, matched, choice);
    return resource === undefined ? 'closed' : `${resource.config.source} ${resource.path || '/'} ${resource.backend}`;
  });
  return results.join(', ');
}

describe('one protected backend', () => {
  const { listener, problems } = build({
    rules: [{ matches: [prefix('/mcp')], backends: ['a'] }],
    policies: { a: 'p' },
  });

  test('has every endpoint of the design', () => {
    assert.deepEqual(problems, []);
    const expected = {
      '/.well-known/oauth-protected-resource/mcp': 'protected-resource-metadata of n/p at /mcp',
      '/.well-known/oauth-protected-resource': 'protected-resource-metadata of n/p at /mcp (root)',
      '/.well-known/oauth-authorization-server/mcp': 'authorization-server-metadata of n/p at /mcp',
      '/.well-known/oauth-authorization-server': 'authorization-server-metadata of n/p at /mcp (root)',
      '/.well-known/openid-configuration/mcp': 'openid-configuration of n/p at /mcp',
      '/.well-known/openid-configuration': 'openid-configuration of n/p at /mcp (root)',
      '/mcp/.well-known/openid-configuration': 'openid-configuration of n/p at /mcp',
      '/.oauth/mcp/register': 'register of n/p at /mcp',
      '/.oauth/mcp/authorize': 'authorize of n/p at /mcp',
      '/.oauth/mcp/callback': 'callback of n/p at /mcp',
      '/.oauth/mcp/token': 'token of n/p at /mcp',
      '/register': 'register of n/p at /mcp (root)',
      '/authorize': 'authorize of n/p at /mcp (root)',
      '/token': 'token of n/p at /mcp (root)',
    };
    for (const [path, answer] of Object.entries(expected)) assert.equal(ask(listener, path), answer, path);
  });

  test('has no others: similar paths are not endpoints', () => {
    for (const path of [
      '/mcp',
      '/.well-known/oauth-protected-resource/MCP',
      '/.well-known/oauth-protected-resource/mcp/x',
      '/.well-known/oauth-protected-resource/other',
      '/.well-known/oauth-protected-resourcemcp',
      '/x/.well-known/oauth-protected-resource/mcp',
      '/.oauth/mcp',
      '/.oauth/mcp/register/x',
      '/callback',
    ])
      assert.equal(ask(listener, path), undefined, path);
  });

  test('is the resource of everything below its prefix', () => {
    assert.equal(access(listener, '/mcp'), 'n/p /mcp ProxyBackend/n/a');
    assert.equal(access(listener, '/mcp/sub'), 'n/p /mcp ProxyBackend/n/a');
    assert.equal(access(listener, '/mcpx'), 'nowhere');
  });
});

describe('paths of resources', () => {
  test('are those of all matches', () => {
    const { listener } = build({
      rules: [{ matches: [exact('/one'), prefix('/two/'), exact('/three/')], backends: ['a'] }],
      policies: { a: 'p' },
    });
    for (const path of ['/one', '/two', '/three'])
      assert.match(ask(listener, `/.well-known/oauth-protected-resource${path}`) ?? '', new RegExp(` at ${path}$`));
    assert.equal(access(listener, '/three/'), 'n/p /three ProxyBackend/n/a');
    // Three resources: nothing says which one the root form would be. One configuration: the authorization server is clear.
    assert.equal(ask(listener, '/.well-known/oauth-protected-resource'), undefined);
    assert.match(ask(listener, '/.well-known/oauth-authorization-server') ?? '', /\(root\)$/);
  });

  test('at the root have the root forms as their own, and leave what clients guess to the route', () => {
    const { listener } = build({ rules: [{ matches: [prefix('/')], backends: ['a'] }], policies: { a: 'p' } });
    assert.equal(ask(listener, '/.well-known/oauth-authorization-server'), 'authorization-server-metadata of n/p at /');
    assert.equal(ask(listener, '/.oauth/token'), 'token of n/p at /');
    for (const path of ['/register', '/authorize', '/token']) assert.equal(ask(listener, path), undefined, path);
  });

  test('come from the configured URL when there is one, and the path of the route leads there too', () => {
    const { listener, problems } = build({
      rules: [{ matches: [prefix('/mcp'), expression('/v[0-9]+')], backends: ['a'] }],
      policies: { a: 'p@https://mcp.test/tickets/' },
    });
    assert.deepEqual(problems, []);
    for (const path of ['/tickets', '/mcp'])
      assert.equal(
        ask(listener, `/.well-known/oauth-protected-resource${path}`),
        'protected-resource-metadata of n/p at /tickets',
      );
    assert.equal(access(listener, '/mcp/x'), 'n/p /tickets ProxyBackend/n/a');
    assert.equal(access(listener, '/v2'), 'n/p /tickets ProxyBackend/n/a');
    assert.match(ask(listener, '/.well-known/oauth-protected-resource') ?? '', /\(root\)$/);
  });

  test('of a regular expression do not exist without it: its requests are refused', () => {
    const { listener, problems } = build({
      rules: [{ matches: [expression('/v[0-9]+')], backends: ['a'] }],
      policies: { a: 'p' },
    });
    assert.match(problems.join(), /names no resource/);
    assert.equal(access(listener, '/v2'), 'closed');
  });
});

describe('several protected backends', () => {
  const rules = [
    { matches: [prefix('/a')], backends: ['a'] },
    { matches: [prefix('/b')], backends: ['b'] },
  ];

  test('on one host do not collide', () => {
    const { listener, problems } = build({ rules, policies: { a: 'p', b: 'q' } });
    assert.deepEqual(problems, []);
    assert.equal(ask(listener, '/.oauth/a/token'), 'token of n/p at /a');
    assert.equal(ask(listener, '/.oauth/b/token'), 'token of n/q at /b');
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
      '/.oauth/token',
      '/register',
    ])
      assert.equal(ask(listener, path), undefined, path);
  });

  test('of one policy share the root forms of its authorization server', () => {
    const { listener } = build({ rules, policies: { a: 'p', b: 'p' } });
    assert.match(ask(listener, '/.well-known/oauth-authorization-server') ?? '', /n\/p/);
    assert.equal(ask(listener, '/.well-known/oauth-protected-resource'), undefined);
  });

  test('in one rule: the first decides, and what another policy protects is refused', () => {
    const { listener, problems } = build({
      rules: [{ matches: [prefix('/mcp')], backends: ['a', 'b', 'open-c'] }],
      policies: { a: 'p', b: 'q' },
    });
    assert.equal(problems.length, 1);
    assert.match(problems[0]!, /the path \/mcp of any host is protected by ProxyPolicy n\/p and by n\/q/);
    assert.equal(access(listener, '/mcp'), 'n/p /mcp ProxyBackend/n/a, closed, open');
  });

  test('in one rule under one policy are one resource, each request with its own backend', () => {
    const { listener, problems } = build({
      rules: [{ matches: [prefix('/mcp')], backends: ['a', 'b'] }],
      policies: { a: 'p', b: 'p' },
    });
    assert.deepEqual(problems, []);
    assert.equal(access(listener, '/mcp'), 'n/p /mcp ProxyBackend/n/a, n/p /mcp ProxyBackend/n/b');
  });

  test('without weight do not count', () => {
    const { problems } = build({
      rules: [{ matches: [prefix('/mcp')], backends: [{ name: 'b', weight: 0 }, 'a'] }],
      policies: { a: 'p', b: 'q' },
    });
    assert.deepEqual(problems, []);
  });

  test('on one path, told apart by a header: the one with precedence decides, the other is refused', () => {
    const { listener, problems } = build({
      rules: [
        { matches: [withHeader(prefix('/mcp'))], backends: ['a'] },
        { matches: [prefix('/mcp')], backends: ['b'] },
      ],
      policies: { a: 'p', b: 'q' },
    });
    assert.equal(problems.length, 1);
    assert.equal(access(listener, '/mcp', ['x', '1']), 'n/p /mcp ProxyBackend/n/a');
    assert.equal(access(listener, '/mcp'), 'closed');
  });
});

describe('hosts', () => {
  test('have resources of their own', () => {
    const { listener } = build({
      rules: [
        { hosts: ['a.test'], matches: [prefix('/mcp')], backends: ['a'] },
        { hosts: ['b.test'], matches: [prefix('/mcp')], backends: ['b'] },
      ],
      policies: { a: 'p', b: 'q' },
    });
    const path = '/.well-known/oauth-protected-resource';
    assert.equal(ask(listener, path, 'a.test'), 'protected-resource-metadata of n/p at /mcp (root)');
    assert.equal(ask(listener, path, 'b.test'), 'protected-resource-metadata of n/q at /mcp (root)');
    assert.equal(ask(listener, path, 'c.test'), undefined);
  });

  test('see what less specific hostnames have, unless their own routes hide it', () => {
    const { listener, problems } = build({
      rules: [
        { matches: [prefix('/mcp'), prefix('/more')], backends: ['a'] },
        { hosts: ['*.test'], matches: [prefix('/more')], backends: ['b'] },
        { hosts: ['x.test'], matches: [prefix('/mcp')], backends: ['open-c'] },
      ],
      policies: { a: 'p', b: 'q' },
    });
    assert.deepEqual(problems, []);
    assert.equal(access(listener, '/mcp', [], 'other.example'), 'n/p /mcp ProxyBackend/n/a');
    assert.equal(access(listener, '/mcp', [], 'y.test'), 'n/p /mcp ProxyBackend/n/a');
    assert.equal(access(listener, '/more', [], 'y.test'), 'n/q /more ProxyBackend/n/b');
    assert.equal(access(listener, '/mcp', [], 'x.test'), 'open');
    assert.equal(access(listener, '/more', [], 'x.test'), 'n/q /more ProxyBackend/n/b');
    const metadata = '/.well-known/oauth-protected-resource/mcp';
    assert.match(ask(listener, metadata, 'y.test') ?? '', /n\/p/);
    assert.equal(ask(listener, metadata, 'x.test'), undefined);
    // x.test has one configuration left, so its root forms are clear; y.test has two.
    assert.match(ask(listener, '/.well-known/oauth-authorization-server', 'x.test') ?? '', /n\/q/);
    assert.equal(ask(listener, '/.well-known/oauth-authorization-server', 'y.test'), undefined);
  });

  test('without anything protected cost nothing', () => {
    const { listener } = build({ rules: [{ matches: [prefix('/')], backends: ['open-a'] }], policies: {} });
    assert.equal(listener.protection.size, 0);
    assert.equal(ask(listener, '/.well-known/oauth-protected-resource'), undefined);
  });
});

test('paths that clients guess belong to the route that claims them', () => {
  for (const claim of [exact('/register'), prefix('/register'), prefix('/'), expression('/reg.*')]) {
    const { listener } = build({
      rules: [
        { matches: [prefix('/mcp')], backends: ['a'] },
        { matches: [claim], backends: ['open-b'] },
      ],
      policies: { a: 'p' },
    });
    assert.equal(ask(listener, '/register'), undefined);
    assert.equal(access(listener, '/register'), 'open');
  }
});

describe('properties', () => {
  const path = fc.constantFrom('/', '/a', '/a/', '/a/b', '/mcp', '/.well-known', '/register');
  const anyMatch = fc.oneof(
    path.map(prefix),
    path.map(exact),
    fc.constant(expression('/a/.*')),
    path.map((each) => withHeader(prefix(each))),
  );
  const host = fc.constantFrom('a.test', '*.test', 'b.a.test', '*.a.test');
  const rule = fc.record({
    hosts: fc.array(host, { maxLength: 2 }),
    matches: fc.array(anyMatch, { minLength: 1, maxLength: 3 }),
    backends: fc.array(fc.constantFrom('a', 'b', 'c', 'open-d'), { minLength: 1, maxLength: 2 }),
  });
  const policies = fc.record({
    a: fc.constantFrom('p', 'q', 'p@https://x.test/mcp'),
    b: fc.constantFrom('p', 'q', 'q@https://x.test/'),
    c: fc.constantFrom('p', 'r'),
  });

  test('a request to a protected backend has a resource of that very policy, or is refused; its metadata is where the challenge says', () => {
    fc.assert(
      fc.property(fc.array(rule, { minLength: 1, maxLength: 4 }), policies, (rules, by) => {
        const { listener } = build({ rules, policies: by });
        for (const hostname of ['a.test', 'x.a.test', 'b.a.test', 'other.example'])
          for (const requested of ['/', '/a', '/a/', '/a/b', '/a/b/c', '/mcp', '/register', '/.well-known']) {
            for (const headers of [[], ['x', '1']]) {
              const request = { method: 'POST', hostname, path: requested, query: '', headers };
              const matched = matchRoute(listener, request);
              for (const choice of matched?.route.backends.entries ?? []) {
                assert.equal(
                  choice.policies['backend.mcp.authentication'] === undefined,
                  choice.backend.endsWith('open-d'),
                );
                const resource = findProtectedResource({ listener, hostname }, matched!, choice);
                if (resource === undefined) continue;
                assert.equal(resource.config, choice.policies['backend.mcp.authentication']);
                assert.equal(resource.backend, choice.backend);
                const own = findOwnEndpoint(
                  listener,
                  hostname,
                  `/.well-known/oauth-protected-resource${resource.path}`,
                );
                assert.equal(own?.resource.config, resource.config);
                assert.equal(own?.resource.path, resource.path);
              }
            }
          }
      }),
      { numRuns: effort(300, 100) },
    );
  });
});

describe('what a resource is called', () => {
  const nameOf = (
    listener: { readonly hostname?: string; readonly addresses?: readonly string[] },
    hosts: readonly string[],
    policy: { readonly resource?: string; readonly flow?: LoginFlow; readonly audiences?: string[] } = {},
  ) => {
    const { hostname = '', addresses = [] } = listener;
    const value = { issuer: 'https://idp.test', ...usualLogin, ...policy };
    const { runtime, problems } = compile(
      {
        ...emptyConfiguration,
        listeners: [
          create(ListenerSchema, {
            key: 'n/g/l',
            gateway: 'n/g',
            name: 'l',
            port: 8443,
            protocol: ListenerProtocol.HTTP,
            hostname,
            addresses: [...addresses],
          }),
        ],
        routes: [
          create(RouteSchema, {
            key: 'n/r/0',
            httpRoute: 'n/r',
            parents: [{ listener: 'n/g/l', hostnames: [...hosts] }],
            matches: [prefix('/mcp')],
            backends: [{ backend: 'ProxyBackend/n/a', weight: 1 }],
          }),
        ],
        backends: [
          create(BackendSchema, {
            key: 'ProxyBackend/n/a',
            kind: {
              case: 'mcp',
              value: { targets: [{ name: 'a', upstream: { endpoints: [{ host: 'h', port: 1 }] } }] },
            },
          }),
        ],
        policies: [
          create(PolicySchema, {
            key: 'n/p/backend.mcp.authentication/ProxyBackend/a',
            source: 'n/p',
            target: { kind: PolicyTargetKind.PROXY_BACKEND, namespace: 'n', name: 'a' },
            spec: { case: 'mcpAuthentication', value },
          }),
        ],
      },
      undefined,
      { acquireAuthentication: ({ source, message }) => ({ source, message }) as McpAuthenticationConfig },
    );
    const [port] = runtime.ports.values();
    const found = (host: string) =>
      [...(port!.listeners.find(host)?.protection.find(host)?.resources.values() ?? [])].map((each) => each.host);
    return { found, problems: problems.map(({ message }) => message) };
  };

  test('an exact hostname of the route or of the listener', () => {
    const expected = [{ kind: 'exact', hostname: 'a.test', port: 8443 }];
    assert.deepEqual(nameOf({}, ['A.test']).found('a.test'), expected);
    assert.deepEqual(nameOf({ hostname: 'a.test' }, []).found('a.test'), expected);
    assert.deepEqual(nameOf({ hostname: '*.test' }, ['a.test']).found('a.test'), expected);
    assert.deepEqual(nameOf({ addresses: ['127.0.0.1'] }, ['a.test']).found('a.test'), expected);
  });

  test('each of several hostnames is a resource of its own', () => {
    const { found } = nameOf({}, ['a.test', 'b.test']);
    assert.deepEqual(found('b.test'), [{ kind: 'exact', hostname: 'b.test', port: 8443 }]);
    assert.deepEqual(found('c.test'), []);
  });

  test('the names of this machine, where all addresses of the listener are loopback', () => {
    for (const addresses of [['127.0.0.1'], ['::1'], ['127.0.0.1', '::1'], ['127.9.9.9']])
      assert.deepEqual(nameOf({ addresses }, []).found('localhost'), [{ kind: 'loopback', port: 8443 }]);
  });

  test('without either it is closed, and the problem says so', () => {
    for (const [listener, hosts] of [
      [{}, []],
      [{ addresses: ['0.0.0.0'] }, []],
      [{ addresses: ['127.0.0.1', '192.0.2.1'] }, []],
      [{ hostname: '*.test' }, []],
      [{}, ['*.test']],
      [{ addresses: ['127.0.0.1'] }, ['*.test']],
    ] as const) {
      const { found, problems } = nameOf(listener, hosts);
      assert.deepEqual(found('a.test'), [], JSON.stringify([listener, hosts]));
      assert.match(problems.join(), /ProxyPolicy n\/p names no resource; these requests are refused/);
    }
  });

  test('unless the policy names it, or logins are none of the gateway and audiences are given', () => {
    const named = nameOf({}, [], { resource: 'https://public.test/x' });
    assert.deepEqual(named.found('a.test'), [{ kind: 'configured', origin: 'https://public.test' }]);
    assert.deepEqual(nameOf({}, [], { flow: LoginFlow.DIRECT, audiences: ['api'] }).found('a.test'), [
      { kind: 'asked' },
    ]);
    for (const policy of [
      { flow: LoginFlow.DIRECT },
      { audiences: ['api'] },
      { flow: LoginFlow.FACADE, audiences: ['api'] },
    ])
      assert.deepEqual(nameOf({}, [], policy).found('a.test'), []);
  });
});

test('nobody takes the path of a server away by naming it: who is there goes first', () => {
  const { listener, problems } = build({
    rules: [
      { hosts: ['a.test'], matches: [prefix('/mcp/longer')], backends: ['b'] },
      { hosts: ['a.test'], matches: [prefix('/mcp')], backends: ['a'] },
    ],
    policies: { a: 'own', b: 'thief@https://a.test/mcp' },
  });
  assert.equal(access(listener, '/mcp'), 'n/own /mcp ProxyBackend/n/a');
  assert.equal(access(listener, '/mcp/longer'), 'closed');
  assert.equal(
    ask(listener, '/.well-known/oauth-protected-resource/mcp'),
    'protected-resource-metadata of n/own at /mcp',
  );
  assert.match(
    problems.join(),
    /protected by ProxyPolicy n\/own and by n\/thief; requests to ProxyBackend\/n\/b are refused/,
  );
});
