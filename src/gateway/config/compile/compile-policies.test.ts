import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { emptyConfiguration } from '../../../ir/configuration.ts';
import {
  AuthenticationMode, AuthorizationAction, BackendSchema, FilterSchema, ListenerProtocol, ListenerSchema, type Policy, PolicySchema, PolicyTargetKind, type PolicyTargetSchema, RouteSchema,
} from '../../../ir/gen/config_pb.ts'; // prettier-ignore
import { allPolicyKinds, policyKinds } from '../../../ir/policy-kinds.ts';
import { listClaimHeaders } from '../../authentication/claims-to-headers.ts';
import type { JwtAuthenticationConfig } from '../jwt-authentication-config.ts';
import type { JwtAuthenticationInput } from '../../authentication/jwt/jwt-authentication-registry.ts';
import { compile } from './compile.ts';
import { PolicyIndex, type RuleOnListener } from './compile-policies.ts';
import type { CompileProblem } from './compile-problem.ts';
import type { RouteConfig, RoutePolicies } from '../runtime-config.ts';

const { GATEWAY, HTTP_ROUTE, PROXY_BACKEND, NAMESPACE } = PolicyTargetKind;
type Target = MessageInitShape<typeof PolicyTargetSchema>;

const gateway: Target = { kind: GATEWAY, namespace: 'infra', name: 'g' };
const listener: Target = { ...gateway, sectionName: 'l' };
const httpRoute: Target = { kind: HTTP_ROUTE, namespace: 'team', name: 'r' };
const rule: Target = { ...httpRoute, sectionName: 'main' };
const backend: Target = { kind: PROXY_BACKEND, namespace: 'tools', name: 'b' };

function cors(name: string, target: Target): Policy {
  return create(PolicySchema, {
    key: `p/${name}/cors`,
    source: `p/${name}`,
    target,
    spec: { case: 'cors', value: { allowOrigins: [`https://${name}.test`] } },
  });
}

function failing(name: string, target: Target): Policy {
  return create(PolicySchema, {
    key: `p/${name}/x`,
    source: `p/${name}`,
    target,
    spec: { case: 'failure', value: { status: 500, reason: 'Invalid' } },
  });
}

const { ALLOW, DENY, REQUIRE } = AuthorizationAction;

function rules(name: string, target: Target, action: AuthorizationAction = ALLOW, ...expressions: string[]): Policy {
  return create(PolicySchema, {
    key: `p/${name}/authorization`,
    source: `p/${name}`,
    target,
    spec: { case: 'authorization', value: { action, expressions: expressions.length === 0 ? ['true'] : expressions } },
  });
}

function jwt(name: string, target: Target, ...headers: string[]): Policy {
  return create(PolicySchema, {
    key: `p/${name}/jwt-authentication`,
    source: `p/${name}`,
    target,
    spec: {
      case: 'jwtAuthentication',
      value: {
        mode: AuthenticationMode.STRICT,
        providers: [
          {
            name: 'idp',
            issuer: 'https://idp.test',
            keys: { cacheDurationMs: 300_000, source: { case: 'url', value: 'https://idp.test/keys' } },
          },
        ],
        claimsToHeaders: headers.map((header) => ({ claim: 'sub', header })),
      },
    },
  });
}

/** No keys are loaded here: it is about which policy it is. */
function acquireJwtAuthentication({ source, message }: JwtAuthenticationInput): JwtAuthenticationConfig {
  const claimHeaders = new Set(listClaimHeaders(message.claimsToHeaders));
  return { source, message, claimHeaders } as unknown as JwtAuthenticationConfig;
}

const surroundings = {
  secrets: new Map(),
  backends: new Map(),
  acquireAuthentication: undefined,
  acquireJwtAuthentication,
};

function index(...policies: Policy[]): { index: PolicyIndex; problems: CompileProblem[] } {
  const built = new PolicyIndex(policies, surroundings);
  return { index: built, problems: built.problems.map(([key, message]) => ({ list: 'policies', key, message })) };
}

function find(
  policies: Policy[],
  where: Partial<Parameters<PolicyIndex['findForRule']>[0]> = {},
): { failure: string | undefined; cors: string | undefined } {
  const found = index(...policies).index.findForRule({
    gateway: 'infra/g',
    listenerName: 'l',
    httpRoute: 'team/r',
    ruleName: 'main',
    ...where,
  });
  return { failure: found.failure?.source, cors: found['traffic.cors']?.message.allowOrigins[0] };
}

