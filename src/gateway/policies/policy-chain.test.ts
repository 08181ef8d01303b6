import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { CorsSchema, FailureSchema } from '../../ir/gen/config_pb.ts';
import { allPolicyKinds } from '../../ir/policy-kinds.ts';
import { noFilters } from '../config/compile/compile-filters.ts';
import type { BackendConfig, RouteConfig, WeightedBackendConfig } from '../config/runtime-config.ts';
import type { RequestContext } from '../request/request-context.ts';
import { compileCors } from './cors.ts';
import { failClosed, findUsableBackend } from './fail-closed.ts';
import { noBackendPolicies, noPolicies } from '../config/compile/compile-policies.ts';
import { backendChain, policySteps, routeChain } from './policy-chain.ts';
import { runSteps, type RouteRequest, type Step } from '../request/run-steps.ts';

const failure = create(FailureSchema, { status: 500, reason: 'Invalid', message: 'the issuer is missing' });
const cors = compileCors(create(CorsSchema, { allowOrigins: ['https://a.test'] }));

function build(route: Partial<RouteConfig>, method = 'POST', headers: readonly string[] = []): RouteRequest {
  const context = { exchange: { method, headers } } as unknown as RequestContext;
  const plain: RouteConfig = {
    key: 'n/r/0', httpRoute: 'n/r', ruleName: '', ruleIndex: 0, failure: undefined, unprotected: undefined,
      closedByDefault: undefined, policies: noPolicies,
    filters: noFilters, backends: { entries: [], totalWeight: 0 }, requestTimeoutMs: 0, backendRequestTimeoutMs: 0,
  }; // prettier-ignore
  const whole = { ...plain, ...route };
  return { context, route: whole, matched: { route: whole, matchedPrefix: '' } };
}

describe('the policy chain', () => {
  test('has the step of every kind, in the order of the table', () => {
    const steps = [...routeChain, ...backendChain].filter((step) => step !== failClosed);
    assert.deepEqual(
      steps,
      allPolicyKinds.map((kind) => policySteps[kind]),
    );
  });

  test('lets a request without policies go on', () => {
    assert.deepEqual(runSteps(routeChain, build({})), { kind: 'continue', responseHeaders: [] });
  });

  test('denies for a policy that cannot be enforced, before a preflight is answered', () => {
    const policies = { ...noPolicies, failure: { failure, source: 'n/p' }, 'traffic.cors': cors };
    const preflight = ['origin', 'https://a.test', 'access-control-request-method', 'POST'];
    for (const request of [build({ policies }), build({ policies }, 'OPTIONS', preflight)]) {
      assert.deepEqual(runSteps(routeChain, request), {
        kind: 'deny', reason: 'policy_invalid', status: 500, detail: 'policy n/p (Invalid): the issuer is missing', responseHeaders: [],
      }); // prettier-ignore
    }
  });

  test('denies for a rule that cannot be served', () => {
    assert.deepEqual(runSteps(routeChain, build({ failure: create(FailureSchema, { status: 503, message: 'no' }) })), {
      kind: 'deny', reason: 'route_invalid', status: 503, detail: 'route n/r/0: no', responseHeaders: [],
    }); // prettier-ignore
  });

  test('a failure with a status that is no error is still an error', () => {
    const verdict = runSteps(routeChain, build({ failure: create(FailureSchema, { status: 200 }) }));
    assert.ok(!(verdict instanceof Promise) && verdict.kind === 'deny' && verdict.status === 500);
  });

  test('answers preflights and puts headers on everything else', () => {
    const policies = { ...noPolicies, 'traffic.cors': cors };
    const preflight = runSteps(
      routeChain,
      build({ policies }, 'OPTIONS', ['origin', 'https://a.test', 'access-control-request-method', 'PUT']),
    );
    assert.ok(!(preflight instanceof Promise) && preflight.kind === 'respond' && preflight.status === 204);
    const refused = runSteps(
      routeChain,
      build({ policies }, 'OPTIONS', ['origin', 'https://b.test', 'access-control-request-method', 'PUT']),
    );
    assert.ok(!(refused instanceof Promise) && refused.kind === 'deny' && refused.reason === 'origin_not_allowed');
    assert.deepEqual(runSteps(routeChain, build({ policies }, 'POST', ['origin', 'https://a.test'])), {
      kind: 'continue',
      responseHeaders: ['access-control-allow-origin', 'https://a.test', 'vary', 'Origin'],
    });
  });
});

const add =
  (name: string): Step<RouteRequest> =>
  () => ({ kind: 'continue', responseHeaders: [name, '1'] });
const addLate =
  (name: string): Step<RouteRequest> =>
  async () => ({ kind: 'continue', responseHeaders: [name, '1'] });
const deny: Step<RouteRequest> = () => ({
  kind: 'deny',
  reason: 'policy_invalid',
  detail: 'x',
  responseHeaders: ['d', '1'],
});
const never: Step<RouteRequest> = () => assert.fail('a step behind the verdict ran');

describe('steps', () => {
  test('collect headers in order and stop at the first verdict', () => {
    assert.deepEqual(runSteps([add('a'), add('b'), deny, never], build({})), {
      kind: 'deny', reason: 'policy_invalid', detail: 'x', responseHeaders: ['a', '1', 'b', '1', 'd', '1'],
    }); // prettier-ignore
  });

  test('may take their time', async () => {
    const verdict = runSteps([add('a'), addLate('b'), add('c'), addLate('d')], build({}));
    assert.ok(verdict instanceof Promise);
    assert.deepEqual(await verdict, { kind: 'continue', responseHeaders: ['a', '1', 'b', '1', 'c', '1', 'd', '1'] });
    const denied = await runSteps([add('a'), addLate('b'), deny, never], build({}));
    assert.deepEqual(denied, {
      kind: 'deny',
      reason: 'policy_invalid',
      detail: 'x',
      responseHeaders: ['a', '1', 'b', '1', 'd', '1'],
    });
  });

  test('that fail, fail the chain', async () => {
    await assert.rejects(async () => runSteps([() => Promise.reject(new Error('boom'))], build({})), /boom/);
    assert.throws(() => runSteps([() => { throw new Error('boom'); }], build({})), /boom/); // prettier-ignore
  });
});

describe('a chosen backend', () => {
  const usable: WeightedBackendConfig = {
    backend: 'ProxyBackend/n/b',
    weight: 1,
    failure: undefined,
    policies: noBackendPolicies,
    filters: noFilters,
  };

  const config = {} as BackendConfig;
  const find = (choice: WeightedBackendConfig | undefined): string => {
    const found = findUsableBackend(choice, new Map([['ProxyBackend/n/b', config]]));
    return found.ok ? 'usable' : `${found.denial.reason}: ${found.denial.detail}`;
  };

  test('is used when nothing is wrong with it', () => {
    assert.deepEqual(findUsableBackend(usable, new Map([['ProxyBackend/n/b', config]])), {
      ok: true,
      choice: usable,
      backend: config,
    });
  });

  test('names the policy before the backend', () => {
    assert.match(
      find({ ...usable, failure, policies: { ...noBackendPolicies, failure: { failure, source: 'n/p' } } }),
      /^policy_invalid: policy n\/p/,
    );
    assert.match(find({ ...usable, failure }), /^backend_invalid: backend ProxyBackend\/n\/b/);
  });

  test('is refused when there is none, or none any more', () => {
    assert.equal(find(undefined), 'backend_invalid: no backend of the rule has a weight above 0');
    assert.equal(
      find({ ...usable, backend: 'ProxyBackend/n/gone' }),
      'backend_invalid: the backend is no longer configured',
    );
  });
});
