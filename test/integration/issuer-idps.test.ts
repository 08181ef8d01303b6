// The test identity providers for the flow Issuer are like those whose names they bear, without a gateway: a client walks them by hand.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { ask, type FlowAnswer, postForm } from '../idp/flow-client.ts';
import { githubApi, rateLimitExceeded } from '../idp/github-api.ts';
import { type GithubIdp, startGithubIdp } from '../idp/github-idp.ts';
import type { GithubApp } from '../idp/github-state.ts';
import { idpProfiles } from '../idp/idp-profiles.ts';
import { type QuirkyIdp, startQuirkyIdp } from '../idp/quirky-idp.ts';

const callback = 'http://127.0.0.1:33418/.oauth/tickets/callback';
const client = { client_id: 'gateway', client_secret: 'a-secret' };
const verifier = randomBytes(32).toString('base64url');
const pkce = {
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
};

/** Logs in at an authorization endpoint; the value is where the browser was sent back to. */
function logIn(endpoint: string, parameters: Record<string, string>, user = 'alice'): Promise<URL> {
  const query = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: callback,
    state: 's',
    response_type: 'code',
    ...pkce,
    ...parameters,
  });
  return new BrowserAgent().authorize(`${endpoint}?${query.toString()}`, callback, { user });
}

/** Redeems the code of a login. */
function redeem(endpoint: string, back: URL, changes: Record<string, string> = {}): Promise<FlowAnswer> {
  return postForm(endpoint, {
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    redirect_uri: callback,
    code_verifier: verifier,
    ...client,
    ...changes,
  });
}

function refresh(endpoint: string, token: unknown): Promise<FlowAnswer> {
  return postForm(endpoint, { grant_type: 'refresh_token', refresh_token: String(token), ...client });
}

function askAs(token: unknown, url: string, headers: Record<string, string> = {}): Promise<FlowAnswer> {
  return ask(url, { headers: { authorization: `Bearer ${String(token)}`, 'user-agent': 'a test', ...headers } });
}

async function startProfile(t: TestContext, name: string): Promise<QuirkyIdp> {
  const idp = await startQuirkyIdp(idpProfiles.find((profile) => profile.name === name)!.quirks);
  t.after(() => idp.close());
  idp.addClient({ id: client.client_id, secret: client.client_secret, method: 'as-listed', redirectUris: [callback] });
  return idp;
}

async function discover(idp: QuirkyIdp): Promise<Record<string, string>> {
  return (await ask(`${idp.issuer}/.well-known/openid-configuration`)).json() as Record<string, string>;
}

test('like Google: an opaque token, an ID token with hd, and a refresh token for whoever asks for it in its words', async (t) => {
  const idp = await startProfile(t, 'Google');
  const metadata = await discover(idp);
  assert.equal(metadata['registration_endpoint'], undefined);
  assert.notEqual(new URL(metadata['token_endpoint']!).origin, new URL(metadata['authorization_endpoint']!).origin);
  assert.equal((await postForm(`${idp.issuer}/token`, client)).status, 404, 'tokens are at the other origin only');
  const scope = 'openid email profile';
  const authorize = metadata['authorization_endpoint']!;
  for (const refused of [{ scope: `${scope} offline_access` }, { scope, resource: 'https://mcp.example.com/' }])
    assert.notEqual((await logIn(authorize, refused)).searchParams.get('error'), null, JSON.stringify(refused));

  const offline = { scope, nonce: 'n', access_type: 'offline' };
  const back = await logIn(authorize, { ...offline, prompt: 'consent' });
  assert.equal(back.searchParams.get('iss'), idp.issuer);
  assert.equal(back.searchParams.get('authuser'), '0');
  const tokens = (await redeem(metadata['token_endpoint']!, back)).json();
  assert.doesNotMatch(String(tokens['access_token']), /\./);
  const keys = createRemoteJWKSet(new URL(metadata['jwks_uri']!));
  const read = async (token: unknown): Promise<Record<string, unknown>> =>
    (await jwtVerify(String(token), keys, { issuer: idp.issuer, audience: 'gateway' })).payload;
  const claims = await read(tokens['id_token']);
  assert.match(String(claims['sub']), /^\d{21}$/);
  assert.deepEqual(
    [claims['nonce'], claims['azp'], claims['hd'], claims['email'], claims['email_verified']],
    ['n', 'gateway', 'example.com', 'alice@example.com', true],
  );
  const half = createHash('sha256').update(String(tokens['access_token'])).digest().subarray(0, 16);
  assert.equal(claims['at_hash'], half.toString('base64url'));
  const about = (await askAs(tokens['access_token'], metadata['userinfo_endpoint']!)).json();
  assert.deepEqual([about['sub'], about['email']], [claims['sub'], 'alice@example.com']);

  const again = (await refresh(metadata['token_endpoint']!, tokens['refresh_token'])).json();
  assert.equal(again['refresh_token'], undefined, 'the one that there is stays');
  assert.equal((await read(again['id_token']))['nonce'], undefined);
  const silent = (await redeem(metadata['token_endpoint']!, await logIn(authorize, offline))).json();
  assert.equal(silent['refresh_token'], undefined, 'consented before, and not asked again');

  idp.state.removedUsers.add('alice');
  assert.equal((await refresh(metadata['token_endpoint']!, tokens['refresh_token'])).json()['error'], 'invalid_grant');
  assert.equal((await askAs(tokens['access_token'], metadata['userinfo_endpoint']!)).status, 401);
});

