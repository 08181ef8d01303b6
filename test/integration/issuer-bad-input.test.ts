// What clients, browsers and others can send wrongly to the endpoints of the flow Issuer: the status, the error, that nothing reaches the identity provider, and that
// nobody's session suffers.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { ask, type FlowAnswer, FlowClient, listTools, postForm, postMcp } from '../idp/flow-client.ts';
import { assertAccepted, assertError, likeProfile, startIssuerSite } from './issuer-fixture.ts';

const starts = { google: likeProfile('Google'), gitlab: likeProfile('GitLab') } as const;
type Site = Awaited<ReturnType<typeof startIssuerSite<keyof typeof starts, typeof starts>>>;
let folder = '';
let site: Site;
/** Has logged in; each test leaves its session as it is. */
let owner: FlowClient;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-issuer-input-'));
  site = await startIssuerSite(starts, { flags: ['--store', `sqlite:${join(folder, 'private', 'store.db')}`] });
  owner = await site.connect('google');
});
after(async () => {
  await site?.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => site.idps.google.quirky.server.forget());

const endpointOf = (name: string): string => String(owner.server![`${name}_endpoint`]);
const jsonHeaders = { 'content-type': 'application/json' };
const assertIdpNotAsked = (): void => assert.equal(site.idps.google.quirky.server.calls.length, 0);
const assertOwnerStays = async (): Promise<void> => {
  await owner.refresh();
  assertAccepted(await owner.post());
};
function assertErrorPage(answer: FlowAnswer): void {
  assert.equal(answer.status, 400, answer.body);
  assert.equal(answer.headers['location'], undefined);
  assert.match(String(answer.headers['content-type']), /^text\/html/);
}

test('methods that an endpoint does not have -> 405 with Allow', async () => {
  const cases: readonly (readonly [url: string, methods: readonly string[], allow: RegExp])[] = [
    [String(owner.server!['jwks_uri']), ['POST', 'PUT', 'DELETE'], /GET/],
    [endpointOf('registration'), ['GET', 'PUT', 'DELETE'], /POST/],
    [endpointOf('authorization'), ['PUT', 'DELETE'], /GET/],
    [endpointOf('token'), ['GET', 'PUT', 'DELETE'], /POST/],
    [endpointOf('revocation'), ['GET', 'PUT', 'DELETE'], /POST/],
  ];
  for (const [url, methods, allow] of cases)
    for (const method of methods) {
      const answer = await ask(url, { method });
      assert.equal(answer.status, 405, `${method} ${url}`);
      assert.match(String(answer.headers['allow']), allow);
    }
});

test('bodies that are too large, or of another kind -> refused, and nobody is asked', async () => {
  const large = `a=${'x'.repeat(1_048_576)}`;
  for (const name of ['registration', 'token', 'revocation']) {
    const headers = {
      'content-type': name === 'registration' ? 'application/json' : 'application/x-www-form-urlencoded',
    };
    assert.equal((await ask(endpointOf(name), { method: 'POST', headers, body: large })).status, 413, name);
  }
  for (const name of ['token', 'revocation']) {
    assertError(
      await ask(endpointOf(name), { method: 'POST', headers: jsonHeaders, body: '{}' }),
      400,
      'invalid_request',
    );
  }
  assertError(await postForm(endpointOf('token'), {}), 400, 'invalid_request');
  assertError(await postForm(endpointOf('revocation'), {}), 401, 'invalid_client');
  assertIdpNotAsked();
  await assertOwnerStays();
});

test('registration: redirect URIs that lead elsewhere, and what is no registration', async () => {
  const uris = (...redirect_uris: unknown[]): string => JSON.stringify({ redirect_uris });
  for (const [body, error] of [
    ['x', 'invalid_client_metadata'],
    ['[]', 'invalid_client_metadata'],
    ['{}', 'invalid_redirect_uri'],
    [uris('javascript:alert(1)'), 'invalid_redirect_uri'],
    [uris('http://app.example.com/cb'), 'invalid_redirect_uri'],
    [uris('https://a.example/', 'https://a.example/#x'), 'invalid_redirect_uri'],
  ] as const)
    assertError(await ask(endpointOf('registration'), { method: 'POST', headers: jsonHeaders, body }), 400, error);
  assertIdpNotAsked();
});

describe('authorize', () => {
  test('an unknown client, or a redirect URI that is not its own -> a page, never a redirect', async () => {
    for (const changes of [
      { client_id: undefined },
      { client_id: 'nobody' },
      { client_id: `${owner.clientId}x` },
      { client_id: (await site.prepare('gitlab')).clientId },
      { redirect_uri: 'https://evil.example/' },
      { redirect_uri: 'http://127.0.0.1:33418/callback/' },
      { redirect_uri: 'javascript:alert(1)' },
    ])
      assertErrorPage(await ask(owner.formatAuthorizationUrl(changes)));
    assertIdpNotAsked();
  });

  test('no PKCE, another response type, another resource -> told the client, and nobody logs in', async () => {
    for (const [changes, error] of [
      [{ code_challenge: undefined }, 'invalid_request'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ response_type: 'code id_token' }, 'unsupported_response_type'],
      [{ resource: site.urlOf('gitlab') }, 'invalid_target'],
    ] as const) {
      const answer = await ask(owner.formatAuthorizationUrl(changes));
      const shown = `${answer.body} ${String(answer.headers['location'] ?? '')}`;
      assert.match(shown, new RegExp(error), JSON.stringify(changes));
    }
    assertIdpNotAsked();
  });
});