describe('a field', () => {
  test('is taken from the most specific level', () => {
    const levels = [cors('gateway', gateway), cors('listener', listener), cors('route', httpRoute), cors('rule', rule)];
    for (let count = 1; count <= levels.length; count += 1) {
      const expected = ['gateway', 'listener', 'route', 'rule'][count - 1];
      assert.equal(find(levels.slice(0, count)).cors, `https://${expected}.test`);
      assert.equal(find(levels.slice(0, count).toReversed()).cors, `https://${expected}.test`);
    }
  });

  test('reaches only its target', () => {
    assert.equal(find([cors('listener', listener)], { listenerName: 'other' }).cors, undefined);
    assert.equal(find([cors('gateway', gateway)], { gateway: 'infra/other' }).cors, undefined);
    assert.equal(find([cors('route', httpRoute)], { httpRoute: 'other/r' }).cors, undefined);
    assert.equal(find([cors('rule', rule)], { ruleName: '' }).cors, undefined);
    assert.equal(find([cors('rule', rule)], { ruleName: 'second' }).cors, undefined);
  });
});

describe('a policy that cannot be enforced', () => {
  test('wins at every level over policies that can', () => {
    for (const target of [gateway, listener, httpRoute, rule]) {
      const found = find([cors('rule', rule), failing('bad', target)]);
      assert.equal(found.failure, 'p/bad');
    }
  });

  test('closes a whole namespace: its routes, its gateways, its backends', () => {
    const all = [failing('bad', { kind: NAMESPACE, namespace: 'team' })];
    assert.equal(find(all).failure, 'p/bad');
    assert.equal(find(all, { httpRoute: 'other/r', gateway: 'team/g' }).failure, 'p/bad');
    assert.equal(find(all, { httpRoute: 'other/r' }).failure, undefined);
    assert.equal(index(...all).index.findForBackend('ProxyBackend/team/x').failure?.source, 'p/bad');
    assert.equal(index(...all).index.findForBackend('ProxyBackend/other/x').failure, undefined);
    assert.equal(index(...all).index.findForBackend('Service/team/x/80').failure, undefined);
  });

  test('of a backend closes that backend', () => {
    const found = index(failing('bad', backend)).index;
    assert.equal(found.findForBackend('ProxyBackend/tools/b').failure?.source, 'p/bad');
    assert.equal(found.findForBackend('ProxyBackend/tools/other').failure, undefined);
  });

  test('because it does not compile, closes its target and is reported', () => {
    const bad = create(PolicySchema, {
      key: 'p/bad/cors',
      source: 'p/bad',
      target: httpRoute,
      spec: { case: 'cors', value: { allowOrigins: ['nowhere'] } },
    });
    const empty = create(PolicySchema, { key: 'p/empty/x', source: 'p/empty', target: gateway });
    assert.deepEqual(find([bad]), { failure: 'p/bad', cors: undefined });
    assert.deepEqual(find([empty]), { failure: 'p/empty', cors: undefined });
    assert.deepEqual(
      index(bad, empty).problems.map(({ key }) => key),
      ['p/bad/cors', 'p/empty/x'],
    );
  });

  test('because CORS cannot protect its target, closes it', () => {
    assert.equal(index(cors('x', backend)).index.findForBackend('ProxyBackend/tools/b').failure?.failure.status, 500);
    assert.equal(find([cors('x', { kind: NAMESPACE, namespace: 'team' })]).failure, 'p/x');
  });

  test('because its kind cannot protect its target, closes it, whatever the kind', () => {
    const objects: Readonly<Record<string, Target>> = { Gateway: gateway, HTTPRoute: httpRoute, ProxyBackend: backend };
    for (const kind of allPolicyKinds) {
      const { messageCase, targets, title } = policyKinds[kind];
      const refused = Object.entries(objects).flatMap(([name, target]) => {
        const spec = { case: messageCase, value: {} } as Policy['spec'];
        const { problems } = index(create(PolicySchema, { key: 'p/x', source: 'p/x', target, spec }));
        return problems.some(({ message }) => message.startsWith(`${title} can protect a`)) ? [name] : [];
      });
      assert.deepEqual([...targets, ...refused].toSorted(), Object.keys(objects), kind);
    }
  });

  test('because its target is of an unknown kind, closes the namespace', () => {
    assert.equal(find([cors('x', { kind: 99 as never, namespace: 'team', name: 'r' })]).failure, 'p/x');
    const without = create(PolicySchema, { key: 'team/x/cors', source: 'team/x', spec: { case: 'cors', value: {} } });
    assert.equal(find([without]).failure, 'team/x');
    assert.ok(index(without).problems.length > 0);
  });
});

