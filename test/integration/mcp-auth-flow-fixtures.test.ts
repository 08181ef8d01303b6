// The test identity providers are what they claim to be, without a gateway: what they do alone is not a finding about the gateway.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { BrowserAgent, BrowserBlockedError, type Person } from '../idp/browser-agent.ts';
import { CookieJar } from '../idp/cookie-jar.ts';
import { ask, FlowClient } from '../idp/flow-client.ts';
import { idpProfiles } from '../idp/idp-profiles.ts';
import { startOidcProviderIdp } from '../idp/oidc-provider-idp.ts';
import { startQuirkyIdp } from '../idp/quirky-idp.ts';
import { waitFor } from '../kit/wait-for.ts';

const resource = 'https://mcp.example.com/tickets';

/** A client that talks to the identity provider itself. */
async function meet(issuer: string, scope = 'openid tickets:read'): Promise<FlowClient> {
  const client = new FlowClient(resource);
  client.resource = { resource, authorization_servers: [issuer] };
  client.scope = scope;
  await client.discoverServer();
  return client;
}

async function logIn(client: FlowClient, person?: Person): Promise<URL> {
  await client.register({ application_type: 'native' });
  return client.logIn(new BrowserAgent(), person);
}

test('oidc-provider: registration, scripted login of two users, JWT for the resource, refresh, rotation of keys', async (t) => {
  const idp = await startOidcProviderIdp();
  t.after(() => idp.close());
  for (const user of ['alice', 'bob']) {
    const client = await meet(idp.issuer);
    const callback = await logIn(client, { user });
    assert.equal(callback.searchParams.get('iss'), idp.issuer);
    await client.redeem(callback);
    const keys = createRemoteJWKSet(new URL(String(client.server!['jwks_uri'])));
    const { payload } = await jwtVerify(client.tokens!.access_token, keys, { issuer: idp.issuer, audience: resource });
    assert.equal(payload.sub, user);
    assert.equal(payload['scope'], 'tickets:read');

    await idp.rotateKeys();
    const before = client.tokens!;
    await client.refresh();
    assert.notEqual(client.tokens!.refresh_token, before.refresh_token);
    assert.notEqual(client.tokens!.access_token, before.access_token);
    const rotated = createRemoteJWKSet(new URL(String(client.server!['jwks_uri'])));
    await jwtVerify(client.tokens!.access_token, rotated);
    await jwtVerify(before.access_token, rotated);
    await idp.rotateKeys({ withdrawOld: true });
    await assert.rejects(
      jwtVerify(before.access_token, createRemoteJWKSet(new URL(String(client.server!['jwks_uri'])))),
    );
  }
});

test('oidc-provider without iss neither advertises nor sends it; a person can say no', async (t) => {
  const idp = await startOidcProviderIdp({ iss: false });
  t.after(() => idp.close());
  const client = await meet(idp.issuer);
  assert.equal(client.server!.authorization_response_iss_parameter_supported, undefined);
  const callback = await logIn(client);
  assert.equal(callback.searchParams.has('iss'), false);
  await client.redeem(callback);
  const refusing = await meet(idp.issuer);
  const refusal = await logIn(refusing, { consent: 'deny' });
  assert.equal(refusal.searchParams.get('error'), 'access_denied');
  assert.equal(refusal.searchParams.has('iss'), false);
});

test('oidc-provider: registration with an initial access token, and none at all', async (t) => {
  const guarded = await startOidcProviderIdp({ registration: 'initial-access-token' });
  t.after(() => guarded.close());
  const client = await meet(guarded.issuer);
  assert.equal((await client.tryRegister({ application_type: 'native' })).status, 401);
  const closed = await startOidcProviderIdp({ registration: 'none' });
  t.after(() => closed.close());
  assert.equal((await meet(closed.issuer)).server!.registration_endpoint, undefined);
});

test('switches: down, held still, recorded', async (t) => {
  const idp = await startQuirkyIdp();
  t.after(() => idp.close());
  const url = `${idp.issuer}/.well-known/openid-configuration`;
  assert.equal((await ask(url)).status, 200);
  idp.server.goDown();
  await assert.rejects(ask(url));
  idp.server.comeUp();
  idp.server.pause();
  idp.server.forget();
  const held = ask(url);
  await waitFor(() => idp.server.calls.length > 0);
  assert.equal(idp.server.calls[0]!.status, undefined);
  idp.server.resume();
  assert.equal((await held).status, 200);
  assert.equal(idp.server.callsTo('/.well-known/openid-configuration').length, 1);
});

