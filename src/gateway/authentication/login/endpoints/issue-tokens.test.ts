import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSealKey } from '../../../../base/sealed.ts';
import { createMemoryStore } from '../../../../store/memory-store.ts';
import type { Store } from '../../../../store/store.ts';
import { standardPreset } from '../../../config/provider-preset.ts';
import { answerJson, base, idpIssuer, listHeaders, resourceUrl, TestBroker } from '../../testing/broker-fixture.ts';
import { FakeIdp } from '../../testing/fake-idp.ts';
import {
  arrangeKeys,
  createTestKey,
  type IssuerOptions,
  readBody,
  readClaimsOf,
  readTokens,
  redirectUri,
  TestIssuer,
} from '../../testing/issuer-fixture.ts';
import { validateIssued } from '../issuer/issued-token-validator.ts';
import type { OAuthAnswer } from '../oauth-endpoint.ts';
import { registerEndpoint } from './register.ts';
import { tokenEndpoint } from './token.ts';

function expectError(
  answer: OAuthAnswer,
  error: string,
  reason: string,
  status = 400,
): Readonly<Record<string, unknown>> {
  assert.equal(answer.status, status, answer.body);
  assert.equal(answer.reason, reason, `${answer.body} ${answer.detail ?? ''}`);
  const body = readBody(answer);
  assert.equal(body['error'], error);
  assert.deepEqual(listHeaders(answer, 'cache-control'), ['no-store']);
  assert.equal(listHeaders(answer, 'retry-after').length > 0, status === 503);
  return body;
}

/** A store that all replicas would share. `isDown`: it answers nothing. */
function createStore(): { readonly store: Store; isDown: boolean; nowMs: number } {
  const state = { isDown: false, nowMs: Date.UTC(2026, 0, 1) };
  const memory = createMemoryStore({ now: () => state.nowMs });
  const store = new Proxy(memory, {
    get(target, name: keyof Store) {
      const member = target[name];
      if (name === 'reach') return 'shared';
      if (typeof member !== 'function') return member;
      return (...args: never[]) =>
        state.isDown
          ? Promise.resolve({ ok: false, detail: 'the store is down' })
          : (member as (...all: never[]) => unknown)(...args);
    },
  });
  return Object.assign(state, { store });
}

const stores: readonly (readonly [string, () => IssuerOptions])[] = [
  ['without a store', () => ({})],
  ['with a store', () => ({ store: createStore().store })],
];

const messageOf = (tokens: object, more: object = {}): IssuerOptions => ({
  message: {
    ...more,
    issuedTokens: {
      lifetimeMs: 900_000,
      refreshLifetimeMs: 2_592_000_000n,
      claims: ['email', 'groups'],
      scopes: [{ scopes: ['tickets'] }, { scopes: ['admin'], when: '"admins" in jwt.groups' }],
      ...tokens,
    },
  },
});

