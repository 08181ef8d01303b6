import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAuthorizeEndpoint } from './authorize.ts';
import { callbackEndpoint } from './callback.ts';
import { sealClient } from '../state/client-envelope.ts';
import { createClientDocuments } from '../clients/client-id-metadata.ts';
import { openCode } from '../state/code-envelope.ts';
import { createDocumentRegistrations } from '../clients/document-registration.ts';
import type { OAuthAnswer } from '../oauth-endpoint.ts';
import {
  base,
  type BrokerOptions,
  createPkce,
  idpIssuer,
  listHeaders,
  readLocation,
  resourceUrl,
  TestBroker,
  TestBrowser,
} from '../../testing/broker-fixture.ts';

const place = { issuer: idpIssuer, resource: resourceUrl };
const redirectUri = 'http://127.0.0.1:33418/callback?keep=1';
const { challenge } = createPkce();

async function startLogin(options: BrokerOptions = {}) {
  const broker = new TestBroker(options);
  const browser = new TestBrowser();
  const clientId = sealClient(broker.sealer, place, {
    idpClient: { clientId: 'idp-client', authMethod: 'none', secret: undefined },
    redirectUris: [redirectUri],
    name: undefined,
    scope: undefined,
  });
  const query = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 'their state & more',
  };
  const authorizeEndpoint = createAuthorizeEndpoint({
    documents: createClientDocuments(),
    registrations: createDocumentRegistrations(),
  });
  const start = await broker.call(authorizeEndpoint, { query }, browser);
  const state = readLocation(start).searchParams.get('state')!;
  return { broker, browser, clientId, state };
}

function expectPage(answer: OAuthAnswer, reason: string): void {
  assert.equal(answer.status, 400);
  assert.equal(answer.reason, reason);
  assert.deepEqual(listHeaders(answer, 'location'), []);
  assert.deepEqual(listHeaders(answer, 'set-cookie'), []);
  assert.match(answer.body, /start the login again/);
}

function expectError(answer: OAuthAnswer, error: string, reason: string): URLSearchParams {
  assert.equal(answer.status, 302);
  assert.equal(answer.reason, reason);
  const { searchParams, origin } = readLocation(answer);
  assert.equal(origin, 'http://127.0.0.1:33418');
  assert.equal(searchParams.get('error'), error);
  assert.equal(searchParams.has('code'), false);
  assert.equal(searchParams.get('state'), 'their state & more');
  assert.equal(searchParams.get('iss'), `${base}/mcp`);
  return searchParams;
}

describe('a login that went well', () => {
  test('goes to the client with a sealed code, its own state and the issuer of the facade', async () => {
    const { broker, browser, clientId, state } = await startLogin();
    const answer = await broker.call(callbackEndpoint, { query: { code: 'idp-code', state } }, browser);
    assert.equal(answer.status, 302);
    assert.equal(answer.reason, undefined);
    const location = readLocation(answer);
    assert.ok(location.href.startsWith(`${redirectUri}&code=`), 'the query of the redirect URI stays');
    assert.equal(location.searchParams.get('state'), 'their state & more');
    assert.equal(location.searchParams.get('iss'), `${base}/mcp`);
    assert.ok(!location.href.includes('idp-code'), 'the code of the IdP stays here');
    assert.deepEqual(openCode(broker.sealer, place, clientId, location.searchParams.get('code')!), {
      ok: true,
      grant: { code: 'idp-code', redirectUri, challenge, resource: resourceUrl },
    });
    assert.equal(browser.cookies.size, 0, 'the login is over');
    assert.equal(broker.fetched.length, 0, 'the IdP is not asked here');
  });

  test('may have the right iss, announced or not; an IdP that announces it must send it', async () => {
    const announced = { authorization_response_iss_parameter_supported: true };
    for (const [metadata, iss, isGood] of [
      [{}, idpIssuer, true],
      [announced, idpIssuer, true],
      [{}, undefined, true],
      [announced, undefined, false],
      [{}, 'https://evil.example', false],
      [announced, 'https://evil.example', false],
      [{}, `${idpIssuer}/`, false],
      [{}, base, false],
    ] as const) {
      const { broker, browser, state } = await startLogin({ metadata });
      const query = { code: 'c', state, ...(iss !== undefined && { iss }) };
      const answer = await broker.call(callbackEndpoint, { query }, browser);
      if (isGood) assert.ok(readLocation(answer).searchParams.has('code'));
      else expectError(answer, 'server_error', 'idp_wrong_issuer');
      assert.equal(browser.cookies.size, 0);
    }
  });

  test('may have an issuer that the preset knows as another spelling', async () => {
    const { broker, browser, state } = await startLogin({
      preset: { name: 'Entra', acceptsIssuer: (_, found) => found === 'https://v1.example' },
    });
    const query = { code: 'c', state, iss: 'https://v1.example' };
    assert.ok(readLocation(await broker.call(callbackEndpoint, { query }, browser)).searchParams.has('code'));
  });
});

