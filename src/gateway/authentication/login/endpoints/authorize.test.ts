import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RegistrationMode } from '../../../../ir/gen/config_pb.ts';
import { createAuthorizeEndpoint } from './authorize.ts';
import { digestClientId, type RegisteredClient, sealClient } from '../state/client-envelope.ts';
import { createClientDocuments } from '../clients/client-id-metadata.ts';
import { consentEndpoint } from './consent.ts';
import { createDocumentRegistrations } from '../clients/document-registration.ts';
import type { OAuthAnswer } from '../oauth-endpoint.ts';
import {
  base,
  type BrokerOptions,
  createPkce,
  idpIssuer,
  listHeaders,
  readLocation,
  readTransaction,
  resourceUrl,
  TestBroker,
  TestBrowser,
} from '../../testing/broker-fixture.ts';
import { openLoginState } from '../state/transaction-state.ts';

const place = { issuer: idpIssuer, resource: resourceUrl };
const { challenge } = createPkce();
const redirectUri = 'http://127.0.0.1:33418/callback';

const registered: RegisteredClient = {
  idpClient: { clientId: 'idp-client', authMethod: 'none', secret: undefined },
  redirectUris: [redirectUri, 'https://app.example.com/cb'],
  name: 'A client',
  scope: undefined,
};

const createEndpoint = () =>
  createAuthorizeEndpoint({ documents: createClientDocuments(), registrations: createDocumentRegistrations() });

function setUp(options: BrokerOptions = {}, client: RegisteredClient = registered) {
  const broker = new TestBroker(options);
  const clientId = sealClient(broker.sealer, place, client);
  const asked = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 'their-state',
  };
  return { broker, clientId, asked, endpoint: createEndpoint(), browser: new TestBrowser() };
}

function expectPage(answer: OAuthAnswer, reason: string, status = 400): void {
  assert.equal(answer.status, status);
  assert.equal(answer.reason, reason);
  assert.deepEqual(listHeaders(answer, 'location'), [], 'an error page never redirects');
  assert.deepEqual(listHeaders(answer, 'set-cookie'), [], 'and leaves nothing behind');
  assert.match(listHeaders(answer, 'content-type')[0]!, /^text\/html/);
  assert.match(listHeaders(answer, 'content-security-policy')[0]!, /frame-ancestors 'none'/);
  assert.deepEqual(listHeaders(answer, 'cache-control'), ['no-store']);
  assert.match(answer.body, /Request id/);
}

function expectError(answer: OAuthAnswer, error: string, reason: string): URL {
  assert.equal(answer.status, 302);
  const location = readLocation(answer);
  assert.equal(`${location.origin}${location.pathname}`, redirectUri);
  assert.equal(location.searchParams.get('error'), error, location.href);
  assert.equal(location.searchParams.get('iss'), `${base}/mcp`);
  assert.equal(location.searchParams.has('code'), false);
  assert.equal(answer.reason, reason);
  assert.deepEqual(listHeaders(answer, 'set-cookie'), [], 'nothing is left behind');
  return location;
}

