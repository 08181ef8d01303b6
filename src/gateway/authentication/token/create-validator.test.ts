import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, test } from 'node:test';
import type { Algorithm } from './algorithms.ts';
import { createTokenValidator, type ValidatorOptions } from './create-validator.ts';
import { createInlineKeySource, type KeySource } from './key-source.ts';
import { readCompactToken } from './read-compact-token.ts';
import { createTestKey, encodePart, signWithJose, type TestKey } from '../../../../test/kit/test-issuer.ts';
import type { TokenValidator, TokenVerdict } from './verified-token.ts';

const issuer = 'https://idp.example.com';
const audience = 'https://mcp.example.com/mcp';
const nowMs = Date.UTC(2026, 5, 1);
const nowSeconds = nowMs / 1_000;
const goodClaims = { iss: issuer, aud: audience, sub: 'alice', exp: nowSeconds + 300, iat: nowSeconds, scope: 'mcp' };

const ec = createTestKey('ES256', { kid: 'ec' });
const rsa = createTestKey('RS256', { kid: 'rsa' });
const ecToken = await signWithJose(ec, { alg: 'ES256', kid: 'ec' }, goodClaims);

function createSource(...keys: readonly (TestKey | object)[]): KeySource {
  return createInlineKeySource(JSON.stringify({ keys: keys.map((key) => ('publicJwk' in key ? key.publicJwk : key)) }));
}

function createValidator(keySource: KeySource, options: Partial<ValidatorOptions> = {}): TokenValidator {
  return createTokenValidator({ issuer, keySource, clockSkewMs: 60_000, now: () => nowMs, ...options });
}

/** Everything here is decided without waiting. */
function judge(validator: TokenValidator, token: string, audiences: readonly string[] = [audience]): TokenVerdict {
  const verdict = validator.validate(token, audiences);
  assert.ok(!(verdict instanceof Promise));
  return verdict;
}

async function reasonOf(validator: TokenValidator, token: string): Promise<string> {
  const verdict = await validator.validate(token, [audience]);
  if (verdict.ok) return 'ok';
  assert.ok(!verdict.detail.includes(token.slice(0, 20)) || token.length < 20, 'never the token');
  return verdict.reason;
}

describe('real keys of every algorithm, tokens made by another implementation', () => {
  const all = [
    'RS256',
    'RS384',
    'RS512',
    'PS256',
    'PS384',
    'PS512',
    'ES256',
    'ES384',
    'ES512',
    'EdDSA',
    'Ed25519',
  ] as const;
  for (const alg of all) {
    test(alg, async () => {
      const key = createTestKey(alg, { kid: 'k', alg });
      const validator = createValidator(createSource(key));
      const token = await signWithJose(key, { alg, kid: 'k', typ: 'at+jwt' }, goodClaims);
      await nextTurn();
      const verdict = judge(validator, token);
      assert.deepEqual(verdict, {
        ok: true,
        token: {
          issuer,
          subject: 'alice',
          claims: goodClaims,
          scopes: new Set(['mcp']),
          expiresAtMs: nowMs + 300_000,
          caller: undefined,
        },
      });
      const stranger = createTestKey(alg);
      const forged = await signWithJose(stranger, { alg, kid: 'k' }, goodClaims);
      assert.equal(await reasonOf(validator, forged), 'token_bad_signature');
    });
  }

  test('a key without alg serves its family, and one with alg only that', async () => {
    const any = createValidator(createSource(rsa));
    const only = createValidator(createSource({ ...rsa.publicJwk, alg: 'RS256' }));
    for (const alg of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const) {
      const token = await signWithJose(rsa, { alg, kid: 'rsa' }, goodClaims);
      assert.equal(await reasonOf(any, token), 'ok', alg);
      assert.equal(await reasonOf(only, token), alg === 'RS256' ? 'ok' : 'token_unsupported_algorithm', alg);
    }
  });
});