describe('a callback that is not to be trusted gets a page, never a redirect', () => {
  test('replayed', async () => {
    const { broker, browser, state } = await startLogin();
    const query = { code: 'c', state };
    await broker.call(callbackEndpoint, { query }, browser);
    expectPage(await broker.call(callbackEndpoint, { query }, browser), 'login_other_browser');
  });

  test('in another browser, with or without a login of its own', async () => {
    const { broker, state } = await startLogin();
    const other = new TestBrowser();
    expectPage(await broker.call(callbackEndpoint, { query: { code: 'c', state } }, other), 'login_other_browser');
    const attacker = await startLogin();
    expectPage(
      await broker.call(callbackEndpoint, { query: { code: 'c', state } }, attacker.browser),
      'login_other_browser',
    );
  });

  test('after ten minutes', async () => {
    const { broker, browser, state } = await startLogin();
    broker.nowMs += 600_000;
    expectPage(await broker.call(callbackEndpoint, { query: { code: 'c', state } }, browser), 'login_state_invalid');
  });

  test('with a state that was altered, is missing, repeated, or somebody else made', async () => {
    const { broker, browser, state } = await startLogin();
    const altered = `${state.slice(0, 60)}${state[60] === 'A' ? 'B' : 'A'}${state.slice(61)}`;
    for (const query of [
      new URLSearchParams({ code: 'c', state: altered }),
      new URLSearchParams({ code: 'c' }),
      new URLSearchParams({ code: 'c', state: 'x' }),
      new URLSearchParams([
        ['code', 'c'],
        ['state', state],
        ['state', state],
      ]),
      new URLSearchParams({ code: 'c', state: (await startLogin()).state }),
    ])
      expectPage(await broker.call(callbackEndpoint, { query }, browser), 'login_state_invalid');
    assert.ok(
      readLocation(await broker.call(callbackEndpoint, { query: { code: 'c', state } }, browser)).searchParams.has(
        'code',
      ),
      'the login itself is still good',
    );
  });

  test('of another resource', async () => {
    const { broker, browser, state } = await startLogin();
    const answer = await broker.call(
      callbackEndpoint,
      { query: { code: 'c', state }, base: 'https://other.example.com' },
      browser,
    );
    expectPage(answer, 'login_state_invalid');
  });
});

describe('an error of the IdP travels to the client', () => {
  test('as it is, without iss', async () => {
    const { broker, browser, state } = await startLogin({
      metadata: { authorization_response_iss_parameter_supported: true },
    });
    const query = {
      error: 'access_denied',
      error_description: 'User said "no"\u0007 ü',
      error_uri: 'https://x',
      state,
    };
    const answer = await broker.call(callbackEndpoint, { query }, browser);
    const sent = expectError(answer, 'access_denied', 'idp_login_refused');
    assert.equal(sent.get('error_description'), "User said 'no'");
    assert.equal(sent.has('error_uri'), false);
    assert.equal(browser.cookies.size, 0);
  });

  test('but not when it comes from somewhere else', async () => {
    const { broker, browser, state } = await startLogin();
    const query = { error: 'access_denied', iss: 'https://evil.example', state };
    expectError(await broker.call(callbackEndpoint, { query }, browser), 'server_error', 'idp_wrong_issuer');
  });

  test('as server_error when it is no error of OAuth, or nothing at all', async () => {
    for (const extra of [{ error: 'two words' }, { error: 'x'.repeat(101) }, {}]) {
      const { broker, browser, state } = await startLogin();
      const query = { ...extra, state };
      expectError(await broker.call(callbackEndpoint, { query }, browser), 'server_error', 'idp_login_refused');
    }
  });

  test('as server_error when the answer is ambiguous', async () => {
    const { broker, browser, state } = await startLogin();
    const query = new URLSearchParams({ code: 'a', state });
    query.append('code', 'b');
    expectError(await broker.call(callbackEndpoint, { query }, browser), 'server_error', 'idp_login_refused');
  });
});

test('another replica with the same key takes the callback', async () => {
  const keys = [crypto.getRandomValues(new Uint8Array(32))];
  const { browser, state } = await startLogin({ keys });
  const other = new TestBroker({ keys });
  const answer = await other.call(callbackEndpoint, { query: { code: 'c', state } }, browser);
  assert.ok(readLocation(answer).searchParams.has('code'));
});
