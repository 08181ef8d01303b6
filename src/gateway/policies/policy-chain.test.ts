import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { CorsSchema, FailureSchema } from '../../ir/gen/config_pb.ts';
import { noFilters } from '../config/compile/compile-filters.ts';
import type { RouteConfig, WeightedBackendConfig } from '../config/runtime-config.ts';
import type { RequestContext } from '../request/request-context.ts';
import { compileCors } from './cors.ts';
import { findBackendDenial } from './fail-closed.ts';
import { noBackendPolicies, noPolicies } from '../config/compile/compile-policies.ts';
import { runPolicyChain, runSteps } from './policy-chain.ts';
import type { PolicyRequest, PolicyStep } from '../request/policy-verdict.ts';

const failure = create(FailureSchema, { status: 500, reason: 'Invalid', message: 'the issuer is missing' });
const cors = compileCors(create(CorsSchema, { allowOrigins: ['https://a.test'] }));

function build(route: Partial<RouteConfig>, method = 'POST', headers: readonly string[] = []): PolicyRequest {
  const context = { exchange: { method, headers } } as unknown as RequestContext;
  const plain: RouteConfig = {
    key: 'n/r/0', httpRoute: 'n/r', ruleName: '', ruleIndex: 0, failure: undefined, policies: noPolicies,
    filters: noFilters, backends: { entries: [], totalWeight: 0 }, requestTimeoutMs: 0, backendRequestTimeoutMs: 0,
  }; // prettier-ignore
  const whole = { ...plain, ...route };
  return { context, route: whole, matched: { route: whole, matchedPrefix: '' } };
}

describe('the policy chain', () => {
  test('lets a request without policies go on', () => {
    assert.deepEqual(runPolicyChain(build({})), { kind: 'continue', responseHeaders: [] });
  });

  test('denies for a policy that cannot be enforced, before a preflight is answered', () => {
    const policies = { ...noPolicies, failure: { failure, source: 'n/p' }, 'traffic.cors': cors };
    const preflight = ['origin', 'https://a.test', 'access-control-request-method', 'POST'];
    for (const request of [build({ policies }), build({ policies }, 'OPTIONS', preflight)]) {
      assert.deepEqual(runPolicyChain(request), {
        kind: 'deny', reason: 'policy_invalid', status: 500, detail: 'policy n/p (Invalid): the issuer is missing', responseHeaders: [],
      }); // prettier-ignore
    }
  });

  test('denies for a rule that cannot be served', () => {
    assert.deepEqual(runPolicyChain(build({ failure: create(FailureSchema, { status: 503, message: 'no' }) })), {
      kind: 'deny', reason: 'route_invalid', status: 503, detail: 'route n/r/0: no', responseHeaders: [],
    }); // prettier-ignore
  });

  test('a failure with a status that is no error is still an error', () => {
    const verdict = runPolicyChain(build({ failure: create(FailureSchema, { status: 200 }) }));
    assert.ok(!(verdict instanceof Promise) && verdict.kind === 'deny' && verdict.status === 500);
  });

  test('answers preflights and puts headers on everything else', () => {
    const policies = { ...noPolicies, 'traffic.cors': cors };
    const preflight = runPolicyChain(
      build({ policies }, 'OPTIONS', ['origin', 'https://a.test', 'access-control-request-method', 'PUT']),
    );
    assert.ok(!(preflight instanceof Promise) && preflight.kind === 'respond' && preflight.status === 204);
    const refused = runPolicyChain(
      build({ policies }, 'OPTIONS', ['origin', 'https://b.test', 'access-control-request-method', 'PUT']),
    );
    assert.ok(!(refused instanceof Promise) && refused.kind === 'deny' && refused.reason === 'origin_not_allowed');
    assert.deepEqual(runPolicyChain(build({ policies }, 'POST', ['origin', 'https://a.test'])), {
      kind: 'continue',
      responseHeaders: ['access-control-allow-origin', 'https://a.test', 'vary', 'Origin'],
    });
  });
});

const add =
  (name: string): PolicyStep =>
  () => ({ kind: 'continue', responseHeaders: [name, '1'] });
const addLate =
  (name: string): PolicyStep =>
  async () => ({ kind: 'continue', responseHeaders: [name, '1'] });
const deny: PolicyStep = () => ({ kind: 'deny', reason: 'policy_invalid', detail: 'x', responseHeaders: ['d', '1'] });
const never: PolicyStep = () => assert.fail('a step behind the verdict ran');

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

describe('findBackendDenial', () => {
  const usable: WeightedBackendConfig = {
    backend: 'ProxyBackend/n/b',
    weight: 1,
    failure: undefined,
    policies: noBackendPolicies,
    filters: noFilters,
  };

  test('is silent about a usable backend', () => assert.equal(findBackendDenial(usable), undefined));

  test('names the policy before the backend', () => {
    const policies = { ...noBackendPolicies, failure: { failure, source: 'n/p' } };
    const denial = findBackendDenial({ ...usable, failure, policies });
    assert.equal(denial?.reason, 'policy_invalid');
    assert.equal(findBackendDenial({ ...usable, failure })?.reason, 'backend_invalid');
  });
});
