// What counts as protection of a rule.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import {
  AuthenticationMode,
  FailureSchema,
  JwtAuthenticationSchema,
  RequestRedirectSchema,
} from '../../ir/gen/config_pb.ts';
import { noFilters } from '../config/compile/compile-filters.ts';
import { noBackendPolicies, noPolicies } from '../config/compile/compile-policies.ts';
import type { BackendPolicies, RoutePolicies, WeightedBackendConfig } from '../config/runtime-config.ts';
import { isUnprotected, type JudgedRule, judgeProtection } from './rule-protection.ts';

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