describe('confusion about the algorithm', () => {
  test('HS256 with the public key as the secret, in every form that the key has', async () => {
    const { publicJwk } = rsa;
    const validator = createValidator(createSource(publicJwk));
    const secrets = [JSON.stringify(publicJwk), publicJwk.n!, Buffer.from(publicJwk.n!, 'base64url'), ''];
    for (const secret of secrets) {
      const input = `${encodePart({ alg: 'HS256', kid: 'rsa' })}.${encodePart(goodClaims)}`;
      const signature = createHmac('sha256', secret).update(input).digest('base64url');
      assert.equal(await reasonOf(validator, `${input}.${signature}`), 'token_unsupported_algorithm');
    }
  });

  test('none, with and without a signature', async () => {
    const validator = createValidator(createSource(ec));
    for (const alg of ['none', 'None', 'NONE']) {
      const input = `${encodePart({ alg, kid: 'ec' })}.${encodePart(goodClaims)}`;
      assert.equal(await reasonOf(validator, `${input}.`), 'token_unsupported_algorithm');
      assert.equal(await reasonOf(validator, `${input}.${ecToken.split('.')[2]}`), 'token_unsupported_algorithm');
    }
  });

  test('a supported algorithm with an empty signature', async () => {
    const validator = createValidator(createSource(ec));
    assert.equal(await reasonOf(validator, `${ecToken.split('.').slice(0, 2).join('.')}.`), 'token_bad_signature');
  });

  test('the header of another algorithm over a signature of the right key', async () => {
    const validator = createValidator(createSource(ec, rsa));
    const [, claims, signature] = ecToken.split('.');
    for (const [alg, kid, reason] of [
      ['ES384', 'ec', 'token_unsupported_algorithm'],
      ['RS256', 'ec', 'token_unsupported_algorithm'],
      ['EdDSA', 'ec', 'token_unsupported_algorithm'],
      ['RS256', 'rsa', 'token_bad_signature'],
    ] as const) {
      assert.equal(await reasonOf(validator, `${encodePart({ alg, kid })}.${claims}.${signature}`), reason);
    }
  });

  test('ES256 named, but the key is on P-384', async () => {
    const other = createTestKey('ES384', { kid: 'k' });
    const token = await signWithJose(other, { alg: 'ES384', kid: 'k' }, goodClaims);
    const [, claims, signature] = token.split('.');
    const validator = createValidator(createSource(other));
    assert.equal(await reasonOf(validator, token), 'ok');
    const changed = `${encodePart({ alg: 'ES256', kid: 'k' })}.${claims}.${signature}`;
    assert.equal(await reasonOf(validator, changed), 'token_unsupported_algorithm');
  });

  test('an ECDSA signature in DER', async () => {
    const { sign } = await import('node:crypto');
    const input = ecToken.split('.').slice(0, 2).join('.');
    const der = sign('sha256', Buffer.from(input), ec.privateKey).toString('base64url');
    assert.equal(await reasonOf(createValidator(createSource(ec)), `${input}.${der}`), 'token_bad_signature');
  });

  test('an ECDSA signature of zeros (CVE-2022-21449)', async () => {
    const input = ecToken.split('.').slice(0, 2).join('.');
    const zeros = Buffer.alloc(64).toString('base64url');
    assert.equal(await reasonOf(createValidator(createSource(ec)), `${input}.${zeros}`), 'token_bad_signature');
  });

  test('a symmetric key in the set verifies nothing', async () => {
    const secret = Buffer.alloc(32, 7);
    const validator = createValidator(createSource({ kty: 'oct', k: secret.toString('base64url'), kid: 'hs' }, ec));
    const input = `${encodePart({ alg: 'HS256', kid: 'hs' })}.${encodePart(goodClaims)}`;
    const signature = createHmac('sha256', secret).update(input).digest('base64url');
    assert.equal(await reasonOf(validator, `${input}.${signature}`), 'token_unsupported_algorithm');
  });

  test('crit', async () => {
    const validator = createValidator(createSource(ec));
    const header = { alg: 'ES256', kid: 'ec', crit: ['exp'], exp: 1 };
    const input = `${encodePart(header)}.${encodePart(goodClaims)}`;
    const { sign } = await import('node:crypto');
    const signature = sign('sha256', Buffer.from(input), { key: ec.privateKey, dsaEncoding: 'ieee-p1363' });
    assert.equal(await reasonOf(validator, `${input}.${signature.toString('base64url')}`), 'token_unsupported_header');
  });

  test('keys that the token brings along or points to are ignored', async () => {
    const attacker = createTestKey('ES256');
    const validator = createValidator(createSource(ec));
    for (const extra of [
      { jwk: attacker.publicJwk },
      { jwk: attacker.publicJwk, kid: 'ec' },
      { jku: 'https://attacker.example.com/jwks', kid: 'other' },
      { x5u: 'https://attacker.example.com/cert', kid: 'ec' },
      { x5c: ['MIIB'], kid: 'ec' },
    ]) {
      const token = await signWithJose(attacker, { alg: 'ES256', ...extra }, goodClaims);
      assert.match(await reasonOf(validator, token), /token_(bad_signature|unknown_key)/);
      const honest = await signWithJose(ec, { alg: 'ES256', ...extra, kid: 'ec' }, goodClaims);
      assert.equal(await reasonOf(validator, honest), 'ok');
    }
  });
});