test('like GitLab: groups in userinfo only, refresh tokens work once', async (t) => {
  const idp = await startProfile(t, 'GitLab');
  const metadata = await discover(idp);
  const back = await logIn(metadata['authorization_endpoint']!, { scope: 'openid email profile' });
  const tokens = (await redeem(metadata['token_endpoint']!, back)).json();
  const keys = createRemoteJWKSet(new URL(metadata['jwks_uri']!));
  const { payload } = await jwtVerify(String(tokens['id_token']), keys);
  assert.equal(payload['groups'], undefined);
  const about = (await askAs(tokens['access_token'], metadata['userinfo_endpoint']!)).json();
  assert.deepEqual([about['sub'], about['groups']], [payload.sub, ['support']]);
  const fresh = (await refresh(metadata['token_endpoint']!, tokens['refresh_token'])).json();
  assert.notEqual(fresh['refresh_token'], tokens['refresh_token']);
  assert.equal((await refresh(metadata['token_endpoint']!, tokens['refresh_token'])).status, 400);
});

test('like Entra: who somebody is, is in tid and oid', async (t) => {
  const idp = await startProfile(t, 'Entra, Issuer');
  const metadata = await discover(idp);
  const back = await logIn(metadata['authorization_endpoint']!, { scope: 'openid email profile offline_access' });
  const tokens = (await redeem(metadata['token_endpoint']!, back)).json();
  const { payload } = await jwtVerify(String(tokens['id_token']), createRemoteJWKSet(new URL(metadata['jwks_uri']!)));
  assert.ok(idp.issuer.includes(String(payload['tid'])));
  assert.match(String(payload['oid']), /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  assert.equal(payload['xms_edov'], true);
});

test('generic OAuth 2.0: no metadata, no ID token; userinfo with an id', async (t) => {
  const idp = await startProfile(t, 'generic OAuth 2.0');
  assert.equal((await ask(`${idp.issuer}/.well-known/openid-configuration`)).status, 404);
  assert.equal((await ask(`${idp.issuer}/.well-known/oauth-authorization-server`)).status, 404);
  const back = await logIn(`${idp.issuer}/authorize`, { scope: 'openid' });
  const tokens = (await redeem(`${idp.issuer}/token`, back)).json();
  assert.equal(tokens['id_token'], undefined);
  const about = (await askAs(tokens['access_token'], `${idp.issuer}/userinfo`)).json();
  assert.equal(about['sub'], undefined);
  assert.match(String(about['id']), /^\d+$/);
});

async function startGithub(t: TestContext, kind: GithubApp['kind']): Promise<GithubIdp> {
  const idp = await startGithubIdp({
    kind,
    clientId: client.client_id,
    clientSecret: client.client_secret,
    callback,
  });
  t.after(() => idp.close());
  return idp;
}

test('like GitHub, OAuth app: tokens that do not expire, errors with 200, forms unless JSON is asked for', async (t) => {
  const idp = await startGithub(t, 'OAuth app');
  assert.equal((await ask(`${idp.issuer}/.well-known/openid-configuration`)).status, 404);
  const { authorization, token, userinfo } = idp.endpoints;
  const back = await logIn(authorization, { scope: 'read:user user:email read:org' });
  assert.equal(back.searchParams.get('iss'), `${idp.issuer}/login/oauth`);
  const wrong = await redeem(token, back, { code: 'another' });
  assert.deepEqual([wrong.status, wrong.json()['error']], [200, 'bad_verification_code']);
  const stranger = await redeem(token, back, { client_secret: 'guessed' });
  assert.deepEqual([stranger.status, stranger.json()['error']], [200, 'incorrect_client_credentials']);
  const tokens = (await redeem(token, back)).json();
  assert.deepEqual([tokens['expires_in'], tokens['refresh_token']], [undefined, undefined]);
  assert.equal(tokens['scope'], 'read:user,user:email,read:org');
  assert.equal((await redeem(token, back)).json()['error'], 'bad_verification_code', 'a code works once');
  const plain = await ask(token, { method: 'POST', body: new URLSearchParams(client).toString() });
  assert.match(String(plain.headers['content-type']), /form-urlencoded/);

  const about = (await askAs(tokens['access_token'], userinfo)).json();
  assert.deepEqual([about['id'], about['login'], about['email']], [583_231, 'alice-hub', null]);
  assert.equal((await askAs(tokens['access_token'], userinfo, { 'user-agent': '' })).status, 403);
  const emails = JSON.parse((await askAs(tokens['access_token'], `${userinfo}/emails`)).body) as { email: string }[];
  assert.deepEqual(emails.map(({ email }) => email).includes('alice@example.com'), true);
  const first = await askAs(tokens['access_token'], `${idp.issuer}${githubApi.organizations}?per_page=100`);
  const next = /<([^>]+)>; rel="next"/.exec(String(first.headers['link']))![1]!;
  assert.equal(first.body.includes('acme'), false);
  assert.match((await askAs(tokens['access_token'], next)).body, /acme/);

  idp.switches.userAnswer = rateLimitExceeded;
  const limited = await askAs(tokens['access_token'], userinfo);
  assert.deepEqual([limited.status, limited.headers['x-ratelimit-remaining']], [403, '0']);
  idp.switches.userAnswer = undefined;
  idp.revokeTokens();
  assert.equal((await askAs(tokens['access_token'], userinfo)).status, 401);

  const few = (await redeem(token, await logIn(authorization, { scope: 'read:user' }))).json();
  for (const path of ['emails', 'orgs'])
    assert.equal((await askAs(few['access_token'], `${userinfo}/${path}`)).status, 403);
});

test('like GitHub, OAuth app: the eleventh token of a person ends the first', async (t) => {
  const idp = await startGithub(t, 'OAuth app');
  const tokens: unknown[] = [];
  for (let count = 0; count < 11; count += 1) {
    const back = await logIn(idp.endpoints.authorization, { scope: 'read:user' });
    tokens.push((await redeem(idp.endpoints.token, back)).json()['access_token']);
  }
  const statuses = await Promise.all(tokens.map(async (each) => (await askAs(each, idp.endpoints.userinfo)).status));
  assert.deepEqual(statuses, [401, ...Array.from({ length: 10 }, () => 200)]);
});

test('like GitHub, App: tokens of 8 hours, refresh tokens work once', async (t) => {
  const idp = await startGithub(t, 'App');
  const { authorization, token, userinfo } = idp.endpoints;
  const tokens = (await redeem(token, await logIn(authorization, {}))).json();
  assert.deepEqual([tokens['expires_in'], tokens['scope']], [28_800, '']);
  const fresh = (await refresh(token, tokens['refresh_token'])).json();
  assert.notEqual(fresh['refresh_token'], tokens['refresh_token']);
  assert.equal((await askAs(tokens['access_token'], userinfo)).status, 401, 'the old one has ended');
  assert.equal((await askAs(fresh['access_token'], userinfo)).status, 200);
  const used = await refresh(token, tokens['refresh_token']);
  assert.deepEqual([used.status, used.json()['error']], [200, 'bad_refresh_token']);
  idp.state.accounts.delete('alice');
  assert.equal((await refresh(token, fresh['refresh_token'])).json()['error'], 'bad_refresh_token');
});
