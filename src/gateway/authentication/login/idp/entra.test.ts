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

const common = 'https://login.microsoftonline.com/common/v2.0';
const consumers = '9188040d-6c67-4c5b-b112-36a304b66dad';
const issuerOf = (id: string): string => `https://login.microsoftonline.com/${id}/v2.0`;

test('with the flow Issuer, metadata of many tenants has a template for its issuer', () => {
  const accepts = entra.identity!.acceptsMetadataIssuer!;
  for (const audience of ['common', 'organizations'])
    assert.equal(accepts(issuerOf(audience), 'https://login.microsoftonline.com/{tenantid}/v2.0'), true, audience);
  assert.equal(accepts(issuerOf('consumers'), issuerOf(consumers)), true);
  assert.equal(accepts(issuerOf('common'), 'https://evil.example/{tenantid}/v2.0'), false);
  assert.equal(accepts(issuerOf('common'), v2), false);
  assert.equal(accepts(v2, 'https://login.microsoftonline.com/{tenantid}/v2.0'), false);
  assert.equal(accepts(v1, v2), true);
  assert.equal(entra.acceptsIssuer!(common, 'https://login.microsoftonline.com/{tenantid}/v2.0'), false);
});

test('the issuer of an ID token names the tenant of the user', () => {
  const accepts = entra.identity!.acceptsIdTokenIssuer!;
  assert.equal(accepts(v2, { iss: v2, tid: tenant }), true);
  assert.equal(accepts(v2, { iss: v1, tid: tenant.toUpperCase() }), true);
  assert.equal(accepts(v2, { iss: v2, tid: consumers }), false);
  assert.equal(accepts(v2, { iss: v2 }), false);
  assert.equal(accepts(v2, { iss: issuerOf(consumers), tid: consumers }), false);
  assert.equal(accepts(common, { iss: v2, tid: tenant }), true);
  assert.equal(accepts(common, { iss: issuerOf(consumers), tid: consumers }), true);
  assert.equal(accepts(common, { iss: v2, tid: consumers }), false);
  assert.equal(accepts(common, { iss: common, tid: 'common' }), false);
  assert.equal(accepts(common, { iss: `https://evil.example/${tenant}/v2.0`, tid: tenant }), false);
  assert.equal(accepts(issuerOf('organizations'), { iss: issuerOf(consumers), tid: consumers }), false);
  assert.equal(accepts(issuerOf('organizations'), { iss: v2, tid: tenant }), true);
  assert.equal(accepts(issuerOf('consumers'), { iss: issuerOf(consumers), tid: consumers }), true);
  assert.equal(accepts(issuerOf('consumers'), { iss: v2, tid: tenant }), false);
});

test("groups of a tenant of one's own; of many tenants only the tenant", () => {
  assert.equal(entra.identity!.organizations!(v2), undefined);
  assert.equal(entra.identity!.organizations!(common), 'tid');
});
