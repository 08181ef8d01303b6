import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entra } from './entra.ts';

const tenant = '11111111-2222-3333-4444-555555555555';
const v1 = `https://sts.windows.net/${tenant}/`;
const v2 = `https://login.microsoftonline.com/${tenant}/v2.0`;
const metadata = `${v2}/.well-known/openid-configuration`;

test('metadata of version 2, for issuers of both versions and of all clouds', () => {
  assert.deepEqual(entra.metadataUrls!(v1), [metadata]);
  assert.deepEqual(entra.metadataUrls!(v2), [metadata]);
  assert.deepEqual(entra.metadataUrls!(`https://login.microsoftonline.us/${tenant}/v2.0`), [
    `https://login.microsoftonline.us/${tenant}/v2.0/.well-known/openid-configuration`,
  ]);
  assert.deepEqual(entra.metadataUrls!(`https://sts.chinacloudapi.cn/${tenant}/`), [
    `https://login.partner.microsoftonline.cn/${tenant}/v2.0/.well-known/openid-configuration`,
  ]);
  assert.deepEqual(entra.metadataUrls!('https://x.ciamlogin.com/a/b/c'), [
    'https://x.ciamlogin.com/a/b/c/.well-known/openid-configuration',
  ]);
});

test('the document of version 2 speaks for issuers of version 1, of the same tenant only', () => {
  assert.equal(entra.acceptsIssuer!(v1, v2), true);
  assert.equal(entra.acceptsIssuer!(v2, v2), true);
  assert.equal(
    entra.acceptsIssuer!(v1, 'https://login.microsoftonline.com/99999999-2222-3333-4444-555555555555/v2.0'),
    false,
  );
  assert.equal(entra.acceptsIssuer!(v1, `https://evil.example/${tenant}/v2.0`), false);
  assert.equal(entra.acceptsIssuer!(v1, 'not a url'), false);
  assert.equal(entra.acceptsIssuer!('https://a.example/x/y/z', 'https://a.example/x/y/z/w'), false);
});

test('no registration, no resource, PKCE without saying so', () => {
  assert.equal(entra.hasNoRegistration, true);
  assert.equal(entra.resourceParameter, 'none');
  assert.equal(entra.supportsPkce, true);
});
