import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { forgeToken, signAs, signWithBytes, signWithSecret } from '../../../../../test/kit/forge-token.ts';
import { createTestKey, signWithJose } from '../../../../../test/kit/test-issuer.ts';
import { clientId, nonce, nowMs, readKeys, TestProvider } from '../../testing/identity-fixture.ts';
import { hashAccessToken } from './access-token-hash.ts';
import { validateIdToken } from './id-token.ts';

const provider = new TestProvider();

function validate(text: string, changes: object = {}, from = provider) {
  return validateIdToken(from.config, { text, accessToken: 'at', clientId, nonce, nowMs, ...changes });
}

async function assertRefused(text: string, detail: RegExp, changes?: object): Promise<void> {
  const outcome = await validate(text, changes);
  assert.equal(outcome.kind, 'refused', JSON.stringify(outcome));
  if (outcome.kind !== 'refused') return;
  assert.equal(outcome.reason, 'identity_invalid');
  assert.match(outcome.detail, detail);
  assert.ok(!outcome.detail.includes(text));
}

describe('an ID token is accepted', () => {
  test('when everything in it is right', async () => {
    const outcome = await validate(await provider.sign({ email: 'a@example.com' }));
    assert.equal(outcome.kind, 'claims');
    assert.deepEqual(outcome.kind === 'claims' && outcome.claims, provider.claims({ email: 'a@example.com' }));
  });

  test('with the hash of its access token', async () => {
    assert.equal((await validate(await provider.sign({ at_hash: hashAccessToken('at', 'ES256') }))).kind, 'claims');
    // Without one there is nothing to compare with.
    const alone = await validate(await provider.sign({ at_hash: 'x' }), { accessToken: undefined });
    assert.equal(alone.kind, 'claims');
  });

  test('with several audiences, when it was issued to the gateway', async () => {
    assert.equal((await validate(await provider.sign({ aud: [clientId, 'b'], azp: clientId }))).kind, 'claims');
    assert.equal((await validate(await provider.sign({ aud: [clientId] }))).kind, 'claims');
    assert.equal((await validate(await provider.sign({ azp: clientId }))).kind, 'claims');
  });

  test('at a refresh, with another nonce or none', async () => {
    const refresh = { nonce: undefined };
    assert.equal((await validate(await provider.sign({ nonce: undefined }), refresh)).kind, 'claims');
    assert.equal((await validate(await provider.sign({ nonce: 'other' }), refresh)).kind, 'claims');
  });

  test('within the clock skew', async () => {
    const seconds = nowMs / 1_000;
    assert.equal((await validate(await provider.sign({ exp: seconds - 59 }))).kind, 'claims');
    assert.equal((await validate(await provider.sign({ iat: seconds + 59, nbf: seconds + 59 }))).kind, 'claims');
  });

  test('with no type in its header, and with the claim typ of Keycloak', async () => {
    assert.equal((await validate(await provider.sign({}, { typ: undefined }))).kind, 'claims');
    assert.equal((await validate(await provider.sign({ typ: 'ID' }))).kind, 'claims');
  });
});