describe('a code', () => {
  for (const [name, options] of stores)
    test(`is redeemed for a token of the gateway's own, ${name}`, async () => {
      const gateway = new TestIssuer(options());
      const { redeem, clientId } = await gateway.logIn({ scope: 'tickets admin unknown' });
      const { accessToken, body, refreshToken } = readTokens(await gateway.ask(redeem));
      assert.deepEqual(
        { ...body, access_token: '', refresh_token: '' },
        { access_token: '', token_type: 'Bearer', expires_in: 900, scope: 'tickets', refresh_token: '' },
      );
      assert.notEqual(refreshToken, '');
      const { jti, ...claims } = readClaimsOf(accessToken);
      assert.equal(typeof jti, 'string');
      const seconds = gateway.broker.nowMs / 1_000;
      assert.deepEqual(claims, {
        iss: resourceUrl,
        sub: `person:${encodeURIComponent(idpIssuer)}:alice`,
        aud: resourceUrl,
        exp: seconds + 900,
        iat: seconds,
        client_id: clientId,
        idp: idpIssuer,
        email: 'alice@example.com',
        groups: ['staff'],
        scope: 'tickets',
      });
      const { validator } = gateway.broker.config.tokens;
      assert.ok((await validateIssued(validator, accessToken, [resourceUrl], [resourceUrl])).ok);
      // Nothing of the identity provider's leaves the gateway.
      assert.doesNotMatch(JSON.stringify(body), /opaque-|id_token/);
    });

  test('is redeemed at the identity provider as the gateway, with the verifier of the client and without its resource', async () => {
    const gateway = new TestIssuer();
    const { redeem } = await gateway.logIn({ resource: resourceUrl });
    readTokens(await gateway.ask({ ...redeem, resource: resourceUrl }));
    const { form } = gateway.idp.asked.find(({ path }) => path === '/token')!;
    assert.equal(form.get('code_verifier'), redeem['code_verifier']);
    assert.equal(form.get('redirect_uri'), `${base}/.oauth/mcp/callback`);
    assert.equal(form.get('resource'), null);
    assert.match(String(gateway.broker.fetched[0]!.headers?.['authorization']), /^Basic /);
  });

  test('names the authorization server by which the client came', async () => {
    const gateway = new TestIssuer();
    const { redeem, back } = await gateway.logIn({}, true);
    assert.equal(back.searchParams.get('iss'), base);
    assert.equal(readClaimsOf(readTokens(await gateway.ask(redeem, true)).accessToken)['iss'], base);
  });

  test('without scopes gets all that the account may have; with others only those of them', async () => {
    const gateway = new TestIssuer();
    gateway.idp.account['groups'] = ['admins'];
    assert.equal((await gateway.getTokens()).body['scope'], 'tickets admin');
    assert.equal((await gateway.getTokens({ scope: 'admin' })).body['scope'], 'admin');
    const { body, accessToken } = await gateway.getTokens({ scope: 'openid offline_access' });
    assert.equal(body['scope'], undefined);
    assert.equal(readClaimsOf(accessToken)['scope'], '');
  });

  test('of an account that may have no scopes yields a token that says nothing about scopes', async () => {
    const gateway = new TestIssuer(messageOf({ scopes: [{ scopes: ['tickets'], when: 'jwt.email == "x"' }] }));
    assert.equal('scope' in readClaimsOf((await gateway.getTokens()).accessToken), false);
  });

  test('works once', async () => {
    const gateway = new TestIssuer();
    const { redeem } = await gateway.logIn();
    readTokens(await gateway.ask(redeem));
    expectError(await gateway.ask(redeem), 'invalid_grant', 'idp_refused_grant');
  });

  test('yields no refresh token when the policy or the identity provider gives none', async () => {
    const none = new TestIssuer(messageOf({ refreshLifetimeMs: 0n }));
    assert.equal((await none.getTokens()).body['refresh_token'], undefined);
    const gateway = new TestIssuer();
    gateway.idp.givesRefreshTokens = false;
    assert.equal((await gateway.getTokens()).body['refresh_token'], undefined);
  });

  test('is not redeemed without the proof of the client, by another client, or elsewhere', async () => {
    const gateway = new TestIssuer();
    const { redeem } = await gateway.logIn();
    const other = await gateway.register();
    for (const members of [
      { code_verifier: 'a'.repeat(43) },
      { code_verifier: '' },
      { client_id: other },
      { redirect_uri: 'http://127.0.0.1:5/callback' },
      { code: `${redeem['code']}A` },
    ])
      expectError(await gateway.ask({ ...redeem, ...members }), 'invalid_grant', 'grant_invalid');
    expectError(await gateway.ask({ ...redeem, code: '' }), 'invalid_request', 'token_request_invalid');
    expectError(await gateway.ask({ ...redeem, resource: 'https://x.example' }), 'invalid_target', 'wrong_resource');
    expectError(await gateway.ask({ ...redeem, client_id: 'x' }), 'invalid_client', 'unknown_client', 401);
    expectError(await gateway.ask({ ...redeem, client_secret: 'x' }), 'invalid_client', 'unknown_client', 401);
    expectError(
      await gateway.ask({ ...redeem, grant_type: 'password' }),
      'unsupported_grant_type',
      'grant_unsupported',
    );
    assert.equal(gateway.idp.asked.length, 0);
    readTokens(await gateway.ask(redeem));
  });

  test('expires after ten minutes', async () => {
    const gateway = new TestIssuer();
    const { redeem } = await gateway.logIn();
    gateway.broker.nowMs += 600_000;
    expectError(await gateway.ask(redeem), 'invalid_grant', 'grant_invalid');
  });

  test('of another resource or another identity provider is refused by the gateway that sealed it', async () => {
    const keys = [createSealKey()];
    const gateway = new TestIssuer({ keys });
    const { redeem } = await gateway.logIn();
    for (const options of [
      { keys, path: '/other' },
      { keys, message: { issuer: 'https://new.example.com' } },
    ]) {
      const elsewhere = new TestIssuer({ ...messageOf({}, options.message), ...options }, gateway.idp);
      if (options.path === undefined) Object.assign(elsewhere.broker.config.idp, { issuer: 'https://new.example.com' });
      const clientId = await elsewhere.register();
      expectError(await elsewhere.ask({ ...redeem, client_id: clientId }), 'invalid_grant', 'grant_invalid');
    }
    assert.equal(gateway.idp.asked.length, 0);
  });

  test('of one flow is nothing to the other', async () => {
    const keys = [createSealKey()];
    const gateway = new TestIssuer({ keys });
    const { redeem } = await gateway.logIn();
    const { message } = gateway.broker.config;
    const broker = new TestBroker({ keys, registration: message.registration!, fetch: gateway.idp.fetch });
    broker.nowMs = gateway.broker.nowMs;
    expectError(await broker.call(tokenEndpoint, { form: redeem }), 'invalid_grant', 'grant_invalid');
    assert.equal(gateway.idp.asked.length, 0);
  });

  test('an access token, a refresh token or a client id is no code, and the other way round', async () => {
    const gateway = new TestIssuer();
    const { clientId, accessToken, refreshToken } = await gateway.getTokens();
    const { redeem } = await gateway.logIn({ client_id: clientId });
    for (const code of [accessToken, refreshToken, clientId])
      expectError(await gateway.ask({ ...redeem, code }), 'invalid_grant', 'grant_invalid');
    for (const token of [accessToken, redeem['code']!, clientId])
      expectError(await gateway.refresh({ clientId, refreshToken: token }), 'invalid_grant', 'grant_invalid');
    const { validator } = gateway.broker.config.tokens;
    for (const text of [refreshToken, redeem['code']!, clientId])
      assert.equal((await validateIssued(validator, text, [resourceUrl], [resourceUrl])).ok, false);
  });
});

