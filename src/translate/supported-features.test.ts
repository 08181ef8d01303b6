// Every feature of the profile GATEWAY-HTTP is either claimed or known to be missing: a new version of Gateway API has to be looked at.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { supportedFeatures } from './supported-features.ts';

// Gateway API 1.6.1, pkg/features, without what is claimed.
const missing = [
  'BackendTLSPolicy',
  'BackendTLSPolicySANValidation',
  'GatewayBackendClientCertificate',
  'HTTPRouteRetry',
  'HTTPRouteRetryBackendTimeout',
  'HTTPRouteRetryConnectionError',
  'ListenerSet',
];

/** Gateway, HTTPRoute and ReferenceGrant, 10 more of Gateway, 26 of HTTPRoute, 2 of BackendTLSPolicy. */
const all = 3 + 10 + 26 + 2;

test('claimed and missing features are all there are', () => {
  const claimed = supportedFeatures.map(({ name }) => name);
  assert.deepEqual(
    claimed.filter((name) => missing.includes(name)),
    [],
  );
  assert.equal(claimed.length + missing.length, all);
});

test('features are told in ascending order, each once, and no more than a status can have', () => {
  const names = supportedFeatures.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)].toSorted());
  assert.ok(names.length <= 64);
});
