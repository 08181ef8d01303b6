import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keycloak } from './keycloak.ts';

test('OpenID discovery, no resource, no openid in a registration', () => {
  assert.deepEqual(keycloak.metadataUrls!('https://kc.example/realms/a'), [
    'https://kc.example/realms/a/.well-known/openid-configuration',
  ]);
  assert.equal(keycloak.resourceParameter, 'none');
  assert.deepEqual(keycloak.omitRegistrationScopes, ['openid']);
  assert.equal(keycloak.needsBroker, undefined, 'its metadata says enough');
});