describe('a good authorization request', () => {
  test('goes to the IdP with the client and callback of the gateway, PKCE unchanged, and a sealed state', async () => {
    const { broker, clientId, asked, endpoint, browser } = setUp();
    const answer = await broker.call(endpoint, { query: { ...asked, scope: 'tickets:read' } }, browser);
    assert.equal(answer.status, 302);
    assert.deepEqual(listHeaders(answer, 'cache-control'), ['no-store']);
    const location = readLocation(answer);
    assert.equal(`${location.origin}${location.pathname}`, `${idpIssuer}/authorize`);
    const { state, ...sent } = Object.fromEntries(location.searchParams);
    assert.deepEqual(sent, {
      response_type: 'code',
      client_id: 'idp-client',
      redirect_uri: `${base}/.oauth/mcp/callback`,
      scope: 'tickets:read',
      resource: resourceUrl,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    });
    const opened = openLoginState(broker.sealer, place, state!);
    assert.ok(opened.ok);
    const { binding, ...login } = opened.transaction;
    assert.deepEqual(login, {
      clientDigest: digestClientId(clientId),
      redirectUri,
      clientState: 'their-state',
      challenge,
      scope: 'tickets:read',
      isScopeAsAsked: true,
      resource: resourceUrl,
      isRoot: false,
      expectsIssuer: false,
      idpClient: undefined,
    });
    const [cookie] = listHeaders(answer, 'set-cookie');
    assert.match(
      cookie!,
      new RegExp(
        `^__Host-mcp-gateway-login-${binding.id}=[\\w-]{22}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$`,
      ),
    );
    assert.ok(!cookie!.includes(binding.digest), 'the state alone does not give the cookie away');
    assert.equal(broker.fetched.length, 0, 'nobody else was asked');
  });

  test('on http the cookie has a name that browsers keep there', async () => {
    const { broker, endpoint, asked } = setUp();
    const http = 'http://127.0.0.1:8080';
    const clientId = sealClient(broker.sealer, { issuer: idpIssuer, resource: `${http}/mcp` }, registered);
    const answer = await broker.call(endpoint, { base: http, query: { ...asked, client_id: clientId } });
    assert.match(
      listHeaders(answer, 'set-cookie')[0]!,
      /^mcp-gateway-login-[\w-]{8}=[\w-]{22}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    );
  });

  test('keeps a query of the IdP endpoint, and puts extra scopes and parameters of the policy in', async () => {
    const { broker, asked, endpoint } = setUp({
      metadata: { authorization_endpoint: `${idpIssuer}/authorize?tenant=a` },
      message: { extraScopes: ['offline_access', 'openid'], extraParameters: { audience: 'api://x', prompt: 'login' } },
    });
    const query = {
      ...asked,
      scope: 'openid a',
      prompt: 'none',
      login_hint: 'ada',
      ignored: 'x',
      audience: 'api://evil',
    };
    const sent = readLocation(await broker.call(endpoint, { query })).searchParams;
    assert.equal(sent.get('tenant'), 'a');
    assert.equal(sent.get('scope'), 'openid a offline_access');
    assert.equal(sent.get('prompt'), 'login', "the policy's word counts");
    assert.deepEqual(sent.getAll('audience'), ['api://x'], 'a client cannot choose an audience');
    assert.equal(sent.get('login_hint'), 'ada');
    assert.equal(sent.has('ignored'), false);
  });

  test('gets the default scope: what the challenge asks for, else what the metadata lists, else what was registered', async () => {
    const scopeOf = async (options: BrokerOptions, scope?: string): Promise<string | null> => {
      const { broker, asked, endpoint } = setUp(options, { ...registered, scope });
      return readLocation(await broker.call(endpoint, { query: asked })).searchParams.get('scope');
    };
    const resourceMetadata = JSON.stringify({ scopes_supported: ['b', 'c'] });
    assert.equal(await scopeOf({ message: { requiredScopes: ['a'], resourceMetadata } }, 'd'), 'a');
    assert.equal(await scopeOf({ message: { resourceMetadata } }, 'd'), 'b c');
    assert.equal(await scopeOf({}, 'd e'), 'd e');
    assert.equal(await scopeOf({}), null);
    assert.equal(await scopeOf({ preset: { name: 'Dex', requiredLoginScopes: ['openid'] } }), 'openid');
    const listing = (...scopes: readonly string[]): BrokerOptions => ({
      metadata: { scopes_supported: scopes },
    });
    assert.equal(
      await scopeOf(listing('openid', 'profile')),
      'openid',
      'some providers refuse a login without a scope',
    );
    assert.equal(await scopeOf(listing('openid', 'profile'), 'd'), 'd');
    assert.equal(await scopeOf(listing('profile')), null);
    const preset = { name: 'x', refreshScope: 'offline_access' };
    assert.equal(await scopeOf({ preset }, 'd'), 'd offline_access');
    assert.equal(await scopeOf({ preset, ...listing('offline_access') }, 'd'), 'd offline_access');
    assert.equal(await scopeOf({ preset, ...listing('d') }, 'd'), 'd');
    assert.equal(
      await scopeOf({ preset, ...listing('openid', 'offline_access') }),
      'openid offline_access',
      'offline_access alone means nothing',
    );
    const message = { extraScopes: ['offline_access'] };
    assert.equal(await scopeOf({ message, ...listing('openid', 'offline_access') }), 'openid offline_access');
    assert.equal(await scopeOf({ message, ...listing('offline_access') }), 'offline_access');
  });

  test('gets a nonce when openid is asked for and the client sent none', async () => {
    const { broker, asked, endpoint } = setUp();
    const nonceOf = async (extra: Record<string, string>): Promise<string | null> =>
      readLocation(await broker.call(endpoint, { query: { ...asked, ...extra } })).searchParams.get('nonce');
    assert.match((await nonceOf({ scope: 'openid' }))!, /^[\w-]{22}$/);
    assert.equal(await nonceOf({ scope: 'openid', nonce: 'mine' }), 'mine');
    assert.equal(await nonceOf({ scope: 'other' }), null);
  });

  test('names the resource in the way the IdP understands', async () => {
    const parametersOf = async (options: BrokerOptions): Promise<URLSearchParams> => {
      const { broker, asked, endpoint } = setUp(options);
      return readLocation(await broker.call(endpoint, { query: { ...asked, resource: `${resourceUrl}/` } }))
        .searchParams;
    };
    assert.deepEqual((await parametersOf({})).getAll('resource'), [resourceUrl]);
    const audience = await parametersOf({
      preset: { name: 'Auth0', resourceParameter: 'audience' },
      message: { audiences: ['https://api'] },
    });
    assert.deepEqual([audience.get('audience'), audience.get('resource')], ['https://api', null]);
    const none = await parametersOf({ preset: { name: 'Entra', resourceParameter: 'none' } });
    assert.deepEqual([none.get('audience'), none.get('resource')], [null, null]);
  });

  test('may leave out the redirect URI when the client has only one, and may vary the port of a loopback', async () => {
    const one = setUp({}, { ...registered, redirectUris: [redirectUri] });
    const { redirect_uri: _left, ...without } = one.asked;
    assert.equal((await one.broker.call(one.endpoint, { query: without })).status, 302);
    const query = { ...one.asked, redirect_uri: 'http://127.0.0.1:5/callback' };
    const location = readLocation(await one.broker.call(one.endpoint, { query }));
    const opened = openLoginState(one.broker.sealer, place, location.searchParams.get('state')!);
    assert.ok(opened.ok && opened.transaction.redirectUri === 'http://127.0.0.1:5/callback');
  });

  test('at the root of the host gets the issuer of the root', async () => {
    const { broker, asked, endpoint } = setUp();
    const answer = await broker.call(endpoint, { query: { ...asked, response_type: 'token' }, isRootForm: true });
    assert.equal(readLocation(answer).searchParams.get('iss'), base);
  });

  test('of many tabs leaves a bounded number of cookies', async () => {
    const { broker, asked, endpoint, browser } = setUp();
    for (let n = 0; n < 40; n += 1) await broker.call(endpoint, { query: asked }, browser);
    assert.equal(browser.cookies.size, 16);
  });
});

