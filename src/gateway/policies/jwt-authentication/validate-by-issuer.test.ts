import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BoundedCache } from '../../token/bounded-cache.ts';
import type { CompactToken } from '../../token/compact-token.ts';
import type { TokenVerdict } from '../../token/verified-token.ts';
import type { JwtProviderConfig } from './jwt-authentication-config.ts';
import { validateByIssuer, validateKnown } from './validate-by-issuer.ts';

const bad: TokenVerdict = { ok: false, reason: 'token_bad_signature', detail: 'wrong' };
const expired: TokenVerdict = { ok: false, reason: 'token_expired', detail: 'late' };
const good: TokenVerdict = {
  ok: true,
  token: { issuer: 'corp', subject: 'alice', claims: {}, scopes: undefined, expiresAtMs: 1 },
};

/** Providers that say what the test wants, and note which texts they judged and whether these came in parts. */
function createIssuers(...issuers: readonly string[]) {
  const says = { current: good as TokenVerdict | Promise<TokenVerdict> };
  const judged: string[] = [];
  const providers = new Map(
    issuers.map((issuer) => {
      const validate = (
        text: string,
        _audiences: unknown,
        read?: CompactToken,
      ): TokenVerdict | Promise<TokenVerdict> => {
        judged.push(`${issuer} ${text}${read === undefined ? '' : ' in parts'}`);
        return says.current;
      };
      return [issuer, { audiences: 'any', validator: { validate } } as unknown as JwtProviderConfig];
    }),
  );
  const knownIssuers = new BoundedCache<string>({ maxEntries: 10 });
  const refusedIssuers = new BoundedCache<string>({ maxEntries: 2 });
  return { says, judged, providers, knownIssuers, refusedIssuers };
}

function readAs(iss: unknown): CompactToken {
  return { claims: { iss } } as unknown as CompactToken;
}

describe('who judges a token', () => {
  test('is who it names; the next time it need not be read for that', () => {
    const issuers = createIssuers('corp', 'partner');
    assert.equal(validateKnown(issuers, 'a'), undefined);
    assert.equal(validateByIssuer(issuers, 'a', readAs('corp')), good);
    assert.equal(validateKnown(issuers, 'a'), good);
    assert.equal(validateKnown(issuers, 'b'), undefined);
    assert.deepEqual(issuers.judged, ['corp a in parts', 'corp a']);
  });

  test('is nobody when it names nobody, or somebody else', () => {
    const issuers = createIssuers('corp');
    for (const iss of [undefined, 'Corp', ['corp'], '']) {
      const verdict = validateByIssuer(issuers, 'a', readAs(iss));
      assert.ok(!(verdict instanceof Promise) && !verdict.ok && verdict.reason === 'token_wrong_issuer');
    }
    assert.deepEqual([issuers.judged.length, issuers.knownIssuers.size, issuers.refusedIssuers.size], [0, 0, 0]);
  });

  test('is known of tokens with a wrong signature too, in a place of their own', () => {
    const issuers = createIssuers('corp');
    issuers.says.current = bad;
    for (const text of ['a', 'b', 'c']) assert.equal(validateByIssuer(issuers, text, readAs('corp')), bad);
    assert.deepEqual([issuers.knownIssuers.size, issuers.refusedIssuers.size], [0, 2]);
    assert.equal(validateKnown(issuers, 'a'), undefined, 'the oldest is forgotten');
    assert.equal(validateKnown(issuers, 'c'), bad);
    assert.equal(issuers.judged.at(-1), 'corp c');
  });

  test('is not remembered of other bad ones', () => {
    const issuers = createIssuers('corp');
    issuers.says.current = expired;
    assert.equal(validateByIssuer(issuers, 'a', readAs('corp')), expired);
    assert.deepEqual([issuers.knownIssuers.size, issuers.refusedIssuers.size], [0, 0]);
  });

  test('goes over to the good ones with a token that is good now, also when that takes a while', async () => {
    for (const later of [good, Promise.resolve(good)]) {
      const issuers = createIssuers('corp');
      issuers.says.current = Promise.resolve(bad);
      assert.equal(await validateByIssuer(issuers, 'a', readAs('corp')), bad);
      assert.deepEqual([issuers.knownIssuers.size, issuers.refusedIssuers.size], [0, 1]);
      issuers.says.current = later;
      assert.equal(await validateKnown(issuers, 'a'), good);
      assert.deepEqual([issuers.knownIssuers.size, issuers.refusedIssuers.size], [1, 0]);
    }
  });

  test('is asked only where it is accepted: policies share what is remembered', () => {
    const one = createIssuers('corp');
    const two = { ...createIssuers('partner'), knownIssuers: one.knownIssuers, refusedIssuers: one.refusedIssuers };
    assert.equal(validateByIssuer(one, 'a', readAs('corp')), good);
    one.says.current = bad;
    assert.equal(validateByIssuer(one, 'b', readAs('corp')), bad);
    assert.equal(validateKnown(two, 'a'), undefined);
    assert.equal(validateKnown(two, 'b'), undefined);
    assert.deepEqual(two.judged, []);
  });
});