describe('who logs in', () => {
  test('is refused when the ID token is not for this login', async () => {
    for (const claims of [{ nonce: 'another' }, { aud: 'another' }, { iss: 'https://x.example' }, { exp: 1 }]) {
      const gateway = new TestIssuer();
      gateway.idp.idTokenClaims = claims;
      const { redeem } = await gateway.logIn();
      expectError(await gateway.ask(redeem), 'invalid_grant', 'identity_invalid');
    }
  });

  test('is refused when nobody has let them in', async () => {
    const gateway = new TestIssuer({
      message: { identity: { allow: { domains: ['elsewhere.example'] } } },
    });
    const { redeem } = await gateway.logIn();
    expectError(await gateway.ask(redeem), 'invalid_grant', 'identity_not_allowed');
  });

  test('is refused when the token would lack a claim that every request needs', async () => {
    const requiredClaims = [{ name: 'groups', values: ['"admins"'] }];
    const gateway = new TestIssuer({ message: { requiredClaims } });
    const { redeem } = await gateway.logIn();
    expectError(await gateway.ask(redeem), 'invalid_grant', 'identity_not_allowed');
    gateway.idp.account['groups'] = ['admins'];
    assert.notEqual((await gateway.getTokens()).accessToken, '');
  });

  test('cannot be told while userinfo is down: a 503, and the operator reads that the code is used up', async () => {
    const gateway = new TestIssuer({ message: { identity: { claims: { groups: 'teams' } } } });
    gateway.idp.isUserinfoDown = true;
    const { redeem } = await gateway.logIn();
    const answer = await gateway.ask(redeem);
    expectError(answer, 'temporarily_unavailable', 'idp_unavailable', 503);
    assert.match(answer.detail ?? '', /a new login is needed/);
  });

  test('has so many groups that no token could carry them', async () => {
    const gateway = new TestIssuer();
    gateway.idp.idTokenClaims = { groups: undefined };
    gateway.idp.account['groups'] = Array.from({ length: 1_000 }, (_, index) => `a-group-with-a-long-name-${index}`);
    const { redeem } = await gateway.logIn();
    const answer = await gateway.ask(redeem);
    expectError(answer, 'invalid_grant', 'identity_invalid');
    assert.match(answer.detail ?? '', /tokens\.claims/);
  });
});