describe('a client or redirect URI in doubt gets a page, never a redirect', () => {
  test('unknown client', async () => {
    const { broker, asked, endpoint } = setUp();
    for (const client_id of ['x', `${asked.client_id}A`, asked.client_id.slice(0, -1), 'http://app.example.com/c.json'])
      expectPage(await broker.call(endpoint, { query: { ...asked, client_id } }), 'unknown_client');
    const { client_id: _left, ...without } = asked;
    expectPage(await broker.call(endpoint, { query: without }), 'unknown_client');
    const twice = new URLSearchParams(asked);
    twice.append('client_id', asked.client_id);
    expectPage(await broker.call(endpoint, { query: twice }), 'unknown_client');
  });

  test('expired client', async () => {
    const { broker, asked, endpoint } = setUp();
    const client_id = sealClient(broker.sealer, place, registered, broker.nowMs + 1000);
    broker.nowMs += 1000;
    expectPage(await broker.call(endpoint, { query: { ...asked, client_id } }), 'unknown_client');
  });

  test('client of another resource', async () => {
    const { broker, asked, endpoint } = setUp();
    const client_id = sealClient(broker.sealer, { ...place, resource: `${base}/other` }, registered);
    expectPage(await broker.call(endpoint, { query: { ...asked, client_id } }), 'unknown_client');
  });

  test('client of Shared after registration became Forward', async () => {
    const { broker, asked, endpoint } = setUp({}, { ...registered, idpClient: undefined });
    expectPage(await broker.call(endpoint, { query: asked }), 'unknown_client');
  });

  test('redirect URI that is not registered, is missing, or comes twice', async () => {
    const { broker, asked, endpoint } = setUp();
    for (const redirect_uri of [
      'https://evil.example/cb',
      'https://app.example.com/cb/',
      'https://app.example.com/cb?x',
      'http://localhost:33418/callback',
      'http://127.0.0.1:33418/callback#',
      '//evil.example',
    ])
      expectPage(await broker.call(endpoint, { query: { ...asked, redirect_uri } }), 'redirect_uri_not_registered');
    const { redirect_uri: _left, ...without } = asked;
    expectPage(await broker.call(endpoint, { query: without }), 'redirect_uri_not_registered');
    const twice = new URLSearchParams(asked);
    twice.append('redirect_uri', 'https://evil.example/cb');
    expectPage(await broker.call(endpoint, { query: twice }), 'redirect_uri_not_registered');
  });

  test('redirect URI that the operator no longer allows', async () => {
    const { broker, asked, endpoint } = setUp({
      registration: { allowedRedirectUris: ['https://app.example.com/cb'] },
    });
    expectPage(await broker.call(endpoint, { query: asked }), 'redirect_uri_not_registered');
    const query = { ...asked, redirect_uri: 'https://app.example.com/cb' };
    assert.equal((await broker.call(endpoint, { query })).status, 200, 'the consent page');
  });

  test('no key to open client ids with', async () => {
    const { broker, asked, endpoint } = setUp({ noSealer: true });
    expectPage(await broker.call(endpoint, { query: asked }), 'seal_key_missing', 500);
  });
});

