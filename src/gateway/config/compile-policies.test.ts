import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { emptyConfiguration } from '../../ir/configuration.ts';
import {
  BackendSchema, FilterSchema, ListenerProtocol, ListenerSchema, type Policy, PolicySchema, PolicyTargetKind, type PolicyTargetSchema, RouteSchema,
} from '../../ir/gen/config_pb.ts'; // prettier-ignore
import { compile } from './compile.ts';
import { PolicyIndex } from './compile-policies.ts';
import type { CompileProblem } from './compile-problem.ts';
import type { RouteConfig } from './runtime-config.ts';

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

const surroundings = {
  secrets: new Map(),
  backends: new Map(),
  acquireAuthentication: undefined,
  acquireJwtAuthentication: undefined,
};

function index(...policies: Policy[]): { index: PolicyIndex; problems: CompileProblem[] } {
  const problems: CompileProblem[] = [];
  return {
    index: new PolicyIndex(policies, surroundings, (key, message) => problems.push({ key, message })),
    problems,
  };
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
  return { failure: found.failure?.source, cors: found.cors?.message.allowOrigins[0] };
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
    assert.equal(index(...all).index.findForBackend('ProxyBackend/team/x')?.source, 'p/bad');
    assert.equal(index(...all).index.findForBackend('ProxyBackend/other/x'), undefined);
    assert.equal(index(...all).index.findForBackend('Service/team/x/80'), undefined);
  });

  test('of a backend closes that backend', () => {
    const found = index(failing('bad', backend)).index;
    assert.equal(found.findForBackend('ProxyBackend/tools/b')?.source, 'p/bad');
    assert.equal(found.findForBackend('ProxyBackend/tools/other'), undefined);
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
    assert.equal(index(cors('x', backend)).index.findForBackend('ProxyBackend/tools/b')?.failure.status, 500);
    assert.equal(find([cors('x', { kind: NAMESPACE, namespace: 'team' })]).failure, 'p/x');
  });

  test('because its target is of an unknown kind, closes the namespace', () => {
    assert.equal(find([cors('x', { kind: 99 as never, namespace: 'team', name: 'r' })]).failure, 'p/x');
    const without = create(PolicySchema, { key: 'team/x/cors', source: 'team/x', spec: { case: 'cors', value: {} } });
    assert.equal(find([without]).failure, 'team/x');
    assert.ok(index(without).problems.length > 0);
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
    assert.equal(serve([cors('rule', rule)], true)[0]!.policies.cors?.message.allowOrigins[0], 'https://filter.test');
    assert.equal(serve([cors('rule', rule)])[0]!.policies.cors?.message.allowOrigins[0], 'https://rule.test');
  });

  test('a closed backend fails its share and gets no mirrored requests', () => {
    const [open] = serve([]);
    assert.equal(open!.backends.entries[0]!.policyFailure, undefined);
    assert.equal(open!.filters.mirrors.length, 1);
    const [closed] = serve([failing('bad', backend)]);
    assert.equal(closed!.backends.entries[0]!.policyFailure?.source, 'p/bad');
    assert.equal(closed!.policies.failure, undefined);
    assert.deepEqual(closed!.filters.mirrors, []);
  });
});