function findPolicies(policies: Policy[], where: Partial<RuleOnListener> = {}): RoutePolicies {
  const { index: found, problems } = index(...policies);
  assert.deepEqual(problems, []);
  return found.findForRule({
    gateway: 'infra/g',
    listenerName: 'l',
    httpRoute: 'team/r',
    ruleName: 'main',
    ...where,
  });
}

describe('rules', () => {
  const names = (found: readonly { readonly policy: string }[] | undefined): string[] =>
    (found ?? []).map(({ policy }) => policy);

  test('of all four levels have a say, the most specific ones first', () => {
    const all = [
      rules('a-gateway', gateway),
      rules('b-listener', listener, DENY, 'false', 'true'),
      rules('c-route', httpRoute, DENY),
      rules('d-rule', rule, REQUIRE),
    ];
    for (const policies of [all, all.toReversed()]) {
      const { 'traffic.authorization': authorization } = findPolicies(policies);
      assert.deepEqual(names(authorization?.allow), ['p/a-gateway']);
      assert.deepEqual(names(authorization?.deny), ['p/c-route', 'p/b-listener']);
      assert.deepEqual(names(authorization?.require), ['p/d-rule']);
    }
    const { 'traffic.authorization': authorization } = findPolicies(all);
    const [onRoute, onListener] = authorization!.deny;
    assert.deepEqual([onRoute!.level, onRoute!.target], ['HTTPRoute', 'HTTPRoute team/r']);
    assert.deepEqual([onListener!.level, onListener!.target], ['listener', 'Gateway infra/g, listener l']);
    assert.deepEqual(
      onListener!.expressions.map(({ source }) => source),
      ['false', 'true'],
    );
    assert.deepEqual(
      [authorization!.require[0]!.level, authorization!.require[0]!.target],
      ['rule', 'HTTPRoute team/r, rule main'],
    );
    assert.deepEqual([authorization!.allow[0]!.level, authorization!.allow[0]!.target], ['Gateway', 'Gateway infra/g']);
  });

  test('reach only their target', () => {
    const all = [
      rules('gateway', gateway),
      rules('listener', listener),
      rules('route', httpRoute),
      rules('rule', rule),
    ];
    const findAllow = (where: Partial<RuleOnListener>): string[] =>
      names(findPolicies(all, where)['traffic.authorization']?.allow);
    assert.deepEqual(findAllow({ listenerName: 'other' }), ['p/rule', 'p/route', 'p/gateway']);
    assert.deepEqual(findAllow({ ruleName: '' }), ['p/route', 'p/listener', 'p/gateway']);
    assert.deepEqual(findAllow({ ruleName: 'second' }), ['p/route', 'p/listener', 'p/gateway']);
    assert.deepEqual(findAllow({ httpRoute: 'team/other' }), ['p/listener', 'p/gateway']);
    assert.deepEqual(findAllow({ gateway: 'infra/other' }), ['p/rule', 'p/route']);
    assert.equal(findPolicies([])['traffic.authorization'], undefined);
    assert.equal(findPolicies([cors('x', rule)])['traffic.authorization'], undefined);
  });

  test('of two policies at the same place the first by key stay', () => {
    const { 'traffic.authorization': authorization, provenance } = findPolicies([
      rules('first', rule),
      rules('second', rule, DENY),
    ]);
    assert.deepEqual(names(authorization?.allow), ['p/first']);
    assert.deepEqual(names(authorization?.deny), []);
    assert.deepEqual(names(provenance), ['p/first']);
  });

  test('that do not compile close their target, whatever the others say', () => {
    const withoutExpressions = create(PolicySchema, {
      key: 'p/bad/authorization',
      source: 'p/bad',
      target: rule,
      spec: { case: 'authorization', value: { action: ALLOW } },
    });
    for (const [policy, problem] of [
      [rules('bad', rule, DENY, 'true', 'jwt.sub =='), /^matchExpressions\[1\], line 1, column \d+: /],
      [withoutExpressions, /no expressions/],
      [rules('bad', rule, 99 as never), /action 99 is not known/],
      [rules('bad', backend), /can protect a Gateway or an HTTPRoute only/],
    ] as const) {
      const { index: found, problems } = index(policy, rules('good', httpRoute));
      assert.equal(problems.length, 1);
      assert.match(problems[0]!.message, problem);
      const closed =
        policy.target?.kind === PROXY_BACKEND
          ? found.findForBackend('ProxyBackend/tools/b').failure
          : found.findForRule({ gateway: 'infra/g', listenerName: 'l', httpRoute: 'team/r', ruleName: 'main' }).failure;
      assert.equal(closed?.source, 'p/bad');
      assert.equal(closed?.failure.status, 500);
    }
  });
});