describe('an ID token is refused', () => {
  const seconds = nowMs / 1_000;
  const cases: readonly (readonly [string, object, RegExp])[] = [
    ['of another issuer', { iss: 'https://evil.example.com' }, /another issuer.*evil/],
    ['of an issuer with a slash more', { iss: 'https://idp.example.com/' }, /another issuer/],
    ['without issuer', { iss: undefined }, /names no issuer/],
    ['of another client', { aud: 'other' }, /for another client: aud is "other"/],
    ['of other clients', { aud: ['other', 'gateway2'] }, /for another client/],
    ['without audience', { aud: undefined }, /for another client: aud is absent/],
    ['for several audiences without azp', { aud: [clientId, 'b'] }, /several audiences/],
    ['issued to another client', { aud: [clientId, 'b'], azp: 'b' }, /azp is "b"/],
    ['for one audience, issued to another client', { azp: 'b' }, /azp is "b"/],
    ['with an azp that is no string', { azp: [clientId] }, /azp is/],
    ['that has expired', { exp: seconds - 60 }, /has expired/],
    ['without expiry', { exp: undefined }, /no expiry/],
    ['of the future', { iat: seconds + 61 }, /issued in the future/],
    ['that is not valid yet', { nbf: seconds + 61 }, /not valid yet/],
    ['without iat', { iat: undefined }, /\(iat\)/],
    ['with another nonce', { nonce: 'other' }, /nonce is not that of this login/],
    ['without nonce', { nonce: undefined }, /nonce/],
    ['with a nonce that is no string', { nonce: [nonce] }, /nonce/],
    ['of another access token', { at_hash: hashAccessToken('other', 'ES256') }, /at_hash/],
    ['with an empty hash', { at_hash: '' }, /at_hash/],
    ['with a hash of another algorithm', { at_hash: hashAccessToken('at', 'ES384') }, /at_hash/],
    ['without subject', { sub: undefined }, /\(sub\)/],
    ['with an empty subject', { sub: '' }, /\(sub\)/],
    ['with a subject that is a number', { sub: 7 }, /\(sub\)/],
    ['that is an access token of Keycloak', { typ: 'Bearer' }, /another kind: the claim typ is "Bearer"/],
    ['that is a logout token', { events: {} }, /another kind: it has events/],
  ];
  for (const [name, changes, detail] of cases)
    test(name, async () => assertRefused(await provider.sign(changes), detail));

  test('that is an access token (RFC 9068), or the very one', async () => {
    await assertRefused(await provider.sign({}, { typ: 'at+jwt' }), /another kind: typ is "at\+jwt"/);
    await assertRefused(await provider.sign({}, { typ: 'application/at+jwt' }), /another kind/);
    const text = await provider.sign();
    await assertRefused(text, /is the access token/, { accessToken: text });
  });

  test('that is not signed, or by others', async () => {
    const claims = provider.claims();
    const forge = (header: object, signer = signWithBytes(Buffer.alloc(0))) => forgeToken({ header, claims, signer });
    await assertRefused(forge({ alg: 'none' }), /algorithm that is not accepted/);
    await assertRefused(forge({ alg: 'None', kid: 'one' }), /algorithm that is not accepted/);
    await assertRefused(forge({ alg: 'ES256', kid: 'one' }), /signature of the token is wrong/);
    // The public key as a secret.
    const spki = createPublicPem();
    await assertRefused(forge({ alg: 'HS256', kid: 'one' }, signWithSecret('sha256', spki)), /not accepted/);
    const other = createTestKey('ES256', { kid: 'one' });
    await assertRefused(forge({ alg: 'ES256', kid: 'one' }, signAs('ES256', other.privateKey)), /signature/);
    await assertRefused(forge({ alg: 'ES256', kid: 'two' }, signAs('ES256', other.privateKey)), /does not publish/);
    await assertRefused(forge({ alg: 'ES384', kid: 'one' }), /not for the algorithm/);
    // A key of the attacker's in the header counts for nothing.
    const header = { alg: 'ES256', kid: 'two', jwk: other.publicJwk, jku: 'https://evil.example.com/jwks' };
    await assertRefused(forge(header, signAs('ES256', other.privateKey)), /does not publish/);
  });

  test('that is no token', async () => {
    for (const text of ['x', 'a.b.c', 'a.b.c.d.e', 'x'.repeat(20_000)])
      await assertRefused(text, /ID token is refused/);
  });
});

function createPublicPem(): string {
  return JSON.stringify(provider.key.publicJwk);
}

describe('keys of ID tokens', () => {
  const rotated = createTestKey('RS256', { kid: 'two' });

  test('a new one is fetched when a token is signed with it', async () => {
    const rotating = new TestProvider();
    rotating.nextKeys = readKeys(rotated);
    const text = await signWithJose(rotated, { alg: 'RS256', kid: 'two' }, rotating.claims());
    assert.equal((await validate(text, {}, rotating)).kind, 'claims');
    assert.equal(rotating.refetches, 1);
  });

  test('while there are none nothing is decided', async () => {
    const down = new TestProvider();
    down.keys = { ok: false, detail: 'keys were never loaded', retryAfterSeconds: 7 };
    const outcome = await validate(await down.sign(), {}, down);
    assert.deepEqual(outcome, {
      kind: 'unavailable',
      detail: 'no keys for ID tokens: keys were never loaded',
      retryAfterSeconds: 7,
    });
    down.nextKeys = readKeys(down.key);
    assert.equal((await validate(await down.sign(), {}, down)).kind, 'claims');
  });

  test('a process without any decides nothing', async () => {
    const { keys: _, ...idp } = provider.config.idp;
    const config = { ...provider.config, idp };
    const outcome = await validateIdToken(config, {
      text: await provider.sign(),
      accessToken: 'at',
      clientId,
      nonce,
      nowMs,
    });
    assert.equal(outcome.kind, 'unavailable');
  });
});
