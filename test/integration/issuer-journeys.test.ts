// The flow Issuer from the 401 to a tool call, with each identity provider: what tokens say, who gets in, and what those are told who do not.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { profileSetups, startQuirky } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { FlowClient, type FlowAnswer } from '../idp/flow-client.ts';
import type { GithubAccount } from '../idp/github-state.ts';
import { initialize } from '../idp/stepwise-login.ts';
import { waitFor } from '../kit/wait-for.ts';
import { assertAccepted, assertError, likeGithub, likeProfile, likeSetup, startIssuerSite } from './issuer-fixture.ts';

const tokens = { claims: ['email', 'name', 'groups', 'preferred_username'] };

/** A plain OpenID provider whose people are called by their names. */
const likeAny = (callback: string) =>
  startQuirky(
    {
      registration: 'none',
      accessTokenFormat: 'opaque',
      idTokenHash: 'none',
      idTokenMembers: ['email', 'email_verified', 'groups'],
      metadataMembers: { scopes_supported: undefined },
    },
    { flow: 'Issuer', sessionBinding: true },
    { callback },
  );

const starts = {
  google: likeProfile('Google', {}, { tokens }),
  gitlab: likeProfile('GitLab', {}, { tokens }),
  entra: likeProfile('Entra, Issuer', {}, { tokens }),
  plain: likeSetup('a stub like generic OAuth 2.0'),
  'oauth-app': likeGithub('OAuth app', { allow: { organizations: ['ACME'], emails: ['carol@example.com'] } }),
  app: likeGithub('App', { allow: { domains: ['example.com'] } }),
  one: likeAny,
  other: likeAny,
} as const;

type Site = Awaited<ReturnType<typeof startIssuerSite<keyof typeof starts, typeof starts>>>;
let site: Site;
before(async () => {
  site = await startIssuerSite(starts);
});
after(() => site?.close());