describe('a refresh', () => {
  for (const [name, options] of stores) {
    test(`asks the identity provider again and gives a new token, ${name}`, async () => {
      const gateway = new TestIssuer(options());
      const first = await gateway.getTokens();
      gateway.broker.nowMs += 60_000;
      gateway.idp.account['groups'] = ['admins'];
      gateway.idp.account['email'] = 'alice@new.example';
      const second = readTokens(await gateway.refresh(first));
      assert.notEqual(second.refreshToken, first.refreshToken);
      const claims = readClaimsOf(second.accessToken);
      assert.equal(claims['email'], 'alice@new.example');
      // What the login asked for: no scopes, so all that the account may have now.
      assert.equal(claims['scope'], 'tickets admin');
      assert.equal(claims['sub'], readClaimsOf(first.accessToken)['sub']);
      assert.notEqual(claims['jti'], readClaimsOf(first.accessToken)['jti']);
      // The identity provider replaces its own; the next refresh needs the new one.
      readTokens(await gateway.refresh({ ...first, ...second }));
      assert.equal(gateway.idp.count('refresh_token'), 2);
    });

    test(`with an identity provider that is down is a 503, and the token works later, ${name}`, async () => {
      const gateway = new TestIssuer(options());
      const tokens = await gateway.getTokens();
      gateway.idp.isDown = true;
      expectError(await gateway.refresh(tokens), 'temporarily_unavailable', 'idp_unavailable', 503);
      gateway.idp.isDown = false;
      for (const answer of [
        answerJson({}, 500),
        answerJson({}, 429),
        answerJson({ error: 'temporarily_unavailable' }, 400),
        answerJson({ error: 'invalid_client' }, 401),
      ]) {
        gateway.idp.answer = answer;
        assert.equal((await gateway.refresh(tokens)).status, 503);
      }
      gateway.idp.answer = undefined;
      readTokens(await gateway.refresh(tokens));
    });

    test(`of an account that the identity provider no longer vouches for ends the session, ${name}`, async () => {
      const gateway = new TestIssuer(options());
      const tokens = await gateway.getTokens();
      gateway.idp.isClosed = true;
      expectError(await gateway.refresh(tokens), 'invalid_grant', 'idp_refused_grant');
      assert.equal((await gateway.refresh(tokens)).status, 400);
    });

    test(`that yields another account is refused, ${name}`, async () => {
      const gateway = new TestIssuer(options());
      const tokens = await gateway.getTokens();
      gateway.idp.account['sub'] = 'mallory';
      expectError(await gateway.refresh(tokens), 'invalid_grant', 'identity_invalid');
    });

    test(`of a person who is no longer let in ends the session, ${name}`, async () => {
      const allow = { emails: ['alice@example.com'] };
      const gateway = new TestIssuer({ message: { identity: { allow } }, ...options() });
      const tokens = await gateway.getTokens();
      gateway.idp.account['email'] = 'alice@new.example';
      expectError(await gateway.refresh(tokens), 'invalid_grant', 'identity_not_allowed');
    });

    test(`may ask for fewer scopes and not for more, ${name}`, async () => {
      const gateway = new TestIssuer(options());
      gateway.idp.account['groups'] = ['admins'];
      const tokens = await gateway.getTokens({ scope: 'tickets admin' });
      expectError(await gateway.refresh(tokens, { scope: 'tickets more' }), 'invalid_scope', 'token_request_invalid');
      const fewer = readTokens(await gateway.refresh(tokens, { scope: 'tickets' }));
      assert.equal(fewer.body['scope'], 'tickets');
      assert.equal(readTokens(await gateway.refresh({ ...tokens, ...fewer })).body['scope'], 'tickets admin');
    });

    test(`is possible until the refresh lifetime since the login is over, however often it was refreshed, ${name}`, async () => {
      const gateway = new TestIssuer({ ...messageOf({ refreshLifetimeMs: 3_600_000n }), ...options() });
      const tokens = await gateway.getTokens();
      gateway.broker.nowMs += 3_599_000;
      const next = readTokens(await gateway.refresh(tokens));
      gateway.broker.nowMs += 1_000;
      expectError(await gateway.refresh({ ...tokens, ...next }), 'invalid_grant', 'grant_invalid');
    });

    test(`needs the client and the place that the token was given to, ${name}`, async () => {
      const gateway = new TestIssuer(options());
      const tokens = await gateway.getTokens();
      const other = await gateway.register();
      const { refreshToken } = tokens;
      expectError(await gateway.refresh({ clientId: other, refreshToken }), 'invalid_grant', 'grant_invalid');
      expectError(await gateway.refresh({ ...tokens, refreshToken: '' }), 'invalid_request', 'token_request_invalid');
      assert.equal(gateway.idp.count('refresh_token'), 0);
      readTokens(await gateway.refresh(tokens));
    });
  }

  test('asks userinfo where access tokens do not expire and there are no others', async () => {
    const preset = { ...standardPreset, fixedMetadata: {} as never, identity: { tokensLast: true } };
    const gateway = new TestIssuer({ preset });
    gateway.idp.answer = answerJson({ access_token: 'lasting', token_type: 'bearer' });
    const tokens = await gateway.getTokens();
    gateway.idp.account['email'] = 'alice@new.example';
    const next = readTokens(await gateway.refresh(tokens));
    assert.equal(readClaimsOf(next.accessToken)['email'], 'alice@new.example');
    assert.equal(gateway.idp.count('refresh_token'), 0);
    gateway.idp.isUserinfoDown = true;
    assert.equal((await gateway.refresh({ ...tokens, ...next })).status, 503);
  });

  test('with a policy whose refresh lifetime became shorter ends earlier', async () => {
    const keys = [createSealKey()];
    const { store } = createStore();
    const long = new TestIssuer({ keys, store });
    const tokens = await long.getTokens();
    const short = new TestIssuer({ ...messageOf({ refreshLifetimeMs: 1_000n }), keys, store }, long.idp);
    short.broker.nowMs += 1_000;
    expectError(await short.refresh(tokens), 'invalid_grant', 'grant_invalid');
    expectError(await long.refresh(tokens), 'invalid_grant', 'grant_revoked');
  });

  test('of a login at an identity provider that the policy no longer names is refused', async () => {
    const keys = [createSealKey()];
    const before = new TestIssuer({ keys });
    const tokens = await before.getTokens();
    const after = new TestIssuer({ keys, message: { issuer: 'https://new.example.com' } }, before.idp);
    Object.assign(after.broker.config.idp, { issuer: 'https://new.example.com' });
    const clientId = await after.register();
    expectError(await after.refresh({ ...tokens, clientId }), 'invalid_grant', 'grant_invalid');
    const { validator } = after.broker.config.tokens;
    assert.equal((await validateIssued(validator, tokens.accessToken, [resourceUrl], [resourceUrl])).ok, false);
  });

  test('still works for a client whose id was sealed with a key that is gone', async () => {
    const [old, young] = [createSealKey(), createSealKey()];
    const first = new TestIssuer({ keys: [old] });
    const tokens = await first.getTokens();
    const second = new TestIssuer({ keys: [young, old] }, first.idp);
    const next = readTokens(await second.refresh(tokens));
    const third = new TestIssuer({ keys: [young] }, first.idp);
    readTokens(await third.refresh({ ...tokens, ...next }));
    expectError(await third.refresh(tokens), 'invalid_client', 'unknown_client', 401);
  });
});

