import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { createFetcher } from '../../base/fetch-json.ts';
import { silentLog } from '../../base/log.ts';
import { emptyConfiguration } from '../../ir/configuration.ts';
import {
  AuthenticationMode,
  AuthorizationAction,
  BackendSchema,
  ListenerProtocol,
  ListenerSchema,
  McpTransport,
  type Policy,
  PolicyRivalSchema,
  PolicySchema,
  PolicyTargetKind,
  RouteSchema,
} from '../../ir/gen/config_pb.ts';
import { compile } from '../config/compile/compile.ts';
import { JwtAuthenticationRegistry } from '../authentication/jwt/jwt-authentication-registry.ts';
import { createInlineKeySource } from '../authentication/token/key-source.ts';
import { describeJwtAuthentications } from './describe-jwt-authentications.ts';
import { type DescribedProtection, describeProtection } from './describe-protection.ts';
import { describeRoutes } from './describe-routes.ts';
import { formatProtection, ProtectionBlocks } from './format-protection.ts';
import { formatRoutes } from './format-routes.ts';
import { listBadges } from './protection-badges.ts';

type Spec = Exclude<MessageInitShape<typeof PolicySchema>['spec'], undefined>;

const gateway = { kind: PolicyTargetKind.GATEWAY, namespace: 'default', name: 'public' };
const listener = { ...gateway, sectionName: 'http' };
const httpRoute = { kind: PolicyTargetKind.HTTP_ROUTE, namespace: 'default', name: 'api' };
const rule = { ...httpRoute, sectionName: 'main' };
const mcp = { kind: PolicyTargetKind.PROXY_BACKEND, namespace: 'default', name: 'a' };

function policy(name: string, target: object, spec: Spec): Policy {
  return create(PolicySchema, { key: `default/${name}/${String(spec.case)}`, source: `default/${name}`, target, spec });
}

function jwt(mode: AuthenticationMode = AuthenticationMode.STRICT, issuer = 'https://idp.example.com'): Spec {
  const provider = {
    name: 'idp',
    issuer,
    keys: { cacheDurationMs: 300_000, source: { case: 'url', value: 'https://idp.example.com/keys' } },
  } as const;
  const location = { location: { case: 'header', value: { name: 'authorization', prefix: 'Bearer ' } } } as const;
  return { case: 'jwtAuthentication', value: { mode, providers: [provider], location } };
}

function rules(expression = 'jwt.team == "support"', action: AuthorizationAction = AuthorizationAction.REQUIRE): Spec {
  return { case: 'authorization', value: { action, expressions: [expression] } };
}

const cors: Spec = { case: 'cors', value: { allowOrigins: ['*'] } };
const messageRules: Spec = {
  case: 'mcpAuthorization',
  value: {
    rules: { action: AuthorizationAction.ALLOW, expressions: ['mcp.tool.name == "search"'] },
    scopes: [{ tools: ['close*'], scopes: ['tickets:write'] }],
  },
};

/** One rule that leads to the ProxyBackends a and b with these weights. */
function compilePolicies(policies: readonly Policy[], weights: readonly number[] = [1, 0]) {
  const keys = new JwtAuthenticationRegistry({
    fetcher: createFetcher(),
    log: silentLog,
    openKeySource: () => createInlineKeySource('{}'),
  });
  const names = ['ProxyBackend/default/a', 'ProxyBackend/default/b'];
  const upstream = { endpoints: [{ host: '127.0.0.1', port: 3001 }] };
  const configuration = {
    ...emptyConfiguration,
    listeners: [
      create(ListenerSchema, {
        key: 'default/public/http',
        gateway: 'default/public',
        name: 'http',
        addresses: ['127.0.0.1'],
        port: 80,
        protocol: ListenerProtocol.HTTP,
      }),
    ],
    routes: [
      create(RouteSchema, {
        key: 'default/api/0',
        httpRoute: 'default/api',
        ruleName: 'main',
        parents: [{ listener: 'default/public/http' }],
        matches: [{}],
        backends: names.map((backend, index) => ({ backend, weight: weights[index] ?? 0 })),
      }),
    ],
    backends: names.map((key) =>
      create(BackendSchema, {
        key,
        kind: {
          case: 'mcp',
          value: {
            targets: [{ name: 'main', path: '/mcp', transport: McpTransport.STREAMABLE_HTTP, upstream }],
          },
        },
      }),
    ),
    policies,
  };
  const { runtime, problems } = compile(configuration, undefined, { acquireJwtAuthentication: keys.acquire });
  assert.deepEqual(problems, []);
  return runtime;
}

