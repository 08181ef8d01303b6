import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CompactToken } from '../token/compact-token.ts';
import type { TokenVerdict } from '../token/verified-token.ts';
import type { JwtProviderConfig } from '../../config/jwt-authentication-config.ts';
import { validateByIssuer, validateKnown } from './validate-by-issuer.ts';

const good: TokenVerdict = {
  ok: true,
  token: { issuer: 'corp', subject: 'alice', claims: {}, scopes: undefined, expiresAtMs: 1 },
};

/** Providers that note which texts they judged, remember them, and note for which audiences they were asked. */
function createIssuers(...issuers: readonly string[]) {
  const judged: string[] = [];
  const providers = new Map(
    issuers.map((issuer) => {
      const known = new Set<string>();
      const validate = (text: string, audiences: unknown, read?: CompactToken): TokenVerdict => {
        judged.push(`${issuer} ${text} for ${String(audiences)}${read === undefined ? '' : ' in parts'}`);
        known.add(text);
        return good;
      };
      const recall = (text: string, audiences: unknown): TokenVerdict | undefined => {
        if (!known.has(text)) return undefined;
        judged.push(`${issuer} ${text} for ${String(audiences)} again`);
        return good;
      };
      const provider = { audiences: [`users of ${issuer}`], validator: { validate, recall } };
      return [issuer, provider as unknown as JwtProviderConfig];
    }),
  );
  return { judged, providers };
}

function readAs(iss: unknown): CompactToken {
  return { claims: { iss } } as unknown as CompactToken;
}

describe('who judges a token', () => {
  test('is who it names; the next time it need not be read for that', () => {
    const issuers = createIssuers('corp', 'partner');
    for (const [text, issuer] of [
      ['a', 'corp'],
      ['b', 'partner'],
    ] as const) {
      assert.equal(validateKnown(issuers, text), undefined);
      assert.equal(validateByIssuer(issuers, text, readAs(issuer)), good);
      assert.equal(validateKnown(issuers, text), good);
    }
    assert.equal(validateKnown(issuers, 'c'), undefined);
    assert.deepEqual(issuers.judged, [
      'corp a for users of corp in parts',
      'corp a for users of corp again',
      'partner b for users of partner in parts',
      'partner b for users of partner again',
    ]);
  });

  test('is nobody when it names nobody, or somebody else', () => {
    const issuers = createIssuers('corp');
    for (const iss of [undefined, 'Corp', ['corp'], '']) {
      const verdict = validateByIssuer(issuers, 'a', readAs(iss));
      assert.ok(!(verdict instanceof Promise) && !verdict.ok && verdict.reason === 'token_wrong_issuer');
    }
    assert.deepEqual(issuers.judged, []);
  });

  test('may be somebody who remembers nothing', () => {
    const provider = { audiences: 'any', validator: { validate: () => good } } as unknown as JwtProviderConfig;
    const forgetful = { providers: new Map([['corp', provider]]) };
    assert.equal(validateByIssuer(forgetful, 'a', readAs('corp')), good);
    assert.equal(validateKnown(forgetful, 'a'), undefined);
  });
});