describe('JWT authentication', () => {
  test('is taken whole from the most specific level', () => {
    const levels = [jwt('gateway', gateway), jwt('listener', listener), jwt('route', httpRoute), jwt('rule', rule)];
    for (let count = 1; count <= levels.length; count += 1) {
      const expected = ['gateway', 'listener', 'route', 'rule'][count - 1];
      assert.equal(findPolicies(levels.slice(0, count))['traffic.jwtAuthentication']?.source, `p/${expected}`);
      assert.equal(
        findPolicies(levels.slice(0, count).toReversed())['traffic.jwtAuthentication']?.source,
        `p/${expected}`,
      );
    }
    assert.equal(findPolicies([jwt('rule', rule)], { ruleName: '' })['traffic.jwtAuthentication'], undefined);
    assert.equal(
      findPolicies([jwt('first', rule), jwt('second', rule)])['traffic.jwtAuthentication']?.source,
      'p/first',
    );
    assert.equal(index(...levels).index.list('traffic.jwtAuthentication').length, 4);
  });

  test('keeps clients from sending the headers of the levels that it overrides', () => {
    const onGateway = jwt('gateway', gateway, 'X-Auth-Subject', 'x_role');
    const findHeaders = (...policies: Policy[]): unknown => findPolicies(policies).identityHeaders;
    assert.deepEqual(findHeaders(onGateway, jwt('rule', rule)), new Set(['x-auth-subject', 'x-role']));
    assert.deepEqual(
      findHeaders(onGateway, jwt('listener', listener, 'x-team'), jwt('route', httpRoute, 'x-role')),
      new Set(['x-role', 'x-team', 'x-auth-subject']),
    );
    // The one in force names them all, or nobody names any: nothing is to be done beyond that.
    assert.equal(findHeaders(onGateway, jwt('rule', rule, 'x-role', 'x-auth-subject', 'x-more')), undefined);
    assert.equal(findHeaders(onGateway), undefined);
    assert.equal(findHeaders(jwt('gateway', gateway), jwt('rule', rule)), undefined);
    assert.equal(findHeaders(rules('gateway', gateway)), undefined);
    // On its own way only.
    assert.equal(findPolicies([onGateway, jwt('rule', rule)], { gateway: 'infra/other' }).identityHeaders, undefined);
  });
});

