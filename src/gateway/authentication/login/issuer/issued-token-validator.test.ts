import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import type { SigningKeys } from '../../../config/token-issuer.ts';
import { arrangeKeys, createTestKey } from '../../testing/issuer-fixture.ts';
import type { TokenVerdict } from '../../token/verified-token.ts';
import { createIssuedTokens, recallIssued, validateIssued } from './issued-token-validator.ts';
import { signToken } from './sign-token.ts';

const nowMs = Date.UTC(2026, 0, 1);
const seconds = nowMs / 1_000;
const resource = 'https://mcp.example.com/mcp';
const idp = 'https://idp.example.com';
const claims = {
  iss: resource,
  aud: resource,
  sub: 'person:x:alice',
  exp: seconds + 900,
  iat: seconds,
  jti: '1',
  client_id: 'client',
  idp,
};
const key = createTestKey();
const issuers = [resource, 'https://mcp.example.com'];

function setUp(
  signingKeys: SigningKeys | undefined = arrangeKeys(key),
  required: { name: string; values: string[] }[] = [],
) {
  const tokens = createIssuedTokens({ signingKeys, idp, clockSkewMs: 0, requiredClaims: required, now: () => nowMs });
  const judge = (token: string, audiences: readonly string[] = [resource]): TokenVerdict => {
    const verdict = validateIssued(tokens.validator, token, audiences, issuers);
    // A token of the gateway's own never has to wait for anything but its turn.
    assert.equal(verdict instanceof Promise, false);
    return verdict as TokenVerdict;
  };
  return { tokens, judge };
}

