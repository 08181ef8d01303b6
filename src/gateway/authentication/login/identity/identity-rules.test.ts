import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { IdentitySchema, McpAuthenticationSchema } from '../../../../ir/gen/config_pb.ts';
import { type ProviderPreset, standardPreset } from '../../../config/provider-preset.ts';
import { idpMetadata } from '../../testing/broker-fixture.ts';
import { entra } from '../idp/entra.ts';
import { github } from '../idp/github.ts';
import { google } from '../idp/google.ts';
import { createIdentityRules, findWanted } from './identity-rules.ts';
import { listIdentityScopes } from './identity-scopes.ts';

type IdentityInit = MessageInitShape<typeof IdentitySchema>;

function rulesOf(preset: ProviderPreset, identity: IdentityInit = {}, tokenClaims: readonly string[] = []) {
  return createIdentityRules(preset, create(IdentitySchema, identity), tokenClaims);
}

test('claims: what the policy maps, else the preset, else of the same name', () => {
  const { claims, subject, allow } = rulesOf(github, { claims: { team: 'company', name: 'bio' } }, [
    'name',
    'groups',
    'x',
  ]);
  assert.deepEqual(Object.fromEntries(claims), {
    groups: 'organizations',
    name: 'bio',
    team: 'company',
    x: 'x',
  });
  assert.deepEqual([subject, allow], [undefined, undefined]);
  assert.equal(rulesOf(github, { subject: 'node_id' }).subject, 'node_id');
});

test('the claim email is always the vouched address', () => {
  const { claims } = rulesOf(standardPreset, { claims: { email: 'mail', email_verified: 'mail' } });
  assert.deepEqual(
    [...claims],
    [
      ['email', 'email'],
      ['email_verified', 'email_verified'],
    ],
  );
});

test('nothing is asked for that nobody wants', () => {
  const wanted = (preset: ProviderPreset, identity?: IdentityInit, tokenClaims?: readonly string[]) =>
    findWanted({ preset, issuer: 'https://x.example' }, rulesOf(preset, identity, tokenClaims));
  assert.deepEqual(wanted(standardPreset), { email: false, organizations: false, members: [] });
  assert.deepEqual(wanted(standardPreset, { allow: { subjects: ['1'] } }), {
    email: false,
    organizations: false,
    members: [],
  });
  assert.equal(wanted(standardPreset, { allow: { domains: ['a.example'] } }).email, true);
  assert.equal(wanted(standardPreset, { allow: { emails: ['a@a.example'] } }).email, true);
  assert.equal(wanted(standardPreset, {}, ['email']).email, true);
  assert.equal(wanted(standardPreset, { claims: { mail: 'email' } }).email, true);
  assert.equal(wanted(standardPreset, { allow: { organizations: ['a'] } }).organizations, true);
  assert.equal(wanted(github, {}, ['groups']).organizations, true);
  assert.equal(wanted(github, { claims: { orgs: 'organizations' } }).organizations, true);
  assert.deepEqual(wanted(standardPreset, {}, ['groups', 'email']).members, ['groups']);
});

test('scopes that tell who somebody is', () => {
  const list = (
    preset: ProviderPreset,
    message: object = {},
    identity: IdentityInit = {},
    scopes?: readonly string[],
  ) =>
    listIdentityScopes({ message: create(McpAuthenticationSchema, message), preset }, rulesOf(preset, identity), {
      ...idpMetadata,
      ...(scopes !== undefined && { scopes_supported: scopes }),
    });
  assert.deepEqual(list(standardPreset), ['openid', 'email', 'profile']);
  assert.deepEqual(list(standardPreset, { extraScopes: ['groups', 'email'] }), [
    'openid',
    'email',
    'profile',
    'groups',
  ]);
  assert.deepEqual(list(standardPreset, {}, {}, ['profile']), ['openid', 'profile']);
  assert.deepEqual(list(standardPreset, { endpoints: {}, extraScopes: ['me'] }), ['me']);
  assert.deepEqual(list(google), ['openid', 'email', 'profile']);
  assert.deepEqual(list(entra), ['openid', 'email', 'profile', 'offline_access']);
  assert.deepEqual(list(github), ['read:user', 'user:email']);
  assert.deepEqual(list(github, { endpoints: {} }), ['read:user', 'user:email']);
  assert.deepEqual(list(github, {}, { allow: { organizations: ['acme'] } }), ['read:user', 'user:email', 'read:org']);
  assert.deepEqual(list(github, { extraScopes: ['repo'] }), ['read:user', 'user:email', 'repo']);
});
