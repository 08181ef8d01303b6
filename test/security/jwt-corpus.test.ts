// Every token of the corpus of hostile tokens is refused by the engine, for the right reason.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  createTokenValidator,
  type ValidatorOptions,
} from '../../src/gateway/authentication/token/create-validator.ts';
import { createInlineKeySource } from '../../src/gateway/authentication/token/key-source.ts';
import { forgeToken, signAs } from '../kit/forge-token.ts';
import type { TokenValidator } from '../../src/gateway/authentication/token/verified-token.ts';
import type { CorpusPolicy } from './token-corpus-entry.ts';
import { audience, goodClaims, issuer, keys, loneKey, served, severalKeys } from './token-corpus-issuer.ts';
import { createAcceptableTokens, createHostileTokens } from './token-corpus.ts';

const nowSeconds = Math.floor(Date.now() / 1_000);

function createValidator(jwks: readonly object[], options: Partial<ValidatorOptions> = {}): TokenValidator {
  return createTokenValidator({
    issuer,
    keySource: createInlineKeySource(JSON.stringify({ keys: jwks })),
    clockSkewMs: 60_000,
    now: () => nowSeconds * 1_000,
    ...options,
  });
}

const validators: Readonly<Record<CorpusPolicy, TokenValidator>> = {
  'several-keys': createValidator(severalKeys),
  'lone-key': createValidator([loneKey.publicJwk]),
  'required-claim': createValidator(severalKeys, { requiredClaims: [{ name: 'tenant.id', values: ['acme'] }] }),
  'required-scope': createValidator(severalKeys, { requiredScopes: ['tickets:read'] }),
};

async function judge(policy: CorpusPolicy, token: string): Promise<string> {
  const verdict = await validators[policy].validate(token, [audience]);
  if (verdict.ok) return 'accepted';
  const { detail, operatorDetail = '' } = verdict;
  assert.match(detail, /^[\x20-\x7e]+$/, 'it goes into a header');
  assert.doesNotMatch(detail, /["\\]/, 'into a quoted parameter');
  assert.match(operatorDetail, /^[\x20-\x7e]*$/, 'it goes into a log');
  assert.ok(operatorDetail.length < 2_000, 'no token fills the log');
  assert.ok(token.length < 40 || !`${detail}${operatorDetail}`.includes(token.slice(0, 40)), 'never the token');
  return verdict.reason;
}

describe('control group of the corpus: the same tokens without the one defect are valid', () => {
  for (const [kid, algorithms] of Object.entries(served)) {
    for (const alg of algorithms) {
      test(`${alg} of ${kid}`, async () => {
        const signer = signAs(alg, keys[kid as keyof typeof keys].privateKey);
        const token = forgeToken({ header: { alg, kid }, claims: goodClaims(nowSeconds), signer });
        for (const policy of ['several-keys', 'required-claim', 'required-scope'] as const) {
          assert.equal(await judge(policy, token), 'accepted');
        }
      });
    }
  }

  test('the key without a name, whatever the token calls it', async () => {
    for (const kid of [undefined, 'any', '']) {
      const signer = signAs('RS256', loneKey.privateKey);
      const token = forgeToken({ header: { alg: 'RS256', kid }, claims: goodClaims(nowSeconds), signer });
      assert.equal(await judge('lone-key', token), 'accepted');
    }
  });
});

const corpus = createHostileTokens(nowSeconds);

test('the corpus is as large as it should be, and nothing is in it twice', () => {
  const all = Object.values(corpus).flat();
  assert.ok(all.length >= 300, `${all.length} tokens`);
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length, 'names');
  const places = all.map(({ token, policy = 'several-keys' }) => `${policy} ${token}`);
  assert.deepEqual(
    places.filter((place, index) => places.indexOf(place) !== index),
    [],
  );
});

for (const [group, tokens] of Object.entries(corpus)) {
  describe(`refused: ${group}`, () => {
    for (const { name, token, reason, policy = 'several-keys' } of tokens) {
      test(`${name} -> ${reason}`, async () => {
        assert.equal(await judge(policy, token), reason);
        assert.equal(await judge(policy, token), reason, 'the second time as well');
      });
    }
  });
}

describe('odd, and accepted', () => {
  for (const { name, token, why, policy = 'several-keys' } of createAcceptableTokens(nowSeconds)) {
    test(`${name}: ${why}`, async () => assert.equal(await judge(policy, token), 'accepted'));
  }
});