function describePolicies(policies: readonly Policy[], weights?: readonly number[]): DescribedProtection {
  const [port] = describeRoutes(compilePolicies(policies, weights)).ports;
  return port!.listeners[0]!.matches[0]!.protection;
}

describe('in few words', () => {
  const failure: Spec = { case: 'failure', value: { status: 500, reason: 'policy_invalid', message: 'broken' } };
  const cases: readonly (readonly [string, string, readonly Policy[], (readonly number[])?])[] = [
    ['open', 'open: no policy', []],
    ['open', 'open: CORS', [policy('a', gateway, cors)]],
    ['protected', 'token required', [policy('a', gateway, jwt())]],
    ['open', 'open: token optional', [policy('a', gateway, jwt(AuthenticationMode.OPTIONAL))]],
    ['open', 'open: token never required', [policy('a', gateway, jwt(AuthenticationMode.PERMISSIVE))]],
    [
      'protected',
      'token never required, rules',
      [policy('a', gateway, jwt(AuthenticationMode.PERMISSIVE)), policy('b', rule, rules())],
    ],
    [
      'protected',
      'token required, rules, CORS',
      [policy('a', gateway, jwt()), policy('b', rule, rules()), policy('c', listener, cors)],
    ],
    ['protected', 'message rules', [policy('a', mcp, messageRules)]],
    ['partly', 'open for some backends: message rules', [policy('a', mcp, messageRules)], [1, 1]],
    ['open', 'open: no policy', [policy('a', mcp, messageRules)], [0, 1]],
    [
      'protected',
      'token required, message rules',
      [policy('a', mcp, messageRules), policy('b', httpRoute, jwt())],
      [1, 1],
    ],
    ['closed', 'closed', [policy('a', httpRoute, failure), policy('b', gateway, jwt())]],
    ['protected', 'backend closed', [policy('a', mcp, failure)]],
  ];
  for (const [state, summary, policies, weights] of cases)
    test(`${summary} (${policies.length} policies)`, () => {
      const described = describePolicies(policies, weights);
      assert.deepEqual([described.state, described.summary], [state, summary]);
    });

  const certificates: readonly (readonly [string, string, readonly Policy[], (readonly number[])?])[] = [
    ['protected', 'client certificate required', []],
    ['protected', 'client certificate required, token required', [policy('a', gateway, jwt())]],
    [
      'protected',
      'client certificate required, message rules for some backends',
      [policy('a', mcp, messageRules)],
      [1, 1],
    ],
    ['closed', 'closed', [policy('a', httpRoute, failure)]],
  ];
  for (const [state, summary, policies, weights] of certificates)
    test(`${summary}, where clients need a certificate (${policies.length} policies)`, () => {
      const [port] = [...compilePolicies(policies, weights).ports.values()];
      const [, { routes }] = port!.listeners.entries()[0]!;
      const [, table] = routes.entries()[0]!;
      const described = describeProtection(table.entries[0]!.route, [], true);
      assert.deepEqual([described.state, described.summary], [state, summary]);
      assert.deepEqual(
        listBadges(described).filter(({ word }) => word === 'client certificate'),
        state === 'closed' ? [] : [{ word: 'client certificate', tone: 'good', policies: [] }],
      );
      const sentence = 'clients need a certificate that the listener validates';
      assert.ok(formatProtection(described).some(({ text }) => text === sentence));
    });
});

