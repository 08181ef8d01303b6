import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashAccessToken } from './access-token-hash.ts';

test('the example of OpenID Connect Core A.3', () => {
  assert.equal(hashAccessToken('jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y', 'RS256'), '77QmUPtjPfzWtF2AnpK9RQ');
});

test('half of the hash that the algorithm uses', () => {
  const lengths = { ES256: 16, PS384: 24, RS512: 32, EdDSA: 32, Ed25519: 32, Ed448: 57 } as const;
  for (const [algorithm, length] of Object.entries(lengths))
    assert.equal(Buffer.from(hashAccessToken('at', algorithm as 'ES256'), 'base64url').length, length, algorithm);
});