describe('callback', () => {
  /** A login up to the identity provider's answer, which is not delivered. */
  async function logInUpToCallback(browser: BrowserAgent): Promise<URL> {
    const callback = new URL('/.oauth/google/callback', owner.url).href;
    let arrival = await browser.visit(owner.formatAuthorizationUrl(), callback);
    while (arrival.at === 'page') arrival = await browser.answer(arrival.page, callback);
    return arrival.url;
  }

  test('another browser, another callback, an altered state -> a page; the login itself is not spent', async () => {
    const browser = new BrowserAgent();
    const url = await logInUpToCallback(browser);
    const state = url.searchParams.get('state')!;
    const refuse = async (changed: URL, by = browser): Promise<void> => {
      const arrival = await by.visit(changed, owner.redirectUri);
      assert.equal(arrival.at, 'page', changed.href);
      assert.equal(arrival.page.status, 400);
    };
    await refuse(url, new BrowserAgent());
    // Mix-up: the answer of one identity provider at the callback of another one.
    await refuse(new URL(url.href.replace('/.oauth/google/', '/.oauth/gitlab/')));
    for (const wrong of ['', 'x', `${state}x`, `Z${state.slice(1)}`, owner.clientId, owner.tokens!.refresh_token!]) {
      const altered = new URL(url);
      altered.searchParams.set('state', wrong);
      await refuse(altered);
    }
    const twice = new URL(url);
    twice.searchParams.append('state', state);
    await refuse(twice);
    const arrival = await browser.visit(url, owner.redirectUri);
    assert.equal(arrival.at, 'client');
    await refuse(url);
    assert.equal((await owner.tryRedeem(arrival.url)).status, 200);
  });
});

