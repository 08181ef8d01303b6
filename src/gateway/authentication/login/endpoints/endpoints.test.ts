import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fallbackPaths, listOwnPaths, listRootPaths } from '../../../../ir/endpoint-paths.ts';
import { findEndpoint } from './endpoints.ts';
import { createResource } from '../../testing/auth-fixture.ts';

test('every path leads to an endpoint of its name', () => {
  const owner = { path: '/mcp', isOnlyOne: true, isOnlyConfiguration: true };
  const forms = new Set(
    [...listOwnPaths('/mcp'), ...listRootPaths(owner, () => false), ...fallbackPaths].map(({ form }) => form),
  );
  for (const form of forms) assert.equal(findEndpoint(form).endpoint.name, form);
});

test('programs may call from any origin what programs call, and nothing takes an unbounded body', () => {
  for (const form of [
    'protected-resource-metadata',
    'authorization-server-metadata',
    'openid-configuration',
    'register',
    'token',
    'revoke',
    'jwks',
  ] as const)
    assert.equal(findEndpoint(form).endpoint.cors, true, form);
  for (const form of ['authorize', 'consent', 'callback'] as const) {
    assert.equal(findEndpoint(form).endpoint.cors, false, form);
    assert.deepEqual(findEndpoint(form).needsFlow, ['Broker', 'Issuer']);
  }
  for (const form of ['register', 'token', 'revoke', 'consent'] as const) {
    const limit = findEndpoint(form).endpoint.maxBodyBytes(createResource());
    assert.ok(limit > 0 && limit <= 1_048_576, form);
  }
});
