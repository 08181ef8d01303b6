import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchOutcome, GuardedRequest } from '../../../../base/fetch-json.ts';
import { type Discovery, discoverMetadata, type DiscoveryOptions, listMetadataUrls } from './discover-metadata.ts';
import { findPreset } from './presets.ts';
import { standardPreset } from '../../../config/provider-preset.ts';
import { answerJson } from '../../testing/broker-fixture.ts';

const keycloak = findPreset('Keycloak')!;

const issuer = 'https://idp.example.com/realms/a';
const oauth = 'https://idp.example.com/.well-known/oauth-authorization-server/realms/a';
const openid = 'https://idp.example.com/realms/a/.well-known/openid-configuration';
const inserted = 'https://idp.example.com/.well-known/openid-configuration/realms/a';
const document = {
  issuer,
  authorization_endpoint: `${issuer}/auth`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
};

async function discover(
  answers: Readonly<Record<string, FetchOutcome | undefined>>,
  options: Partial<DiscoveryOptions> = {},
): Promise<{ readonly found: Discovery; readonly asked: readonly GuardedRequest[] }> {
  const asked: GuardedRequest[] = [];
  const found = await discoverMetadata({
    issuer,
    metadataUrl: '',
    preset: standardPreset,
    ca: undefined,
    allowInsecureHttp: false,
    fetcher: {
      fetch(request) {
        asked.push(request);
        return Promise.resolve(answers[request.url] ?? answerJson({ error: 'not_found' }, 404));
      },
      close: () => Promise.resolve(),
    },
    ...options,
  });
  return { found, asked };
}

describe('discoverMetadata', () => {
  test('asks RFC 8414 first, then both forms of OpenID; with GET, as the operator', async () => {
    const { found, asked } = await discover({ [inserted]: answerJson(document) }, { ca: 'PEM' });
    assert.deepEqual(
      asked.map(({ url }) => url),
      [oauth, openid, inserted],
    );
    for (const request of asked) {
      assert.equal(request.method ?? 'GET', 'GET');
      assert.equal(request.chosenBy, 'operator');
      assert.equal(request.ca, 'PEM');
    }
    assert.ok(found.ok);
    assert.equal(found.url, inserted);
    assert.equal(found.jwksUri, `${issuer}/jwks`);
    assert.deepEqual(
      found.tries.map(({ problem }) => problem),
      ['answers 404', 'answers 404', undefined],
    );
  });

  test('where two documents name different registration endpoints the RFC 8414 one wins', async () => {
    const { found } = await discover({
      [oauth]: answerJson({ ...document, registration_endpoint: `${issuer}/oauth-register` }),
      [openid]: answerJson({
        ...document,
        registration_endpoint: `${issuer}/openid-register`,
        userinfo_endpoint: `${issuer}/me`,
      }),
    });
    assert.ok(found.ok);
    assert.equal(found.url, oauth);
    assert.deepEqual(found.metadata, { ...document, registration_endpoint: `${issuer}/oauth-register` });
  });

  test('with the flow Issuer, userinfo that only the other document names is used', async () => {
    const answers = {
      [oauth]: answerJson(document),
      [openid]: answerJson({ ...document, userinfo_endpoint: `${issuer}/me` }),
    };
    const { found } = await discover(answers, { flow: 'Issuer' });
    assert.ok(found.ok);
    assert.deepEqual(found.metadata, { ...document, userinfo_endpoint: `${issuer}/me` });
  });

  test('with the flow Issuer, Entra may have many tenants behind one issuer; tokens of another flow would name none', async () => {
    const common = 'https://login.microsoftonline.com/common/v2.0';
    const template = { ...document, issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' };
    const answers = { [`${common}/.well-known/openid-configuration`]: answerJson(template) };
    const options = { issuer: common, preset: findPreset('Entra')! };
    assert.equal((await discover(answers, { ...options, flow: 'Issuer' })).found.ok, true);
    assert.equal((await discover(answers, { ...options, flow: 'Broker' })).found.ok, false);
  });

  test('where the policy or the preset says all that is known, nothing is asked', async () => {
    const { found, asked } = await discover({}, { preset: findPreset('GitHub')!, issuer: 'https://github.com' });
    assert.equal(found.ok && found.url, 'the preset GitHub');
    const endpoints = { authorization: `${issuer}/a`, token: 'x', userinfo: `${issuer}/u` };
    assert.match(JSON.stringify((await discover({}, { endpoints })).found), /token_endpoint that is not a URL/);
    assert.deepEqual(asked, []);
  });

  test('what only the other document says is not lost: registration, keys, scopes, iss', async () => {
    const { jwks_uri: _left, ...keyless } = document;
    const { found } = await discover({
      [oauth]: answerJson(keyless),
      [openid]: answerJson({
        ...document,
        registration_endpoint: `${issuer}/register`,
        scopes_supported: ['openid'],
        authorization_response_iss_parameter_supported: true,
      }),
    });
    assert.ok(found.ok);
    assert.deepEqual(found.metadata, {
      ...keyless,
      registration_endpoint: `${issuer}/register`,
      scopes_supported: ['openid'],
    });
    assert.equal(found.jwksUri, `${issuer}/jwks`);
    assert.equal(found.emitsIssuer, true);
  });

  test('a document that is not valid counts as none, and is told', async () => {
    const { found } = await discover({
      [oauth]: answerJson({ ...document, issuer: 'https://evil.example' }),
      [openid]: { ok: true, status: 200, headers: new Map([['content-type', 'text/html']]), body: '<html>' },
      [inserted]: { ok: false, code: 'redirect', message: `${inserted} answers 302, a redirect` },
    });
    assert.ok(!found.ok);
    assert.match(
      found.detail,
      /oauth-authorization-server\/realms\/a: the document names the issuer "https:\/\/evil\.example"/,
    );
    assert.match(found.detail, /text\/html that is not JSON/);
    assert.match(found.detail, /answers 302, a redirect/);
    const mended = await discover({
      [oauth]: answerJson({ ...document, issuer: 'x' }),
      [openid]: answerJson(document),
    });
    assert.equal(mended.found.ok && mended.found.url, openid);
  });

  test('answers other than 200 are no documents', async () => {
    for (const status of [201, 204, 401, 500]) {
      const { found } = await discover({ [oauth]: answerJson(document, status) });
      assert.equal(found.ok, false, String(status));
    }
  });

  test('tells how long the document may be kept', async () => {
    const fresh = await discover({ [oauth]: answerJson(document, 200, { 'cache-control': 'max-age=120' }) });
    assert.equal(fresh.found.ok && fresh.found.freshForMs, 120_000);
    const silent = await discover({ [oauth]: answerJson(document) });
    assert.equal(silent.found.ok && silent.found.freshForMs, undefined);
  });
});

test('a configured URL is the only one; a preset may know better; no URL is asked twice', () => {
  assert.deepEqual(listMetadataUrls({ issuer, metadataUrl: 'https://x.example/m', preset: keycloak }), [
    'https://x.example/m',
  ]);
  assert.deepEqual(listMetadataUrls({ issuer, metadataUrl: '', preset: keycloak }), [openid]);
  assert.deepEqual(listMetadataUrls({ issuer: 'https://idp.example.com', metadataUrl: '', preset: standardPreset }), [
    'https://idp.example.com/.well-known/oauth-authorization-server',
    'https://idp.example.com/.well-known/openid-configuration',
  ]);
});
