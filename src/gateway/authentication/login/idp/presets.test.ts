import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { mcpAuthenticationSchema } from '../../../../api/mcp-authentication.ts';
import { findPreset, listPresetNames } from './presets.ts';
import { standardPreset } from '../../../config/provider-preset.ts';

test('every provider of the schema has a preset, and every preset a provider', () => {
  const schema = z.toJSONSchema(mcpAuthenticationSchema, { unrepresentable: 'any', io: 'input' }) as unknown as {
    properties: { provider: { enum: string[] } };
  };
  assert.deepEqual([...listPresetNames()].toSorted(), schema.properties.provider.enum.toSorted());
});

test('no name is the standard, an unknown name is nothing', () => {
  assert.equal(findPreset(''), standardPreset);
  assert.equal(findPreset('keycloak'), undefined);
  assert.equal(findPreset('constructor'), undefined);
});

test('who cannot register clients needs the broker, and every preset has something to say', () => {
  for (const name of listPresetNames()) {
    const preset = findPreset(name)!;
    assert.equal(preset.name, name);
    assert.ok((preset.remarks ?? []).length > 0, name);
    if (preset.hasNoRegistration === true) assert.notEqual(preset.needsBroker, undefined, name);
  }
});

test('Auth0: the resource goes in audience, which clients do not send', () => {
  const auth0 = findPreset('Auth0')!;
  assert.equal(auth0.resourceParameter, 'audience');
  assert.match(auth0.needsBroker!, /audience/);
  assert.equal(auth0.hasNoRegistration, undefined);
});

test('Authentik: no registration, and the client id is the audience', () => {
  const authentik = findPreset('Authentik')!;
  assert.equal(authentik.hasNoRegistration, true);
  assert.ok(authentik.remarks!.some((remark) => /client id/.test(remark)));
});

test('Dex: every login needs openid, and there is no registration', () => {
  const dex = findPreset('Dex')!;
  assert.deepEqual(dex.requiredLoginScopes, ['openid']);
  assert.equal(dex.refreshScope, 'offline_access');
  assert.equal(dex.hasNoRegistration, true);
  assert.ok(dex.remarks!.some((remark) => /requiredScopes/.test(remark)));
});

test('Google: no registration, and opaque tokens that nobody can validate', () => {
  const google = findPreset('Google')!;
  assert.equal(google.hasNoRegistration, true);
  assert.ok(google.remarks!.some((remark) => /opaque.*Issuer/.test(remark)));
  assert.deepEqual(google.identity!.authorizationParameters, { access_type: 'offline', prompt: 'consent' });
  assert.equal(google.refreshScope, undefined, 'it refuses offline_access');
});

test('GitHub: no metadata, no registration, opaque tokens', () => {
  const github = findPreset('GitHub')!;
  assert.notEqual(github.fixedMetadata, undefined);
  assert.equal(github.hasNoRegistration, true);
  assert.equal(github.resourceParameter, 'none');
  assert.deepEqual(github.downStatuses, [403]);
  assert.ok(github.remarks!.some((remark) => /opaque.*Issuer/.test(remark)));
});

test('GitLab: OpenID discovery, wherever the instance is, and opaque tokens', () => {
  const gitlab = findPreset('GitLab')!;
  assert.deepEqual(gitlab.metadataUrls!('https://git.example.com/gitlab'), [
    'https://git.example.com/gitlab/.well-known/openid-configuration',
  ]);
  assert.equal(gitlab.refreshScope, undefined, 'every login gets a refresh token');
  assert.ok(gitlab.remarks!.some((remark) => /opaque.*Issuer/.test(remark)));
});

test('Keycloak: OpenID discovery, no resource, no openid in a registration', () => {
  const keycloak = findPreset('Keycloak')!;
  assert.deepEqual(keycloak.metadataUrls!('https://kc.example/realms/a'), [
    'https://kc.example/realms/a/.well-known/openid-configuration',
  ]);
  assert.equal(keycloak.resourceParameter, 'none');
  assert.deepEqual(keycloak.omitRegistrationScopes, ['openid']);
  assert.equal(keycloak.needsBroker, undefined, 'its metadata says enough');
});

test('Okta: registration takes an API token in a scheme of its own', () => {
  const okta = findPreset('Okta')!;
  assert.equal(okta.initialAccessTokenScheme, 'SSWS');
  assert.equal(okta.resourceParameter, 'audience');
  assert.match(okta.needsBroker!, /audience/);
});

test('Spring: initial access tokens work once', () => {
  const spring = findPreset('Spring')!;
  assert.ok(spring.anonymousRemarks!.some((remark) => /works once/.test(remark)));
  assert.equal(spring.audienceIsClient, true);
  assert.equal(spring.bindsRegisteredScopes, true);
  assert.ok(spring.forwardRemarks!.some((remark) => /Shared/.test(remark)));
});
