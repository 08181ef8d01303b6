import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standardPreset } from '../../../config/provider-preset.ts';
import { findFixedMetadata } from './fixed-metadata.ts';
import { github } from './github.ts';

const issuer = 'https://github.com';
const endpoints = {
  authorization: 'https://ghe.example.com/login/oauth/authorize',
  token: 'https://ghe.example.com/login/oauth/access_token',
  userinfo: 'https://ghe.example.com/api/v3/user',
};

test('who publishes metadata is asked for it', () => {
  assert.equal(
    findFixedMetadata({ issuer, endpoints: undefined, preset: standardPreset, allowInsecureHttp: false }),
    undefined,
  );
});

test('GitHub: all that is known', () => {
  assert.deepEqual(findFixedMetadata({ issuer, endpoints: undefined, preset: github, allowInsecureHttp: false }), {
    ok: true,
    source: 'the preset GitHub',
    metadata: {
      issuer,
      authorization_endpoint: 'https://github.com/login/oauth/authorize',
      token_endpoint: 'https://github.com/login/oauth/access_token',
      userinfo_endpoint: 'https://api.github.com/user',
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_post'],
    },
  });
});

test('endpoints of the policy come first, with what the preset knows beside them', () => {
  const found = findFixedMetadata({
    issuer: 'https://ghe.example.com',
    endpoints,
    preset: github,
    allowInsecureHttp: false,
  });
  assert.ok(found?.ok);
  assert.equal(found.source, 'endpoints of the policy');
  assert.equal(found.metadata.issuer, 'https://ghe.example.com');
  assert.equal(found.metadata.userinfo_endpoint, endpoints.userinfo);
  assert.deepEqual(found.metadata.token_endpoint_auth_methods_supported, ['client_secret_post']);
});

test('endpoints that must not be called', () => {
  const insecure = { ...endpoints, userinfo: 'http://ghe.example.com/user' };
  const find = (allowInsecureHttp: boolean) =>
    findFixedMetadata({ issuer, endpoints: insecure, preset: standardPreset, allowInsecureHttp });
  assert.match(JSON.stringify(find(false)), /\(endpoints of the policy\) has a userinfo_endpoint that is not https/);
  assert.equal(find(true)?.ok, true);
});
