import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { type HeaderModifier, HeaderModifierSchema } from '../../ir/gen/config_pb.ts';
import type { BackendConfig, CompiledCors, RouteFilters } from '../config/runtime-config.ts';
import { corsHeaderRemoval } from '../policies/cors.ts';
import type { McpAdmission } from '../request/admission.ts';
import { createContext } from '../authentication/testing/auth-fixture.ts';
import type { ForwardPlan } from './forward-plan.ts';
import { planForward, type PlanInput } from './plan-forward.ts';

const noFilters: RouteFilters = {
  requestHeaders: [],
  responseHeaders: [],
  redirect: undefined,
  rewrite: undefined,
  mirrors: [],
};

interface Planned {
  readonly rule?: Partial<RouteFilters>;
  readonly backendRef?: Partial<RouteFilters>;
  readonly cors?: boolean;
  readonly hostHeader?: string;
  readonly headers?: readonly string[];
  readonly responseHeaders?: readonly string[];
  readonly mcp?: Partial<McpAdmission>;
}

function plan({ rule, backendRef, cors, hostHeader = '', headers, responseHeaders = [], mcp }: Planned): ForwardPlan {
  const { context } = createContext({ authority: 'mcp.example.com', ...(headers && { headers }) });
  context.path = '/mcp';
  const policies = { 'traffic.cors': cors === true ? ({} as CompiledCors) : undefined, identityHeaders: undefined };
  const none = { token: undefined, removedHeaders: new Set<string>(), addedHeaders: [] };
  if (mcp !== undefined) context.mcp = { session: undefined, ...none, ...mcp } as McpAdmission;
  const route = { filters: { ...noFilters, ...rule }, policies };
  return planForward({
    context,
    route,
    matched: { route, matchedPrefix: '/mcp' },
    choice: { policies: {}, filters: { ...noFilters, ...backendRef } },
    backend: { hostHeader } as BackendConfig,
    backends: new Map(),
    responseHeaders,
    random: () => 0,
  } as unknown as PlanInput);
}

function sets(name: string, value: string): HeaderModifier {
  return create(HeaderModifierSchema, { set: [{ name, value }] });
}

describe('a plan', () => {
  test('has the modifiers of the rule and of the backendRef, in their order', () => {
    const [one, two] = [sets('x-one', '1'), sets('x-two', '2')];
    assert.deepEqual(plan({}).responseHeaders, []);
    assert.deepEqual(plan({ cors: true }).responseHeaders, [corsHeaderRemoval]);
    assert.deepEqual(plan({ rule: { responseHeaders: [one] } }).responseHeaders, [one]);
    assert.deepEqual(
      plan({ cors: true, rule: { responseHeaders: [one] }, backendRef: { responseHeaders: [two] } }).responseHeaders,
      [corsHeaderRemoval, two, one],
    );
    const { headers } = plan({ rule: { requestHeaders: [sets('x-a', '1')] }, backendRef: { requestHeaders: [sets('X-A', '2')] } }); // prettier-ignore
    assert.deepEqual(headers.slice(-2), ['X-A', '2'], 'the backendRef has the last word');
  });

  test('has what policies put on the answer, and the request id behind it', () => {
    const names = (planned: Planned): string[] =>
      plan(planned).extraResponseHeaders.filter((_, index) => index % 2 === 0);
    assert.deepEqual(names({}), ['x-request-id']);
    assert.deepEqual(names({ responseHeaders: ['vary', 'Origin', 'x-second', '2'] }), [
      'vary',
      'x-second',
      'x-request-id',
    ]);
  });
});

describe('what the gateway or its configuration adds', () => {
  test('is told when it must not be sent', () => {
    for (const planned of [
      { rule: { requestHeaders: [sets('x-ok', 'fine'), sets('x-line', 'a\r\nb: c')] } },
      { backendRef: { requestHeaders: [create(HeaderModifierSchema, { add: [{ name: 'x-line', value: '\0' }] })] } },
      { rule: { requestHeaders: [sets('no name', 'x')] } },
      { hostHeader: 'a\nb' },
      { rule: { rewrite: { hostname: 'snow \u2603', path: undefined } } },
      { mcp: { addedHeaders: ['x-fine', 'x', 'x-claim', 'a\rb'] } },
    ] satisfies readonly Planned[])
      assert.equal(plan(planned).areHeadersSendable, false, JSON.stringify(planned));
  });

  test('can be sent otherwise, the same every time', () => {
    const rule = { requestHeaders: [sets('x-ok', 'caf\u00e9\t!')] };
    for (let round = 0; round < 2; round += 1) {
      assert.equal(plan({}).areHeadersSendable, true);
      assert.equal(plan({ rule, hostHeader: 'other.example' }).areHeadersSendable, true);
      assert.equal(plan({ mcp: { addedHeaders: ['x-claim', 'alice'] } }).areHeadersSendable, true);
    }
  });
});