describe('with a store', () => {
  test('the use of an older refresh token ends the session', async () => {
    const gateway = new TestIssuer({ store: createStore().store });
    const first = await gateway.getTokens();
    const second = readTokens(await gateway.refresh(first));
    const third = readTokens(await gateway.refresh({ ...first, ...second }));
    expectError(await gateway.refresh(first), 'invalid_grant', 'grant_revoked');
    expectError(await gateway.refresh({ ...first, ...third }), 'invalid_grant', 'grant_revoked');
    assert.equal(gateway.idp.count('refresh_token'), 2);
  });

  test('a repetition gets the same answer, and the identity provider is not asked', async () => {
    const gateway = new TestIssuer({ store: createStore().store });
    const first = await gateway.getTokens();
    const answer = await gateway.refresh(first);
    assert.deepEqual(readBody(await gateway.refresh(first)), readBody(answer));
    assert.equal(gateway.idp.count('refresh_token'), 1);
  });

  test('refreshes at once ask the identity provider once, and get the same answer', async () => {
    const waiting: (() => void)[] = [];
    const clock = { now: () => Date.UTC(2026, 0, 1), setTimer: (run: () => void) => (waiting.push(run), () => {}) };
    const gateway = new TestIssuer({ store: createStore().store, clock });
    const tokens = await gateway.getTokens();
    const hold = Promise.withResolvers<void>();
    gateway.idp.delay = () => hold.promise;
    const all = Array.from({ length: 5 }, () => gateway.refresh(tokens));
    while (waiting.length < 4) await new Promise((resolve) => setImmediate(resolve));
    hold.resolve();
    const first = await Promise.race(all);
    for (const run of waiting) run();
    for (const answer of await Promise.all(all)) assert.equal(answer.body, first.body);
    assert.equal(gateway.idp.count('refresh_token'), 1);
  });

  test('userinfo that is down after the identity provider replaced its refresh token costs nothing', async () => {
    const preset = { ...standardPreset, identity: {} };
    const message = { identity: { claims: { groups: 'teams' } } };
    const gateway = new TestIssuer({ store: createStore().store, preset, message });
    const tokens = await gateway.getTokens();
    gateway.idp.isUserinfoDown = true;
    expectError(await gateway.refresh(tokens), 'temporarily_unavailable', 'idp_unavailable', 503);
    gateway.idp.isUserinfoDown = false;
    readTokens(await gateway.refresh(tokens));
  });

  test('that does not answer, a login is not begun, and its code works later', async () => {
    const state = createStore();
    const gateway = new TestIssuer({ store: state.store });
    const { redeem, clientId } = await gateway.logIn();
    state.isDown = true;
    expectError(await gateway.ask(redeem), 'temporarily_unavailable', 'store_unavailable', 503);
    assert.equal(gateway.idp.asked.length, 0);
    state.isDown = false;
    const tokens = { clientId, ...readTokens(await gateway.ask(redeem)) };
    state.isDown = true;
    expectError(await gateway.refresh(tokens), 'temporarily_unavailable', 'store_unavailable', 503);
    assert.equal(gateway.idp.count('refresh_token'), 0);
    state.isDown = false;
    readTokens(await gateway.refresh(tokens));
  });

  test('that fails while the identity provider answers: at a login it says what is lost, at a refresh nothing is', async () => {
    const state = createStore();
    const gateway = new TestIssuer({ store: state.store });
    gateway.idp.delay = async () => void (state.isDown = true);
    const { redeem } = await gateway.logIn();
    const answer = await gateway.ask(redeem);
    expectError(answer, 'temporarily_unavailable', 'store_unavailable', 503);
    assert.match(answer.detail ?? '', /a new login is needed/);
    gateway.idp.delay = () => Promise.resolve();
    state.isDown = false;
    const tokens = await gateway.getTokens();
    gateway.idp.delay = async () => void (state.isDown = true);
    const next = readTokens(await gateway.refresh(tokens));
    state.isDown = false;
    gateway.idp.delay = () => Promise.resolve();
    // The store could not be told that the turn is over, so it ends by itself.
    state.nowMs += 30_000;
    readTokens(await gateway.refresh({ ...tokens, ...next }));
  });
});

