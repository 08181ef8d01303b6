import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standardPreset } from '../../../config/provider-preset.ts';
import { github } from '../idp/github.ts';
import { google } from '../idp/google.ts';
import { findCredential } from './refresh-credential.ts';

test('the refresh token, where there is one', () => {
  const answer = { access_token: 'a', refresh_token: 'r', expires_in: 28_800 };
  for (const preset of [standardPreset, github, google])
    assert.deepEqual(findCredential(preset, answer), { kind: 'refresh_token', token: 'r' });
});

test("a token that does not expire: GitHub's OAuth apps, and OAuth 2.0 without refresh tokens", () => {
  for (const preset of [standardPreset, github])
    assert.deepEqual(findCredential(preset, { access_token: 'a', refresh_token: '' }), {
      kind: 'access_token',
      token: 'a',
    });
});

test('otherwise there is nothing to refresh with', () => {
  assert.equal(findCredential(github, { access_token: 'a', expires_in: 28_800 }), undefined);
  assert.equal(findCredential(standardPreset, { access_token: 'a', id_token: 'x' }), undefined);
  assert.equal(findCredential(google, { access_token: 'a' }), undefined);
  assert.equal(findCredential(github, { refresh_token: 7, access_token: '' }), undefined);
});