describe('in sentences', () => {
  const tell = (protection: DescribedProtection): string[] =>
    formatProtection(protection).map(({ text, isDetail }) => (isDetail ? `  ${text}` : text));

  test('the most specific level has the field and says what it overrides; rules of all levels are listed', () => {
    const protection = describePolicies([
      policy('everyone', gateway, jwt()),
      policy('deny', gateway, rules('source.address == "192.0.2.1"', AuthorizationAction.DENY)),
      policy('listener', listener, jwt(AuthenticationMode.OPTIONAL)),
      policy('api', httpRoute, jwt()),
      policy('team', rule, rules()),
    ]);
    assert.deepEqual(tell(protection), [
      'protected by ProxyPolicy default/api (traffic.jwtAuthentication, on HTTPRoute default/api): Strict',
      '  overrides ProxyPolicy default/listener on Gateway default/public, listener http, because a more specific level wins',
      '  overrides ProxyPolicy default/everyone on Gateway default/public, because a more specific level wins',
      'rules of ProxyPolicy default/team (traffic.authorization, on HTTPRoute default/api, rule main): Require, 1 expression',
      'rules of ProxyPolicy default/deny (traffic.authorization, on Gateway default/public): Deny, 1 expression',
    ]);
    assert.deepEqual(
      protection.policies
        .filter(({ inForce }) => !inForce)
        .map(({ policy: name, overriddenBy }) => [name, overriddenBy?.policy]),
      [
        ['default/listener', 'default/api'],
        ['default/everyone', 'default/api'],
      ],
    );
  });

  test('an Optional or Permissive policy is not said to protect', () => {
    const [optional] = tell(describePolicies([policy('a', gateway, jwt(AuthenticationMode.OPTIONAL))]));
    assert.match(optional!, /^tokens are checked by ProxyPolicy default\/a .*: Optional$/);
    const [permissive] = tell(describePolicies([policy('a', gateway, jwt(AuthenticationMode.PERMISSIVE))]));
    assert.match(permissive!, /^tokens are read by ProxyPolicy default\/a .*: Permissive$/);
  });

  test('rules over claims that do not believe what a more specific policy lets in are remarked on', () => {
    const tenant = jwt(AuthenticationMode.STRICT, 'https://tenant.example.com');
    const remarksOf = (...policies: Policy[]) =>
      describePolicies(policies)
        .policies.filter(({ remark }) => remark !== null)
        .map(({ policy: name, remark }) => `${name}: ${remark}`);
    const platform = [policy('platform', gateway, jwt()), policy('admins', gateway, rules())];
    assert.deepEqual(remarksOf(...platform, policy('tenant', httpRoute, tenant)), [
      'default/admins: sees claims only in tokens of https://idp.example.com: what the route lets in beside those is not believed here',
    ]);
    assert.deepEqual(remarksOf(...platform), []);
    assert.deepEqual(remarksOf(policy('admins', gateway, rules()), policy('tenant', httpRoute, tenant)), []);
    assert.deepEqual(
      remarksOf(...platform, policy('tenant', httpRoute, tenant), policy('own', rule, rules())).length,
      1,
    );
    const other = policy('other', gateway, rules('request.method == "GET"'));
    assert.deepEqual(remarksOf(policy('platform', gateway, jwt()), other, policy('tenant', httpRoute, tenant)), []);
  });

  test('rules over claims where nothing reads a token are remarked on', () => {
    const alone = describePolicies([policy('a', gateway, rules())]);
    assert.match(alone.policies[0]?.remark ?? '', /no policy here reads a token/);
    assert.equal(describePolicies([policy('a', gateway, rules('request.method == "GET"'))]).policies[0]?.remark, null);
    const together = describePolicies([policy('a', gateway, rules()), policy('b', gateway, jwt())]);
    assert.deepEqual(
      together.policies.map(({ remark }) => remark),
      [null, null],
    );
    const scopes = describePolicies([policy('a', mcp, messageRules)]);
    assert.match(scopes.policies[0]?.remark ?? '', /no policy here reads a token/);
    // It is about the rule, and said once.
    const several = describePolicies([policy('a', gateway, rules()), policy('b', mcp, messageRules)]);
    assert.equal(tell(several).filter((line) => line.includes('no policy here reads a token')).length, 1);
  });

  test('a policy that has no say because another one of the same place goes first is named, with the reason', () => {
    const owner = policy('old', gateway, jwt());
    owner.rivals.push(create(PolicyRivalSchema, { source: 'default/young', isYounger: true }));
    const tools = policy('a-tools', mcp, messageRules);
    tools.rivals.push(create(PolicyRivalSchema, { source: 'default/b-tools', isYounger: false }));
    const protection = describePolicies([owner, tools]);
    assert.deepEqual(tell(protection), [
      'protected by ProxyPolicy default/old (traffic.jwtAuthentication, on Gateway default/public): Strict',
      '  ProxyPolicy default/young has no say in traffic.jwtAuthentication of Gateway default/public, because ProxyPolicy default/old is older',
      'message rules of ProxyPolicy default/a-tools (backend.mcp.authorization, on ProxyBackend default/a): Allow, 1 expression, 1 scope',
      '  ProxyPolicy default/b-tools has no say in backend.mcp.authorization of ProxyBackend default/a, because ProxyPolicy default/a-tools comes first by name',
    ]);
    // Where the winner is itself overridden, the policy that lost to it is not shown.
    const below = describePolicies([owner, policy('api', httpRoute, jwt())]);
    assert.deepEqual(
      below.policies.map(({ policy: name }) => name),
      ['default/api', 'default/old'],
    );
  });

  test('a policy that cannot be enforced is named', () => {
    const closed = describePolicies([
      policy('a', httpRoute, { case: 'failure', value: { status: 500, reason: 'policy_invalid', message: 'broken' } }),
    ]);
    assert.deepEqual(tell(closed), ['closed by ProxyPolicy default/a, which cannot be enforced']);
    assert.equal(new ProtectionBlocks().refer(closed), 'closed by default/a');
  });
});