test('quirky, with all quirks off: a standard server, and strict', async (t) => {
  const idp = await startQuirkyIdp();
  t.after(() => idp.close());
  const client = await meet(idp.issuer);
  const callback = await logIn(client);
  assert.equal((await client.tryRedeem(callback, { code_verifier: 'wrong' })).status, 400);
  const again = await client.logIn(new BrowserAgent());
  assert.equal((await client.tryRedeem(again, { client_secret: 'one too many' })).status, 401);
  await client.redeem(again);
  const { keys } = (await ask(`${idp.issuer}/jwks`)).json() as { keys: [] };
  const { payload } = await jwtVerify(client.tokens!.access_token, createLocalJWKSet({ keys }), { audience: resource });
  assert.equal(payload['scope'], 'openid tickets:read');
  const refreshToken = client.tokens!.refresh_token!;
  await client.refresh();
  assert.equal((await client.tryRefresh({ refresh_token: refreshToken })).json()['error'], 'invalid_grant');
});

test('quirky: each switch does what it says', async (t) => {
  const idp = await startQuirkyIdp();
  t.after(() => idp.close());
  const { quirks } = idp;
  const standard = { ...quirks };
  const turn = (changes: Partial<typeof quirks>): void => void Object.assign(quirks, standard, changes);

  turn({ registrationStatus: 200, secretComesWithNone: true, talksTooMuch: true });
  let client = await meet(idp.issuer);
  const talkative = await client.tryRegister();
  assert.equal(talkative.status, 200);
  assert.equal(typeof talkative.json()['client_secret'], 'string');
  assert.ok(idp.state.secrets.has(String(talkative.json()['client_secret'])));
  assert.ok('set-cookie' in talkative.headers);

  turn({ registrationRefusesScope: 'openid', registrationScopeError: '403' });
  assert.equal((await client.tryRegister()).status, 403);
  turn({ registrationRefusesScope: 'any' });
  assert.equal((await client.tryRegister({ scope: 'tickets:read' })).json()['error'], 'invalid_scope');
  turn({ registration: 'one-use-token' });
  assert.equal((await client.tryRegister()).status, 401);

  turn({ requiresNonce: true, emitsIss: 'on-success' });
  client = await meet(idp.issuer);
  await client.register();
  const refused = await client.logIn(new BrowserAgent());
  assert.equal(refused.searchParams.get('error'), 'invalid_request');
  assert.equal(refused.searchParams.has('iss'), false);
  const accepted = await client.logIn(new BrowserAgent(), {}, { nonce: 'n' });
  assert.equal(accepted.searchParams.get('iss'), idp.issuer);

  turn({ resource: 'refused' });
  assert.equal((await client.logIn(new BrowserAgent())).searchParams.get('error'), 'invalid_target');
  turn({ omitsSubject: true, scopeClaim: 'array', audience: 'client-id' });
  await client.redeem(await client.logIn(new BrowserAgent()));
  const claims = decodeJwt(client.tokens!.access_token);
  assert.deepEqual([claims.sub, claims['scope'], claims.aud], [undefined, ['openid', 'tickets:read'], client.clientId]);
  turn({ keysWithoutAlg: true, encryptionKeysMixedIn: true, badKeysMixedIn: true });
  const keys = (await ask(`${idp.issuer}/jwks`)).json()['keys'] as ({ kid?: string; alg?: string } | null)[];
  assert.equal(keys.length, 12);
  assert.equal(keys.at(-1)!.alg, undefined);
});

test('quirky profiles: the issuer of each is found at one of the places where its metadata can be', async (t) => {
  for (const { name, quirks, registration } of idpProfiles.filter(({ lacksMetadata }) => lacksMetadata !== true)) {
    const idp = await startQuirkyIdp(quirks);
    t.after(() => idp.close());
    const client = await meet(idp.issuer).catch((error: unknown) => assert.fail(`${name}: ${String(error)}`));
    assert.equal(client.server!.registration_endpoint !== undefined, registration === 'Forward', name);
  }
});

test('the browser is as strict as browsers are', async (t) => {
  const jar = new CookieJar();
  const url = new URL('http://mcp.example.com/a/b');
  jar.store(url, ['plain=1', 'secure=1; Secure', '__Host-x=1; Path=/', 'none=1; SameSite=None']);
  assert.equal(jar.format(url), 'plain=1');
  assert.equal(jar.format(new URL('http://mcp.example.com/other')), '');
  assert.equal(jar.format(url, { crossSitePost: true }), '');
  const secure = new URL('https://mcp.example.com/a/b');
  jar.store(secure, ['__Host-x=1; Path=/; Secure; HttpOnly; SameSite=Lax', 'plain=; Max-Age=0']);
  assert.deepEqual(jar.names('mcp.example.com'), ['__Host-x']);
  assert.equal(jar.format(secure), '__Host-x=1');

  const idp = await startQuirkyIdp();
  t.after(() => idp.close());
  const browser = new BrowserAgent();
  const page = {
    url: new URL('http://127.0.0.1:1/consent'),
    status: 200,
    headers: { 'content-security-policy': "default-src 'none'; form-action 'self'" },
    html: '',
    forms: [],
  };
  const form = { action: `${idp.issuer}/login`, method: 'POST', fields: {}, checkboxes: [], buttons: [] } as const;
  await assert.rejects(async () => browser.submit(page, form, {}, 'http://127.0.0.1:2/callback'), BrowserBlockedError);
  assert.equal(idp.server.calls.length, 0);
});
