import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { adminConfiguration } from '../../../test/integration/admin-configuration.ts';
import type { Configuration } from '../../ir/configuration.ts';
import {
  AuthorizationAction,
  ListenerProtocol,
  PathMatchType,
  PolicySchema,
  PolicyTargetKind,
  RouteSchema,
} from '../../ir/gen/config_pb.ts';
import { compile } from '../config/compile/compile.ts';
import { describeOverview, formatOpenCount, type GatewayState, type Overview } from './describe-overview.ts';

const quiet: GatewayState = {
  applied: undefined,
  endpoints: [],
  federations: [],
  keyProblems: [],
  sourceProblems: [],
  workers: 1,
};

function describeAll(changes: Partial<Configuration> = {}, state: Partial<GatewayState> = {}): Overview {
  const configuration = { ...adminConfiguration, ...changes };
  const { runtime, problems } = compile(configuration);
  const applied = { atMs: 1_000, problems, bindProblems: [] };
  return describeOverview(configuration, runtime, { ...quiet, applied, ...state });
}

const route = { kind: PolicyTargetKind.HTTP_ROUTE, namespace: 'default', name: 'tickets' };
const init = {
  key: 'default/rules/traffic.authorization/HTTPRoute/tickets',
  source: 'default/rules',
  target: route,
  spec: {
    case: 'authorization' as const,
    value: { action: AuthorizationAction.ALLOW, expressions: ['request.method == "POST"'] },
  },
};
const rules = create(PolicySchema, init);