test('routes that are protected alike share a block, and rules are listed once', () => {
  const blocks = new ProtectionBlocks();
  const protect = (name: string): DescribedProtection =>
    describePolicies([policy(name, gateway, jwt()), policy('deny', gateway, rules('true', AuthorizationAction.DENY))]);
  assert.equal(blocks.refer(protect('a')), 'token required, rules [1]');
  assert.equal(blocks.refer(protect('b')), 'token required, rules [2]');
  assert.equal(blocks.refer(protect('a')), 'token required, rules [1]');
  assert.equal(blocks.refer(describePolicies([])), 'open: no policy');
  assert.equal(blocks.list().length, 2);
  assert.deepEqual(
    blocks.listRules().map(({ text }) => text),
    ['ProxyPolicy default/deny, traffic.authorization: Deny where this holds', 'true'],
  );
});

test('a long expression is shortened, and many are counted', () => {
  const blocks = new ProtectionBlocks();
  const expressions = Array.from(
    { length: 20 },
    (_, index) => `jwt.a == ${index} ||\n   ${'jwt.b || '.repeat(30)}true`,
  );
  const spec: Spec = { case: 'authorization', value: { action: AuthorizationAction.ALLOW, expressions } };
  blocks.refer(describePolicies([policy('a', gateway, spec)]));
  const [title, first, ...others] = blocks.listRules().map(({ text }) => text);
  assert.equal(title, 'ProxyPolicy default/a, traffic.authorization: Allow where any of these holds');
  assert.equal(first?.length, 120);
  assert.match(first, /^jwt\.a == 0 \|\| jwt\.b .*…$/);
  assert.equal(others.at(-1), 'and 8 more');
});

test('/routes lists providers with where their keys come from, and that they are not there', () => {
  const runtime = compilePolicies([policy('a', gateway, jwt())]);
  const text = formatRoutes(describeRoutes(runtime), [], describeJwtAuthentications(runtime));
  assert.deepEqual(text.split('\n').slice(-7), [
    '[1]  protected by ProxyPolicy default/a (traffic.jwtAuthentication, on Gateway default/public): Strict',
    '',
    'tokens default/a (Strict), in header authorization after "Bearer "',
    '  idp: https://idp.example.com, keys from https://idp.example.com/keys',
    '    keys not loaded: its tokens are answered 503',
    '    the inline key set has no list of keys',
    '',
  ]);
});