describe('token', () => {
  test('a code without its proof, of another client, elsewhere, twice -> refused', async () => {
    const back = await owner.logIn(new BrowserAgent());
    const other = await site.prepare('google');
    site.idps.google.quirky.server.forget();
    for (const changes of [
      { code_verifier: 'x'.repeat(43) },
      { code_verifier: undefined },
      { redirect_uri: 'http://127.0.0.1:1/other' },
      { code: `${back.searchParams.get('code')}x` },
      { code: owner.tokens!.access_token },
      { code: owner.tokens!.refresh_token },
      { client_id: other.clientId },
    ])
      assertError(await owner.tryRedeem(back, changes), 400, 'invalid_grant');
    assertError(await owner.tryRedeem(back, { resource: site.urlOf('gitlab') }), 400, 'invalid_target');
    assertError(await owner.tryRedeem(back, { grant_type: 'password' }), 400, 'unsupported_grant_type');
    assertError(await owner.tryRedeem(back, { client_id: 'nobody' }), 401, 'invalid_client');
    assertError(await owner.tryRedeem(back, { client_secret: 'guessed' }), 401, 'invalid_client');
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code: back.searchParams.get('code')!,
      client_id: owner.clientId,
      code_verifier: owner.verifier,
    });
    for (const name of form.keys().toArray()) {
      const repeated = new URLSearchParams(form);
      repeated.append(name, form.get(name)!);
      assertError(await postForm(endpointOf('token'), repeated), 400, 'invalid_request');
    }
    const elsewhere = endpointOf('token').replace('/.oauth/google/', '/.oauth/gitlab/');
    assertError(await postForm(elsewhere, form), 401, 'invalid_client');
    assertIdpNotAsked();
    assert.equal((await owner.tryRedeem(back)).status, 200);
    await assertOwnerStays();
    // The identity provider also ends what the code gave (RFC 6749 4.1.2).
    assertError(await owner.tryRedeem(back), 400, 'invalid_grant');
    await owner.redeem(await owner.logIn(new BrowserAgent()));
  });

  test('a refresh token that is none, of another client, or at another server -> refused, and its session goes on', async () => {
    const other = await site.prepare('google');
    const elsewhere = await site.connect('gitlab');
    site.idps.google.quirky.server.forget();
    const token = owner.tokens!.refresh_token!;
    for (const wrong of ['x', `${token}x`, token.slice(0, -1), `Z${token.slice(1)}`, owner.tokens!.access_token])
      assertError(await owner.tryRefresh({ refresh_token: wrong }), 400, 'invalid_grant');
    assertError(await owner.tryRefresh({ refresh_token: elsewhere.tokens!.refresh_token }), 400, 'invalid_grant');
    assertError(await other.tryRefresh({ refresh_token: token }), 400, 'invalid_grant');
    assertError(await owner.tryRefresh({ scope: 'admin' }), 400, 'invalid_scope');
    assertError(await owner.tryRefresh({ refresh_token: undefined }), 400, 'invalid_request');
    assertIdpNotAsked();
    await assertOwnerStays();
    await elsewhere.refresh();
  });
});

describe('revocation', () => {
  const revoke = (form: Record<string, string>): Promise<FlowAnswer> => postForm(endpointOf('revocation'), form);

  test('of what is not known, or belongs to another client -> 200 (RFC 7009 2.2), and nothing ends', async () => {
    const other = await site.prepare('google');
    const token = owner.tokens!.refresh_token!;
    for (const wrong of ['x', `${token}x`, `Z${token.slice(1)}`])
      assert.equal((await revoke({ token: wrong, client_id: owner.clientId })).status, 200);
    assert.equal((await revoke({ token, client_id: other.clientId })).status, 200);
    assertIdpNotAsked();
    await assertOwnerStays();
  });

  test('without a token or a client, repeated, with a secret, of an access token -> refused, and nothing ends', async () => {
    const { refresh_token: token, access_token: accessToken } = owner.tokens!;
    const { clientId } = owner;
    assertError(await revoke({ client_id: clientId }), 400, 'invalid_request');
    assertError(await revoke({ token: token! }), 401, 'invalid_client');
    assertError(await revoke({ token: token!, client_id: 'nobody' }), 401, 'invalid_client');
    assertError(await revoke({ token: token!, client_id: clientId, client_secret: 'x' }), 401, 'invalid_client');
    assertError(await revoke({ token: accessToken, client_id: clientId }), 400, 'unsupported_token_type');
    const repeated = new URLSearchParams({ token: token!, client_id: clientId });
    repeated.append('token', token!);
    assertError(await postForm(endpointOf('revocation'), repeated), 400, 'invalid_request');
    await assertOwnerStays();
  });
});

test('tokens that are not access tokens of this server -> 401, and nothing reaches it', async () => {
  const back = await owner.logIn(new BrowserAgent());
  const elsewhere = await site.connect('gitlab');
  const idpTokens = [...site.idps.google.quirky.state.accessTokens.keys()];
  assert.ok(idpTokens.length > 0);
  const reached = site.upstream.requests.length;
  for (const token of [
    idpTokens[0]!,
    owner.tokens!.refresh_token!,
    back.searchParams.get('code')!,
    owner.clientId,
    elsewhere.tokens!.access_token,
    `${owner.tokens!.access_token}x`,
    owner.tokens!.access_token.replace(/[^.]*$/, ''),
  ])
    assert.equal((await postMcp(owner.url, listTools, { authorization: `Bearer ${token}` })).status, 401, token);
  assert.equal(site.upstream.requests.length, reached);
  assertAccepted(await owner.post());
});