describe('changed tokens', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  for (const [alg, key] of [
    ['ES256', ec],
    ['RS256', rsa],
    ['EdDSA', createTestKey('EdDSA', { kid: 'ed' })],
  ] as const satisfies readonly (readonly [Algorithm, TestKey])[]) {
    test(`${alg}: changed in any one byte, cut, or made longer, a token is refused`, async () => {
      const source = createSource(key);
      const validator = createValidator(source);
      const token = await signWithJose(key, { alg, kid: key.publicJwk.kid! }, goodClaims);
      assert.equal(await reasonOf(validator, token), 'ok');
      for (let index = 0; index < token.length; index += 1) {
        const code = token.charCodeAt(index);
        const at = alphabet.indexOf(token[index]!);
        // The neighbour in the alphabet differs in the lowest bit only, which careless decoders drop at the end of a part.
        const neighbours = [alphabet[at ^ 1] ?? 'A', String.fromCharCode(code ^ 0x20), '.', '=', '%', '\u0000'];
        for (const character of neighbours) {
          if (character === token[index]) continue;
          const changed = `${token.slice(0, index)}${character}${token.slice(index + 1)}`;
          assert.notEqual(await reasonOf(validator, changed), 'ok', `${index}: ${character}`);
        }
        assert.notEqual(await reasonOf(validator, token.slice(0, index)), 'ok');
        assert.notEqual(await reasonOf(validator, token.slice(0, index) + token.slice(index + 1)), 'ok');
      }
      for (const extra of ['A', '=', '.', ' ', '\n']) {
        assert.notEqual(await reasonOf(validator, token + extra), 'ok');
        assert.notEqual(await reasonOf(validator, extra + token), 'ok');
      }
    });
  }
});

describe('rules about claims, each good and bad with a good signature', () => {
  const { exp: _exp, ...withoutExpiry } = goodClaims;
  const { aud: _aud, ...withoutAudience } = goodClaims;
  for (const [name, claims, expected] of [
    ['as it should be', goodClaims, 'ok'],
    ['a list of audiences', { ...goodClaims, aud: ['account', audience] }, 'ok'],
    ['another audience', { ...goodClaims, aud: 'https://other.example.com' }, 'token_wrong_audience'],
    ['audiences in one string', { ...goodClaims, aud: `account ${audience}` }, 'token_wrong_audience'],
    ['no audience', withoutAudience, 'token_wrong_audience'],
    ['another issuer', { ...goodClaims, iss: 'https://evil.example.com' }, 'token_wrong_issuer'],
    ['no expiry', withoutExpiry, 'token_missing_claim'],
    ['expired beyond the skew', { ...goodClaims, exp: nowSeconds - 60 }, 'token_expired'],
    ['expired within the skew', { ...goodClaims, exp: nowSeconds - 59 }, 'ok'],
    ['not yet valid', { ...goodClaims, nbf: nowSeconds + 61 }, 'token_not_yet_valid'],
    ['valid within the skew', { ...goodClaims, nbf: nowSeconds + 60 }, 'ok'],
    ['issued in the future', { ...goodClaims, iat: nowSeconds + 61 }, 'token_not_yet_valid'],
    ['an ID token by typ', { ...goodClaims, typ: 'ID' }, 'token_is_id_token'],
    ['an ID token by c_hash', { ...goodClaims, c_hash: 'x' }, 'token_is_id_token'],
    ['with nonce and at_hash', { ...goodClaims, nonce: 'x', at_hash: 'y' }, 'ok'],
  ] as const) {
    test(name, async () => {
      const token = await signWithJose(ec, { alg: 'ES256', kid: 'ec' }, claims);
      const validator = createValidator(createSource(ec));
      assert.equal(await reasonOf(validator, token), expected);
      assert.equal(await reasonOf(validator, token), expected, 'the second time as well');
    });
  }

  test('required claims and scopes', async () => {
    const sign = (claims: object): Promise<string> =>
      signWithJose(ec, { alg: 'ES256', kid: 'ec' }, { ...goodClaims, ...claims });
    const source = createSource(ec);
    const picky = createValidator(source, {
      requiredClaims: [{ name: 'tenant', values: ['acme'] }],
      requiredScopes: ['mcp', 'tools'],
    });
    const tenant = 'acme';
    assert.equal(await reasonOf(picky, await sign({ scope: 'mcp tools', tenant })), 'ok');
    assert.equal(await reasonOf(picky, await sign({ scope: ['tools', 'mcp'], tenant })), 'ok');
    assert.equal(await reasonOf(picky, await sign({ scope: 'mcp tools' })), 'token_missing_claim');
    assert.equal(await reasonOf(picky, await sign({ scope: 'mcp tools', tenant: 'b' })), 'token_missing_claim');
    const narrow = await sign({ scope: 'mcp', tenant });
    assert.equal(await reasonOf(picky, narrow), 'insufficient_scope');
    assert.equal(await reasonOf(picky, narrow), 'insufficient_scope', 'remembered, and still not enough');
    assert.equal(await reasonOf(picky, await sign({ scope: undefined, tenant })), 'token_without_scopes');
    assert.equal(await reasonOf(picky, await sign({ scope: undefined, scp: 'mcp tools', tenant })), 'ok');
  });

  test('an issuer with two spellings', async () => {
    const validator = createValidator(createSource(ec), { acceptsIssuer: (found) => found.startsWith(issuer) });
    const token = await signWithJose(ec, { alg: 'ES256', kid: 'ec' }, { ...goodClaims, iss: `${issuer}/v2` });
    const verdict = judge(validator, token);
    assert.equal(verdict.ok && verdict.token.issuer, `${issuer}/v2`);
  });

  test('a token without sub has no subject; neither has one with an odd sub', async () => {
    for (const sub of [undefined, '', 7, null, ['alice']]) {
      const token = await signWithJose(ec, { alg: 'ES256', kid: 'ec' }, { ...goodClaims, sub });
      const verdict = judge(createValidator(createSource(ec)), token);
      assert.ok(verdict.ok);
      assert.equal(verdict.token.subject, undefined);
    }
  });
});