describe('a token of the gateway', () => {
  const subjects: Readonly<Record<string, RegExp>> = {
    google: /^\d{21}$/,
    gitlab: /^\d{21}$/,
    entra: /^0f5c8a1e-0000-4000-8000-000000000000%2F00000000-0000-4000-8000-\d{12}$/,
    plain: /^\d{21}$/,
    'oauth-app': /^583231$/,
    app: /^583231$/,
    one: /^alice$/,
  };
  for (const [name, pattern] of Object.entries(subjects) as [keyof typeof starts, RegExp][]) {
    test(`${name}: is good for others who know its keys, names the person for good, and gives away nothing of the identity provider`, async () => {
      const client = await site.connect(name);
      assertAccepted(await client.post());
      const keys = createRemoteJWKSet(new URL(String(client.server!['jwks_uri'])));
      const { payload, protectedHeader } = await jwtVerify(client.tokens!.access_token, keys, {
        issuer: client.server!.issuer,
        audience: client.url,
        typ: 'at+jwt',
      });
      assert.equal(protectedHeader.alg, 'ES256');
      assert.deepEqual([payload['idp'], payload['client_id']], [site.idps[name].issuer, client.clientId]);
      const [kind, idp, subject] = String(payload.sub).split(':');
      assert.deepEqual([kind, idp], ['person', encodeURIComponent(site.idps[name].issuer)]);
      assert.match(subject!, pattern);
      for (const absent of ['id_token', 'scope']) assert.equal(absent in client.tokens!, false, absent);
      const told = JSON.stringify(client.told.map(({ headers, body }) => [headers, body]));
      assert.doesNotMatch(told, /opaque-|refresh-|gh[our]_/);
      await client.refresh();
      assertAccepted(await client.post());
      assert.equal(decodeJwt(client.tokens!.access_token).sub, payload.sub);
    });
  }

  test('has the claims that the policy lists, and no others', async () => {
    const claims = decodeJwt((await site.connect('gitlab')).tokens!.access_token);
    const own = new Set(['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'client_id', 'idp']);
    const rest = Object.fromEntries(Object.entries(claims).filter(([name]) => !own.delete(name)));
    assert.deepEqual([...own], [], 'RFC 9068 requires them');
    assert.deepEqual(rest, {
      email: 'alice@example.com',
      name: 'Alice Example',
      preferred_username: 'alice',
      groups: ['support'],
    });
  });

  test('the identity provider is asked for who somebody is, and for nothing that the client wants', async () => {
    const { quirky } = site.idps.google;
    quirky.server.forget();
    const client = await site.prepare('google');
    client.scope = 'tickets:read offline_access';
    await client.logIn(new BrowserAgent(), {}, { nonce: 'of-the-client', login_hint: 'alice' });
    const { query } = quirky.server.callsTo(quirky.paths.authorize)[0]!;
    assert.equal(query.get('scope'), 'openid email profile');
    assert.deepEqual([query.has('resource'), query.get('access_type')], [false, 'offline']);
    assert.notEqual(query.get('nonce'), 'of-the-client');
    assert.match(query.get('nonce')!, /^[\w-]{20,}$/);
  });
});

describe('who does not get in', () => {
  /** Logs in, and is refused where the code is redeemed. */
  async function refuse(name: keyof typeof starts, user: string): Promise<FlowAnswer> {
    site.forgetLog();
    const client = await site.prepare(name);
    const answer = await client.tryRedeem(await client.logIn(new BrowserAgent(), { user }));
    assertError(answer, 400, 'invalid_grant');
    assert.match(String(answer.json()['error_description']), /account is not among those/);
    return answer;
  }

  test('Google: another domain; an address that Google does not vouch for; one that is not verified; and then it is', async () => {
    const { quirky } = site.idps.google;
    const turn = (people: Readonly<Record<string, unknown>>): void =>
      void Object.assign(quirky.quirks, { people: { bob: people } });
    turn({ email: 'bob@other.example', hd: 'other.example' });
    const answer = await refuse('google', 'bob');
    const record = await site.waitForReason('identity_not_allowed');
    assert.match(String(record['detail']), /bob@other\.example/);
    assert.doesNotMatch(answer.body, /other\.example/, 'others may read what clients show');
    // Made with an address of the company by somebody who once had it.
    turn({ hd: undefined });
    await refuse('google', 'bob');
    turn({ email_verified: false });
    await refuse('google', 'bob');
    turn({ email: 'bob@example.com.evil.example', hd: 'evil.example' });
    await refuse('google', 'bob');
    turn({});
    assertAccepted(await (await site.connect('google', { user: 'bob' })).post());
  });

  test('Entra: an address whose domain nobody proved', async () => {
    const { quirks } = site.idps.entra.quirky;
    for (const xms_edov of [false, undefined, 'yes']) {
      Object.assign(quirks, { people: { bob: { xms_edov } } });
      await refuse('entra', 'bob');
    }
    Object.assign(quirks, { people: {} });
    await site.connect('entra', { user: 'bob' });
  });

  test('GitLab: another group', async () => {
    await refuse('gitlab', 'bob');
    assert.match(String((await site.waitForReason('identity_not_allowed'))['detail']), /sales/);
  });

  test('GitHub: another organization; an address that is not the primary one, or not verified', async () => {
    await refuse('oauth-app', 'bob');
    const account = site.idps.app.github.state.accounts.get('bob') as GithubAccount;
    const { emails } = account;
    account.emails = [
      { email: 'bob@other.example', primary: true, verified: true },
      { email: 'bob@example.com', primary: false, verified: true },
    ];
    await refuse('app', 'bob');
    account.emails = [{ email: 'bob@example.com', primary: true, verified: false }];
    await refuse('app', 'bob');
    account.emails = emails;
    await site.connect('app', { user: 'bob' });
  });

  test('who says no at the identity provider comes back to the client, and can think again', async () => {
    for (const name of ['google', 'oauth-app'] as const) {
      const client = await site.prepare(name);
      const back = await client.logIn(new BrowserAgent(), { cancelsLogin: true });
      assert.equal(back.searchParams.get('error'), 'access_denied');
      await client.redeem(await client.logIn(new BrowserAgent()));
      assertAccepted(await client.post());
    }
  });

  test('GitHub: an answer from elsewhere is not taken for one of GitHub', async () => {
    const client = await site.prepare('app');
    const browser = new BrowserAgent();
    const seen = site.idps.app.server.calls.length;
    await client.logIn(browser);
    const callback = browser.history.find(({ pathname }) => pathname === '/.oauth/app/callback')!;
    assert.equal(callback.searchParams.get('iss'), `${site.idps.app.issuer}/login/oauth`);
    assert.ok(site.idps.app.server.calls.length > seen);
    // The same again with another name in it.
    const second = new BrowserAgent();
    const page = await second.visit(client.formatAuthorizationUrl(), client.redirectUri);
    assert.equal(page.at, 'page');
    const next = page.at === 'page' ? await second.answer(page.page, client.redirectUri) : page;
    assert.equal(next.at, 'page');
    const state = next.at === 'page' ? next.page.url.searchParams.get('state')! : '';
    callback.searchParams.set('state', state);
    callback.searchParams.set('iss', 'https://github.evil.example/login/oauth');
    const back = await second.visit(callback, client.redirectUri);
    assert.equal(back.at === 'client' && back.url.searchParams.get('error'), 'server_error');
  });
});

describe('two identity providers who call somebody by the same name', () => {
  test('are about two people: tokens, sessions and refresh tokens of one are worth nothing at the other', async () => {
    const [one, other] = [await site.connect('one'), await site.connect('other')];
    const [first, second] = [decodeJwt(one.tokens!.access_token), decodeJwt(other.tokens!.access_token)];
    assert.match(first.sub!, /:alice$/);
    assert.match(second.sub!, /:alice$/);
    assert.notEqual(first.sub, second.sub);
    const session = await initialize(one);
    assert.equal((await other.post(undefined, session)).status, 404, 'a session of another person');
    assertAccepted(await one.post(undefined, session));

    const mixed = new FlowClient(other.url);
    Object.assign(mixed, { resource: other.resource, server: other.server, registration: other.registration });
    mixed.tokens = one.tokens;
    assert.equal((await mixed.post()).status, 401);
    assertError(await mixed.tryRefresh(), 400, 'invalid_grant');
  });

  test('also when a policy changes from one to the other: who logged in there has to log in here', async () => {
    const client = await site.connect('one');
    const session = await initialize(client);
    const policy = site.idps.one.authentication;
    site.changePolicy('one', { ...policy, issuer: site.idps.other.issuer });
    site.idps.other.quirky.addClient({
      id: 'gateway',
      secret: site.idps.other.secrets['client-secret']!,
      redirectUris: [`${new URL(client.url).origin}/.oauth/one/callback`],
    });
    await waitFor('the token is refused', async () => (await client.post()).status === 401);
    // Clients are registered with the identity provider of the policy.
    assertError(await client.tryRefresh(), 401, 'invalid_client');
    const namesake = await new FlowClient(client.url).prepare();
    await namesake.redeem(await namesake.logIn(new BrowserAgent()));
    assertAccepted(await namesake.post());
    assert.equal((await namesake.post(undefined, session)).status, 404, 'the session of the person of before');
    site.changePolicy('one', policy);
    await waitFor('the first one is back', async () => (await client.post()).status === 200);
    assertAccepted(await client.post(undefined, session));
  });
});

test('every setup of the matrix with this flow is one of these', () => {
  const setups = profileSetups.filter(({ flow }) => flow === 'Issuer').map(({ name }) => name);
  assert.deepEqual(setups, [
    'a stub like Google',
    'a stub like GitLab',
    'a stub like Entra, Issuer',
    'a stub like generic OAuth 2.0',
    'a stub like GitHub, OAuth app',
    'a stub like GitHub, App',
  ]);
});
