// What counts as protection of a rule.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import {
  AuthenticationMode,
  FailureSchema,
  JwtAuthenticationSchema,
  RequestRedirectSchema,
} from '../../ir/gen/config_pb.ts';
import { compileExpression } from '../../cel/compile-expression.ts';
import { collectRules } from '../config/compile/compile-authorization.ts';
import { noFilters } from '../config/compile/compile-filters.ts';
import { noBackendPolicies, noPolicies } from '../config/compile/compile-policies.ts';
import type { RuleAction } from '../config/rule-set.ts';
import type { BackendPolicies, RoutePolicies, WeightedBackendConfig } from '../config/runtime-config.ts';
import {
  admitsAnonymousTo,
  isOpenByMistake,
  isUnprotected,
  type JudgedRule,
  judgeProtection,
} from './rule-protection.ts';

const place = { policy: 'default/p', level: 'HTTPRoute', target: 'HTTPRoute default/r' } as const;

function jwt(mode: AuthenticationMode): RoutePolicies {
  const config = { message: create(JwtAuthenticationSchema, { mode }) };
  return {
    ...noPolicies,
    'traffic.jwtAuthentication': config as RoutePolicies['traffic.jwtAuthentication'],
    provenance: [{ ...place, field: 'traffic.jwtAuthentication', overriddenBy: undefined }],
  };
}

function backend(policies: Partial<BackendPolicies> = {}, weight = 1): WeightedBackendConfig {
  return { backend: 'ProxyBackend/default/b', weight, failure: undefined, filters: noFilters, policies: { ...noBackendPolicies, ...policies } }; // prettier-ignore
}

function rule(policies: RoutePolicies, entries: readonly WeightedBackendConfig[] = [backend()]): JudgedRule {
  return { policies, filters: noFilters, backends: { entries, totalWeight: entries.length } };
}

const ruled = { 'backend.mcp.authorization': { source: 'default/rules' } } as Partial<BackendPolicies>;

/** Rules over requests, beside authentication of a mode. */
function withRules(mode: AuthenticationMode, action: RuleAction, ...sources: string[]): RoutePolicies {
  const expressions = sources.map((source) => {
    const compiled = compileExpression(source, 'request');
    assert.ok(compiled.ok, source);
    return compiled.expression;
  });
  return { ...jwt(mode), 'traffic.authorization': collectRules([{ ...place, action, expressions }]) };
}

describe('requests without a token', () => {
  const { STRICT, OPTIONAL, PERMISSIVE } = AuthenticationMode;
  const strictBackend = backend({
    'backend.mcp.authentication': { message: { mode: STRICT } },
  } as Partial<BackendPolicies>);
  for (const [what, judged, admits] of [
    ['no policy', rule(noPolicies), true],
    ['Strict', rule(jwt(STRICT)), false],
    ['an unknown mode is Strict', rule(jwt(99 as AuthenticationMode)), false],
    ['Optional', rule(jwt(OPTIONAL)), true],
    ['Optional, Allow over claims', rule(withRules(OPTIONAL, 'Allow', 'has(jwt.sub)')), false],
    ['Optional, one Allow of two over claims', rule(withRules(OPTIONAL, 'Allow', 'has(jwt.sub)', 'true')), true],
    ['Optional, one Require of two over claims', rule(withRules(OPTIONAL, 'Require', 'has(jwt.sub)', 'true')), false],
    ['Optional, Deny without claims', rule(withRules(OPTIONAL, 'Deny', '!has(jwt.sub)')), false],
    ['Optional, Deny that fails without claims', rule(withRules(OPTIONAL, 'Deny', 'jwt.sub == "mallory"')), false],
    ['Optional, Deny of a request', rule(withRules(OPTIONAL, 'Deny', 'request.path == "/a"')), true],
    ['Permissive, Allow over claims', rule(withRules(PERMISSIVE, 'Allow', 'has(jwt.sub)')), true],
    ['rules over messages alone', rule(noPolicies, [backend(ruled)]), true],
    ['every backend', rule(noPolicies, [strictBackend, strictBackend]), false],
    ['one of two backends', rule(noPolicies, [strictBackend, backend()]), true],
    ['a backend without weight', rule(noPolicies, [strictBackend, backend({}, 0)]), false],
    ['a closed backend', rule(noPolicies, [backend({ failure: { failure: create(FailureSchema), source: 'default/x' } })]), false],
    ['a closed rule', rule({ ...noPolicies, failure: { failure: create(FailureSchema), source: 'default/x' } }), false],
    ['no backend', rule(noPolicies, []), false],
    ['a redirect', { ...rule(noPolicies), filters: { ...noFilters, redirect: create(RequestRedirectSchema) } }, false],
  ] as const) {
    test(`${what}: ${admits ? 'pass' : 'do not pass'}`, () => {
      assert.equal(judgeProtection(judged).admitsAnonymous, admits);
      assert.equal(isOpenByMistake(judged), admits);
      const opened = { ...judged, policies: { ...judged.policies, 'traffic.publicAccess': { source: 'default/x' } } };
      assert.equal(isOpenByMistake(opened), false);
    });
  } // prettier-ignore

  test('of two backends each is judged by itself', () => {
    const both = rule(noPolicies, [{ ...strictBackend, backend: 'ProxyBackend/default/strict' }, backend()]);
    assert.equal(admitsAnonymousTo(both, 'ProxyBackend/default/strict'), false);
    assert.equal(admitsAnonymousTo(both, 'ProxyBackend/default/b'), true);
  });
});

for (const [what, judged, state, guards] of [
  ['no policy', rule(noPolicies), 'open', []],
  ['Strict', rule(jwt(AuthenticationMode.STRICT)), 'protected', ['default/p']],
  ['Optional asks nobody', rule(jwt(AuthenticationMode.OPTIONAL)), 'open', []],
  ['Permissive asks nobody', rule(jwt(AuthenticationMode.PERMISSIVE)), 'open', []],
  ['an unknown mode is Strict', rule(jwt(99 as AuthenticationMode)), 'protected', ['default/p']],
  ['every backend', rule(noPolicies, [backend(ruled)]), 'protected', ['default/rules']],
  ['one of two backends', rule(noPolicies, [backend(ruled), backend()]), 'partly', ['default/rules']],
  ['a backend without weight does not count', rule(noPolicies, [backend(ruled), backend({}, 0)]), 'protected', ['default/rules']],
  ['a closed backend', rule(noPolicies, [backend({ failure: { failure: create(FailureSchema), source: 'default/x' } })]), 'protected', []],
  ['a redirect', { ...rule(noPolicies), filters: { ...noFilters, redirect: create(RequestRedirectSchema) } }, 'redirect', []],
] as const) {
  test(what, () => {
    const found = judgeProtection(judged);
    assert.deepEqual([found.state, found.guards.map(({ policy }) => policy)], [state, guards]);
    assert.equal(isUnprotected(judged), state === 'open' || state === 'partly');
  });
} // prettier-ignore