describe('several issuers', () => {
  test('the same kid in two of them does not confuse them', async () => {
    const one = createTestKey('ES256', { kid: 'same' });
    const two = createTestKey('ES256', { kid: 'same' });
    const other = 'https://other.example.com';
    const first = createValidator(createSource(one));
    const second = createValidator(createSource(two), { issuer: other });
    const sign = (key: TestKey, iss: string): Promise<string> =>
      signWithJose(key, { alg: 'ES256', kid: 'same' }, { ...goodClaims, iss });
    assert.equal(await reasonOf(first, await sign(one, issuer)), 'ok');
    assert.equal(await reasonOf(second, await sign(two, other)), 'ok');
    assert.equal(await reasonOf(first, await sign(two, other)), 'token_wrong_issuer');
    assert.equal(await reasonOf(second, await sign(one, issuer)), 'token_wrong_issuer');
    assert.equal(await reasonOf(first, await sign(two, issuer)), 'token_bad_signature');
    assert.equal(await reasonOf(second, await sign(one, other)), 'token_bad_signature');
  });
});

describe('remembered tokens', () => {
  test('the second time there is no promise, no parsing, and the very same verdict', async () => {
    const validator = createValidator(createSource(ec));
    const first = judge(validator, ecToken);
    assert.ok(first.ok);
    assert.equal(judge(validator, ecToken), first);
  });

  test('what is remembered cannot be changed by one request for the next', () => {
    const verdict = judge(createValidator(createSource(ec)), ecToken);
    assert.ok(verdict.ok);
    assert.ok(Object.isFrozen(verdict.token.claims));
  });

  test('the audience is checked each time: a token for /a opens no /b', async () => {
    const validator = createValidator(createSource(ec));
    assert.equal(judge(validator, ecToken).ok, true);
    const other = judge(validator, ecToken, ['https://mcp.example.com/b']);
    assert.equal(other.ok ? 'ok' : other.reason, 'token_wrong_audience');
    assert.equal(judge(validator, ecToken, []).ok, false);
    assert.equal(judge(validator, ecToken).ok, true);
  });

  test('any audience is accepted where the caller says so, also none at all', async () => {
    const validator = createValidator(createSource(ec));
    const { aud: _left, ...without } = goodClaims;
    for (const claims of [goodClaims, without, { ...goodClaims, aud: { a: 1 } }]) {
      const token = await signWithJose(ec, { alg: 'ES256', kid: 'ec' }, claims);
      const verdict = await validator.validate(token, 'any');
      assert.equal(verdict.ok, true);
      assert.equal((await validator.validate(token, [])).ok, false, 'and what is remembered opens nothing else');
    }
  });

  test('a token that was taken apart before is judged all the same', async () => {
    const validator = createValidator(createSource(ec));
    for (const [claims, expected] of [
      [goodClaims, 'ok'],
      [{ ...goodClaims, iss: 'https://other.example' }, 'token_wrong_issuer'],
      [{ ...goodClaims, exp: nowSeconds - 100 }, 'token_expired'],
    ] as const) {
      const token = await signWithJose(ec, { alg: 'ES256', kid: 'ec' }, claims);
      const read = readCompactToken(token);
      assert.ok(read.ok);
      const verdict = await validator.validate(token, [audience], read.token);
      assert.equal(verdict.ok ? 'ok' : verdict.reason, expected);
    }
    const forged = await signWithJose(createTestKey('ES256'), { alg: 'ES256', kid: 'ec' }, goodClaims);
    const read = readCompactToken(forged);
    assert.ok(read.ok);
    const verdict = await validator.validate(forged, [audience], read.token);
    assert.ok(!verdict.ok && verdict.reason === 'token_bad_signature');
  });

  test('not past its expiry: with skew it is judged anew, beyond it is refused', async () => {
    let time = nowMs;
    const validator = createValidator(createSource(ec), { now: () => time });
    assert.equal(judge(validator, ecToken).ok, true);
    time = nowMs + 300_000 + 59_999;
    assert.equal(judge(validator, ecToken).ok, true);
    time = nowMs + 300_000 + 60_000;
    assert.equal(await reasonOf(validator, ecToken), 'token_expired');
  });

  test('many tokens of the same issuer and audience at once keep their own claims', async () => {
    const validator = createValidator(createSource(ec), { cacheSize: 50 });
    const tokens = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        signWithJose(ec, { alg: 'ES256', kid: 'ec' }, { ...goodClaims, sub: `user-${index}` }),
      ),
    );
    for (let round = 0; round < 3; round += 1) {
      const verdicts = await Promise.all(tokens.map(async (token) => validator.validate(token, [audience])));
      assert.deepEqual(
        verdicts.map((verdict) => (verdict.ok ? verdict.token.subject : verdict.reason)),
        tokens.map((_, index) => `user-${index}`),
      );
    }
  });

  test('a token whose key was taken away is refused from then on', () => {
    const sources = { current: createSource(ec) };
    const switching: KeySource = { ...sources.current, getKeys: () => sources.current.getKeys() };
    const validator = createValidator(switching);
    assert.equal(judge(validator, ecToken).ok, true);
    sources.current = createSource(createTestKey('ES256', { kid: 'new' }));
    return reasonOf(validator, ecToken).then((reason) => assert.equal(reason, 'token_unknown_key'));
  });
});