describe('provenance', () => {
  /** "field policy level (by the winner)" */
  const list = (policies: Policy[], where: Partial<RuleOnListener> = {}): string[] =>
    findPolicies(policies, where).provenance.map(
      ({ field, policy, level, overriddenBy }) =>
        `${field} ${policy} at ${level}${overriddenBy === undefined ? '' : `, overridden by ${overriddenBy.policy} at ${overriddenBy.level}`}`,
    );
  const all = [gateway, listener, httpRoute, rule].flatMap((target, at) => [
    cors(`cors${at}`, target),
    jwt(`jwt${at}`, target),
    rules(`rules${at}`, target),
  ]);

  test('tells for every field who has it, who would, and that all rules have a say', () => {
    assert.deepEqual(list(all), [
      'traffic.cors p/cors3 at rule',
      'traffic.cors p/cors2 at HTTPRoute, overridden by p/cors3 at rule',
      'traffic.cors p/cors1 at listener, overridden by p/cors3 at rule',
      'traffic.cors p/cors0 at Gateway, overridden by p/cors3 at rule',
      'traffic.jwtAuthentication p/jwt3 at rule',
      'traffic.jwtAuthentication p/jwt2 at HTTPRoute, overridden by p/jwt3 at rule',
      'traffic.jwtAuthentication p/jwt1 at listener, overridden by p/jwt3 at rule',
      'traffic.jwtAuthentication p/jwt0 at Gateway, overridden by p/jwt3 at rule',
      'traffic.authorization p/rules3 at rule',
      'traffic.authorization p/rules2 at HTTPRoute',
      'traffic.authorization p/rules1 at listener',
      'traffic.authorization p/rules0 at Gateway',
    ]);
    assert.deepEqual(list([]), []);
  });

  test('is about one rule on one listener', () => {
    assert.deepEqual(list(all, { ruleName: '', listenerName: 'other' }), [
      'traffic.cors p/cors2 at HTTPRoute',
      'traffic.cors p/cors0 at Gateway, overridden by p/cors2 at HTTPRoute',
      'traffic.jwtAuthentication p/jwt2 at HTTPRoute',
      'traffic.jwtAuthentication p/jwt0 at Gateway, overridden by p/jwt2 at HTTPRoute',
      'traffic.authorization p/rules2 at HTTPRoute',
      'traffic.authorization p/rules0 at Gateway',
    ]);
  });

  test('says where, for people', () => {
    const targets = findPolicies(all)
      .provenance.slice(0, 4)
      .map(({ target }) => target);
    assert.deepEqual(targets, [
      'HTTPRoute team/r, rule main',
      'HTTPRoute team/r',
      'Gateway infra/g, listener l',
      'Gateway infra/g',
    ]);
  });
});

/** The rule as the listeners l and m serve it. */
function serve(policies: Policy[], hasFilter = false): RouteConfig[] {
  const { runtime } = compile({
    ...emptyConfiguration,
    policies,
    listeners: ['l', 'm'].map((name) =>
      create(ListenerSchema, {
        key: `infra/g/${name}`,
        gateway: 'infra/g',
        name,
        port: 80,
        protocol: ListenerProtocol.HTTP,
        hostname: `${name}.test`,
      }),
    ),
    backends: [
      create(BackendSchema, {
        key: 'ProxyBackend/tools/b',
        kind: { case: 'mcp', value: { targets: [{ name: 't', upstream: {}, path: '/' }] } },
      }),
    ],
    routes: [
      create(RouteSchema, {
        key: 'team/r/0',
        httpRoute: 'team/r',
        ruleName: 'main',
        parents: [{ listener: 'infra/g/l' }, { listener: 'infra/g/m' }],
        backends: [{ backend: 'ProxyBackend/tools/b', weight: 1 }],
        filters: [
          create(FilterSchema, {
            filter: {
              case: 'requestMirror',
              value: { backend: 'ProxyBackend/tools/b', numerator: 1, denominator: 1 },
            },
          }),
          ...(hasFilter
            ? [create(FilterSchema, { filter: { case: 'cors', value: { allowOrigins: ['https://filter.test'] } } })]
            : []),
        ],
      }),
    ],
  });
  const { listeners } = runtime.ports.get('|80')!;
  return ['l', 'm'].map((name) => listeners.find(`${name}.test`)!.routes.find('x')!.entries[0]!.route);
}

describe('in a configuration', () => {
  test('a policy of one listener applies to the rule there only', () => {
    const [onL, onM] = serve([failing('bad', listener)]);
    assert.equal(onL!.policies.failure?.source, 'p/bad');
    assert.equal(onM!.policies.failure, undefined);
  });

  test("the rule's own CORS filter is the most specific of all", () => {
    assert.equal(
      serve([cors('rule', rule)], true)[0]!.policies['traffic.cors']?.message.allowOrigins[0],
      'https://filter.test',
    );
    assert.equal(
      serve([cors('rule', rule)])[0]!.policies['traffic.cors']?.message.allowOrigins[0],
      'https://rule.test',
    );
  });

  test('a closed backend fails its share and gets no mirrored requests', () => {
    const [open] = serve([]);
    assert.equal(open!.backends.entries[0]!.policies.failure, undefined);
    assert.equal(open!.filters.mirrors.length, 1);
    const [closed] = serve([failing('bad', backend)]);
    assert.equal(closed!.backends.entries[0]!.policies.failure?.source, 'p/bad');
    assert.equal(closed!.policies.failure, undefined);
    assert.deepEqual(closed!.filters.mirrors, []);
  });
});