describe('signing keys', () => {
  test('rotated between code and token: the new one signs', async () => {
    const keys = [createSealKey()];
    const [before, after] = [createTestKey(), createTestKey()];
    const first = new TestIssuer({ keys, signingKeys: arrangeKeys(before) });
    const { redeem } = await first.logIn();
    const second = new TestIssuer({ keys, signingKeys: arrangeKeys(after, before) }, first.idp);
    const { accessToken } = readTokens(await second.ask(redeem));
    const [header = ''] = accessToken.split('.');
    assert.equal(JSON.parse(Buffer.from(header, 'base64url').toString()).kid, after.kid);
  });

  test('that are missing, or may not sign yet, cost no code', async () => {
    const keys = [createSealKey()];
    const gateway = new TestIssuer({ keys });
    const { redeem } = await gateway.logIn();
    for (const signingKeys of [null, { keys: [createTestKey()], active: undefined }]) {
      const without = new TestIssuer({ keys, signingKeys }, gateway.idp);
      expectError(await without.ask(redeem), 'temporarily_unavailable', 'signing_key_missing', 503);
    }
    assert.equal(gateway.idp.asked.length, 0);
    readTokens(await gateway.ask(redeem));
  });
});

test('clients register while the identity provider is down; tokens wait for it', async () => {
  const metadataState = { ok: false, detail: 'nothing is there', retryAfterSeconds: 3 } as const;
  const gateway = new TestIssuer({ metadataState }, new FakeIdp(() => 0));
  const body = JSON.stringify({ redirect_uris: [redirectUri] });
  const answer = await gateway.broker.call(registerEndpoint, { body, contentType: 'application/json' });
  assert.equal(answer.status, 201);
  const form = { grant_type: 'refresh_token', client_id: String(readBody(answer)['client_id']), refresh_token: 'x' };
  expectError(await gateway.ask(form), 'temporarily_unavailable', 'idp_unavailable', 503);
});