describe('the overview', () => {
  test('a rule is one route, with all its places; one that answers errors only is not open', () => {
    const { routes } = describeAll();
    assert.deepEqual(
      routes.map(({ route: name, rule, isOpen }) => [name, rule, isOpen]),
      [
        ['default/tickets', '0', true],
        ['default/broken', 'main', false],
      ],
    );
    assert.deepEqual(routes[0]!.badges, [{ word: 'OPEN', tone: 'bad', policies: [] }]);
    assert.deepEqual(routes[0]!.backends, ['Service default/tickets:80, weight 9', '500 backend_invalid, weight 1']);
    assert.ok(routes[0]!.places.includes('a.mcp.example/mcp/*'), routes[0]!.places.join());
    assert.equal(routes[1]!.answers, '500 route_invalid: a filter is not valid');
    assert.equal(formatOpenCount(routes), '1 of 2 routes are OPEN');
  });

  test('rules protect, and their policy is named', () => {
    const { routes, policies } = describeAll({ policies: [rules] });
    assert.deepEqual(routes[0]!.badges, [{ word: 'rules', tone: 'good', policies: ['default/rules'] }]);
    assert.equal(formatOpenCount(routes), 'No route is OPEN');
    assert.deepEqual(policies, [
      {
        policy: 'default/rules',
        field: 'traffic.authorization',
        title: 'Rules over requests',
        target: 'HTTPRoute default/tickets',
        state: 'in force',
        problems: [],
      },
    ]);
  });

  test('a policy that cannot be enforced closes its target, and says why', () => {
    const failing = create(PolicySchema, {
      ...init,
      spec: { case: 'failure', value: { status: 500, reason: 'policy_invalid', message: 'no such Service' } },
    });
    const { routes, policies } = describeAll({ policies: [failing] });
    assert.deepEqual(routes[0]!.badges, [{ word: 'closed', tone: 'quiet', policies: ['default/rules'] }]);
    assert.equal(routes[0]!.isOpen, false);
    assert.deepEqual([policies[0]!.state, policies[0]!.problems], ['closed', ['no such Service']]);
  });

  test('a policy without keys fails, and one that lost its place has no effect', () => {
    const problem = { policy: rules.key, issuer: 'https://idp.example', reason: 'refused', hasNone: true };
    const winning = create(PolicySchema, { ...init, rivals: [{ source: 'default/younger', isYounger: true }] });
    const { policies } = describeAll({ policies: [winning] }, { keyProblems: [problem] });
    assert.deepEqual(
      policies.map(({ policy, state }) => [policy, state]),
      [
        ['default/rules', 'failing'],
        ['default/younger', 'silent'],
      ],
    );
    assert.match(policies[1]!.problems.join(), /ProxyPolicy default\/rules has the field here instead/);
    const stale = describeAll({ policies: [rules] }, { keyProblems: [{ ...problem, hasNone: false }] });
    assert.deepEqual([stale.policies[0]!.state, stale.policies[0]!.problems.length], ['in force', 1]);
  });

  test('endpoints have the health that the process knows', () => {
    const lastFailure = { atMs: 5, message: 'connect ECONNREFUSED' };
    const ejected = { backend: 'Service/default/tickets/80', endpoint: '[fd00::1]:81', outstanding: 2 };
    const { backends } = describeAll({}, { endpoints: [{ ...ejected, isEjected: true, lastFailure }] });
    assert.equal(backends[0]!.name, 'Service default/tickets:80');
    assert.deepEqual(backends[0]!.endpoints, [
      { name: '10.0.0.1:80', isEjected: false, outstanding: 0, lastFailure: null },
      { name: '[fd00::1]:81', isEjected: true, outstanding: 2, lastFailure },
    ]);
  });

  test('a listener whose port cannot be opened is not served, and problems are told once', () => {
    const [listener] = describeAll().listeners;
    assert.deepEqual(listener, {
      name: 'default/gw/https',
      address: '127.0.0.1:8443',
      protocol: 'HTTPS',
      hostname: '*.mcp.example',
      routes: 2,
      problems: [],
    });
    const bind = { bindKey: '127.0.0.1|8443', code: 'EADDRINUSE', message: 'Cannot listen.' };
    const overview = describeAll(
      {},
      {
        applied: { atMs: 1, problems: [], bindProblems: [bind, bind] },
        sourceProblems: ['gateway.yaml:1:1: no', 'gateway.yaml:1:1: no'],
      },
    );
    assert.deepEqual(overview.listeners[0]!.problems, ['Cannot listen.']);
    assert.deepEqual(overview.problems, ['gateway.yaml:1:1: no', 'Cannot listen.']);
  });

  test('a listener that the compiler refuses is there, with its problem', () => {
    const broken = { ...adminConfiguration.listeners[0]!, key: 'default/gw/other', protocol: ListenerProtocol.HTTP };
    const { listeners } = describeAll({ listeners: [...adminConfiguration.listeners, broken] });
    assert.match(listeners[1]!.problems.join(), /already speaks HTTPS/);
  });

  test('a route whose backends cannot be used is not open', () => {
    const broken = create(RouteSchema, {
      key: 'default/broken/0',
      httpRoute: 'default/broken',
      parents: [{ listener: 'default/gw/https', hostnames: ['a.mcp.example'] }],
      matches: [{ path: { type: PathMatchType.PREFIX, value: '/broken' } }],
      backends: [{ backend: 'ProxyBackend/default/unknown', weight: 1 }],
    });
    const { routes } = describeAll({ routes: [broken] });
    assert.deepEqual([routes[0]!.isOpen, routes[0]!.badges], [false, []]);
  });

  test('a redirect is not open', () => {
    const redirect = create(RouteSchema, {
      key: 'default/former/0',
      httpRoute: 'default/former',
      parents: [{ listener: 'default/gw/https', hostnames: ['a.mcp.example'] }],
      matches: [{ path: { type: PathMatchType.PREFIX, value: '/docs' } }],
      filters: [{ filter: { case: 'requestRedirect', value: { statusCode: 302 } } }],
    });
    const { routes } = describeAll({ routes: [redirect] });
    assert.deepEqual([routes[0]!.isOpen, routes[0]!.filters, routes[0]!.badges], [false, ['redirect 302'], []]);
    assert.equal(formatOpenCount(routes), 'No route is OPEN');
    assert.equal(formatOpenCount([]), 'No routes are served');
  });
});