describe('everything else goes back to the client', () => {
  const cases: readonly (readonly [string, Record<string, string>, string, string])[] = [
    ['no response_type', { response_type: '' }, 'invalid_request', 'authorization_request_invalid'],
    ['another response_type', { response_type: 'token' }, 'unsupported_response_type', 'authorization_request_invalid'],
    ['another response_mode', { response_mode: 'fragment' }, 'invalid_request', 'authorization_request_invalid'],
    ['no PKCE', { code_challenge: '', code_challenge_method: '' }, 'invalid_request', 'authorization_request_invalid'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request', 'authorization_request_invalid'],
    ['plain PKCE by default', { code_challenge_method: '' }, 'invalid_request', 'authorization_request_invalid'],
    ['a challenge that is no hash', { code_challenge: 'short' }, 'invalid_request', 'authorization_request_invalid'],
    ['a request object', { request: 'ey' }, 'request_not_supported', 'authorization_request_invalid'],
    ['a request_uri', { request_uri: 'urn:x' }, 'request_uri_not_supported', 'authorization_request_invalid'],
    ['another resource', { resource: `${base}/other` }, 'invalid_target', 'wrong_resource'],
    ['a resource with a fragment', { resource: `${resourceUrl}#x` }, 'invalid_target', 'wrong_resource'],
    ['a malformed scope', { scope: 'a"b' }, 'invalid_scope', 'authorization_request_invalid'],
    ['a huge state', { state: 'x'.repeat(4097) }, 'invalid_request', 'authorization_request_invalid'],
  ];
  for (const [name, change, error, reason] of cases)
    test(name, async () => {
      const { broker, asked, endpoint } = setUp();
      const query = { ...asked, ...change };
      const location = expectError(await broker.call(endpoint, { query }), error, reason);
      assert.equal(location.searchParams.get('state'), query.state);
    });

  for (const name of ['scope', 'code_challenge', 'code_challenge_method', 'response_type', 'nonce', 'unknown'])
    test(`${name} twice`, async () => {
      const { broker, asked, endpoint } = setUp();
      const query = new URLSearchParams({ ...asked, [name]: 'a' });
      query.append(name, 'b');
      expectError(await broker.call(endpoint, { query }), 'invalid_request', 'authorization_request_invalid');
    });

  test('state twice: neither is sent back', async () => {
    const { broker, asked, endpoint } = setUp();
    const query = new URLSearchParams(asked);
    query.append('state', 'b');
    const location = expectError(
      await broker.call(endpoint, { query }),
      'invalid_request',
      'authorization_request_invalid',
    );
    assert.equal(location.searchParams.has('state'), false);
  });

  test('resource may come twice when both are this one, and goes on once', async () => {
    const { broker, asked, endpoint } = setUp();
    const query = new URLSearchParams({ ...asked, resource: resourceUrl });
    query.append('resource', 'HTTPS://MCP.example.com:443/mcp/');
    const location = readLocation(await broker.call(endpoint, { query }));
    assert.deepEqual(location.searchParams.getAll('resource'), [resourceUrl]);
    query.append('resource', `${base}/other`);
    expectError(await broker.call(endpoint, { query }), 'invalid_target', 'wrong_resource');
  });

  test('the IdP is down', async () => {
    const { broker, asked, endpoint } = setUp({
      metadataState: { ok: false, detail: 'no answer', retryAfterSeconds: 3 },
    });
    expectError(await broker.call(endpoint, { query: asked }), 'temporarily_unavailable', 'idp_unavailable');
  });

  test('the IdP has no authorization endpoint that a browser may be sent to', async () => {
    for (const authorization_endpoint of ['javascript:alert(1)', 'file:///x', 'not a url']) {
      const { broker, asked, endpoint } = setUp({ metadata: { authorization_endpoint } });
      expectError(await broker.call(endpoint, { query: asked }), 'temporarily_unavailable', 'idp_unavailable');
    }
  });
});

test('a client that registered itself keeps its own IdP client when registration becomes Shared', async () => {
  const { broker, asked, endpoint, browser } = setUp({
    registration: { mode: RegistrationMode.SHARED, clientId: 'shared' },
  });
  const page = await broker.call(endpoint, { query: asked }, browser);
  const form = { transaction: readTransaction(page), decision: 'approve' };
  const answer = await broker.call(consentEndpoint, { form }, browser);
  assert.equal(readLocation(answer).searchParams.get('client_id'), 'idp-client');
});

describe('a client that nobody has seen on a page', () => {
  const wrong: readonly (readonly [string, Record<string, string>, string])[] = [
    ['no PKCE', { code_challenge: '' }, 'authorization_request_invalid'],
    ['another resource', { resource: 'https://other.example/mcp' }, 'wrong_resource'],
    ['a malformed scope', { scope: '"' }, 'authorization_request_invalid'],
    ['prompt=none', { prompt: 'none' }, 'consent_needed'],
  ];
  for (const [name, changed, reason] of wrong) {
    test(`is not redirected to: ${name}`, async () => {
      const { broker, asked, endpoint, browser } = setUp({ asksForConsent: true });
      const answer = await broker.call(endpoint, { query: { ...asked, ...changed } }, browser);
      assert.deepEqual(listHeaders(answer, 'location'), []);
      assert.deepEqual(listHeaders(answer, 'set-cookie'), []);
      assert.equal(answer.reason, reason);
      const [, href = ''] = /<a href="([^"]*)" rel="noreferrer">Go back to 127\.0\.0\.1:33418</.exec(answer.body) ?? [];
      const link = new URL(href.replaceAll('&amp;', '&'));
      assert.equal(`${link.origin}${link.pathname}`, redirectUri);
      assert.equal(link.searchParams.get('state'), 'their-state');
      assert.equal(link.searchParams.get('iss'), `${base}/mcp`);
      assert.ok(link.searchParams.has('error'));
    });
  }

  test('nor while the IdP is away', async () => {
    const metadataState = { ok: false, detail: 'gone', retryAfterSeconds: 1 } as const;
    const { broker, asked, endpoint } = setUp({ asksForConsent: true, metadataState });
    expectPage(await broker.call(endpoint, { query: asked }), 'idp_unavailable', 503);
  });

  test('one that was seen is told by redirect, whatever it asked for then', async () => {
    const { broker, asked, endpoint, browser } = setUp({ asksForConsent: true });
    const query = { ...asked, redirect_uri: 'https://app.example.com/cb', scope: 'tickets:read' };
    const page = await broker.call(endpoint, { query }, browser);
    await broker.call(consentEndpoint, { form: { transaction: readTransaction(page), decision: 'approve' } }, browser);
    const answer = await broker.call(endpoint, { query: { ...query, code_challenge: '', scope: 'other' } }, browser);
    assert.equal(readLocation(answer).origin, 'https://app.example.com');
    const elsewhere = await broker.call(endpoint, { query: { ...query, code_challenge: '' } }, new TestBrowser());
    assert.deepEqual(listHeaders(elsewhere, 'location'), [], 'not in another browser');
  });
});

describe('a redirect URI that the operator trusts', () => {
  test('counts character by character', async () => {
    const trusting = { registration: { trustedRedirectUris: [redirectUri] } };
    const { broker, asked, endpoint } = setUp(trusting);
    assert.equal((await broker.call(endpoint, { query: asked })).status, 302);
    const other = { ...asked, redirect_uri: 'http://127.0.0.1:33419/callback' };
    assert.equal((await broker.call(endpoint, { query: other })).status, 200, 'another port is asked about');
  });

  test('is allowed whatever else is', async () => {
    const { broker, asked, endpoint } = setUp({
      registration: { allowedRedirectUris: ['https://only.example/cb'], trustedRedirectUris: [redirectUri] },
    });
    assert.equal((await broker.call(endpoint, { query: asked })).status, 302);
  });

  test('does not make what is never allowed allowed', async () => {
    const evil = 'javascript:alert(1)';
    const { broker, asked, endpoint } = setUp(
      { registration: { trustedRedirectUris: [evil] } },
      { ...registered, redirectUris: [evil] },
    );
    expectPage(await broker.call(endpoint, { query: { ...asked, redirect_uri: evil } }), 'redirect_uri_not_registered');
  });
});