function reasonOf(verdict: TokenVerdict): string {
  return verdict.ok ? 'accepted' : verdict.reason;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

// Only a few signatures are verified per turn.
beforeEach(nextTurn);

/** A token with a header of one's own. */
function forge(header: object, payload: object, signWith: (text: string) => Buffer): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${signWith(signed).toString('base64url')}`;
}

const signWithKey = (text: string): Buffer =>
  sign('sha256', Buffer.from(text), { key: key.privateKey, dsaEncoding: 'ieee-p1363' });

describe('a token of the gateway', () => {
  test('is accepted under both names of its authorization server, and judged at once', async () => {
    const { judge, tokens } = setUp();
    assert.equal(tokens.hasKeys, true);
    for (const iss of issuers) {
      await nextTurn();
      const token = signToken(key, { ...claims, iss, scope: 'a b' });
      const verdict = judge(token);
      assert.ok(verdict.ok);
      assert.deepEqual([...verdict.token.scopes!], ['a', 'b']);
      assert.equal(recallIssued(tokens.validator, token, [resource], issuers), verdict);
    }
  });

  test('that was cached for one resource is not accepted for another one', () => {
    const { judge, tokens } = setUp();
    const token = signToken(key, claims);
    assert.ok(judge(token).ok);
    const elsewhere = ['https://mcp.example.com/other'];
    const recalled = recallIssued(tokens.validator, token, elsewhere, elsewhere) as TokenVerdict;
    assert.equal(reasonOf(recalled), 'token_wrong_audience');
    const sameAudience = recallIssued(tokens.validator, token, [resource], elsewhere) as TokenVerdict;
    assert.equal(reasonOf(sameAudience), 'token_wrong_issuer');
  });

  const wrong: readonly (readonly [string, string, object])[] = [
    ['of another authorization server', 'token_wrong_issuer', { iss: 'https://mcp.example.com/other' }],
    ['of the identity provider', 'token_wrong_issuer', { iss: idp }],
    ['without an issuer', 'token_wrong_issuer', { iss: undefined }],
    ['for another resource', 'token_wrong_audience', { aud: 'https://mcp.example.com/other' }],
    ['without an audience', 'token_wrong_audience', { aud: undefined }],
    ['of a login at another identity provider', 'token_missing_claim', { idp: 'https://other.example.com' }],
    ['that names no identity provider', 'token_missing_claim', { idp: undefined }],
    ['that has expired', 'token_expired', { exp: seconds }],
    ['of the future', 'token_not_yet_valid', { iat: seconds + 60 }],
  ];
  for (const [name, reason, members] of wrong)
    test(`${name} is refused`, async () => {
      await nextTurn();
      assert.equal(reasonOf(setUp().judge(signToken(key, { ...claims, ...members }))), reason);
    });

  test('lacks a claim that the policy requires', async () => {
    await nextTurn();
    const { judge } = setUp(arrangeKeys(key), [{ name: 'email', values: ['a@example.com'] }]);
    assert.equal(reasonOf(judge(signToken(key, claims))), 'token_missing_claim');
    assert.equal(reasonOf(judge(signToken(key, { ...claims, email: 'a@example.com' }))), 'accepted');
  });
});

describe('what is no token of the gateway', () => {
  test('another type is refused, although the key signed it', async () => {
    for (const typ of ['JWT', 'jwt', undefined, 'dpop+jwt', 'oauth-id-jag+jwt', '']) {
      await nextTurn();
      const token = forge({ alg: 'ES256', kid: key.kid, typ }, claims, signWithKey);
      assert.equal(reasonOf(setUp().judge(token)), 'token_wrong_type', String(typ));
    }
  });

  test('algorithms cannot be confused', async () => {
    const publicPem = key.publicKey.export({ type: 'spki', format: 'pem' });
    const point = key.publicKey.export({ format: 'jwk' }).x!;
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const head = { kid: key.kid, typ: 'at+jwt' };
    const tokens = [
      forge({ ...head, alg: 'none' }, claims, () => Buffer.alloc(0)),
      forge({ ...head, alg: 'HS256' }, claims, (text) => createHmac('sha256', publicPem).update(text).digest()),
      forge({ ...head, alg: 'HS256' }, claims, (text) => createHmac('sha256', point).update(text).digest()),
      forge({ ...head, alg: 'RS256' }, claims, (text) => sign('sha256', Buffer.from(text), rsa.privateKey)),
      forge({ ...head, alg: 'ES384' }, claims, signWithKey),
      forge({ ...head, alg: 'ES256K' }, claims, signWithKey),
      forge({ ...head, alg: 'es256' }, claims, signWithKey),
    ];
    for (const token of tokens) {
      await nextTurn();
      assert.equal(reasonOf(setUp().judge(token)), 'token_unsupported_algorithm');
    }
  });

  test('keys come from the configuration only', async () => {
    const other = createTestKey();
    const jwk = other.publicKey.export({ format: 'jwk' });
    const signWithOther = (text: string): Buffer =>
      sign('sha256', Buffer.from(text), { key: other.privateKey, dsaEncoding: 'ieee-p1363' });
    for (const header of [
      { alg: 'ES256', typ: 'at+jwt', kid: key.kid },
      { alg: 'ES256', typ: 'at+jwt', kid: other.kid },
      { alg: 'ES256', typ: 'at+jwt', kid: key.kid, jwk },
      { alg: 'ES256', typ: 'at+jwt', kid: other.kid, jku: 'https://attacker.example/jwks' },
      { alg: 'ES256', typ: 'at+jwt' },
    ]) {
      await nextTurn();
      const verdict = setUp().judge(forge(header, claims, signWithOther));
      assert.ok(['token_bad_signature', 'token_unknown_key'].includes(reasonOf(verdict)), reasonOf(verdict));
    }
  });
});

describe('when keys change', () => {
  test('tokens of a key that is still published stay valid; those of a removed one do not', async () => {
    const [before, after] = [createTestKey(), createTestKey()];
    const token = signToken(before, claims);
    assert.equal(reasonOf(setUp(arrangeKeys(before)).judge(token)), 'accepted');
    await nextTurn();
    assert.equal(reasonOf(setUp(arrangeKeys(after, before)).judge(token)), 'accepted');
    await nextTurn();
    assert.equal(reasonOf(setUp(arrangeKeys(before, after)).judge(signToken(after, claims))), 'accepted');
    await nextTurn();
    assert.equal(reasonOf(setUp(arrangeKeys(after)).judge(token)), 'token_unknown_key');
  });

  test('without keys nothing is accepted, and it is no fault of the token', async () => {
    const tokens = createIssuedTokens({ signingKeys: undefined, idp, clockSkewMs: 0, requiredClaims: [] });
    assert.equal(tokens.hasKeys, false);
    assert.equal((await tokens.loadKeys!())!.reason, 'signing_key_missing');
    const verdict = await validateIssued(tokens.validator, signToken(key, claims), [resource], issuers);
    assert.equal(reasonOf(verdict), 'signing_key_missing');
  });
});