describe('no keys', () => {
  test('fails closed, with a time to try again, and the problem for the operator', () => {
    const verdict = judge(createValidator(createInlineKeySource('{"keys":[]}')), ecToken);
    assert.deepEqual(verdict, {
      ok: false,
      reason: 'keys_unavailable',
      detail: 'The keys of the identity provider could not be fetched yet.',
      operatorDetail: 'the inline key set is empty',
      retryAfterSeconds: 60,
    });
  });

  test('what is wrong on its face is still told', async () => {
    const validator = createValidator(createInlineKeySource('oops'));
    assert.equal(await reasonOf(validator, 'x'), 'token_malformed');
    assert.equal(await reasonOf(validator, 'x'.repeat(20_000)), 'token_too_large');
  });
});

test('of many tokens at once a few are verified at once, the others one turn of the event loop after the other', async () => {
  await nextTurn();
  const validator = createValidator(createSource(ec));
  const good = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      signWithJose(ec, { alg: 'ES256', kid: 'ec' }, { ...goodClaims, sub: `user-${index}` }),
    ),
  );
  await nextTurn();
  // Every second one is forged, and all of them come twice.
  const tokens = good.flatMap((token, index) => [
    token,
    `${good[(index + 1) % 10]!.split('.', 2).join('.')}.${token.split('.')[2]!}`,
  ]);
  const verdicts = [...tokens, ...tokens].map((token) => validator.validate(token, [audience]));
  const atOnce = verdicts.filter((verdict) => !(verdict instanceof Promise)).length;
  assert.ok(atOnce > 0 && atOnce < 20, `${atOnce} at once`);
  for (const [index, pending] of verdicts.entries()) {
    const verdict = await pending;
    if (index % 2 === 0) assert.ok(verdict.ok && verdict.token.subject === `user-${(index / 2) % 10}`);
    else assert.ok(!verdict.ok && verdict.reason === 'token_bad_signature');
  }
});
