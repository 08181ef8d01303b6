import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { algorithms } from '../../gateway/authentication/token/algorithms.ts';
import { createTokenValidator } from '../../gateway/authentication/token/create-validator.ts';
import { createInlineKeySource } from '../../gateway/authentication/token/key-source.ts';
import { encodePart } from '../../../test/kit/test-issuer.ts';
import { getStandInKeys } from './stand-in-keys.ts';

const keys = getStandInKeys();
const claims = { iss: 'https://idp.example.com', aud: 'a', exp: 9_999_999_999, sub: 'alice' };

async function judge(token: string): Promise<string | undefined> {
  const keySource = createInlineKeySource(keys.document);
  const verdict = await createTokenValidator({ issuer: claims.iss, keySource, clockSkewMs: 0 }).validate(token, ['a']);
  return verdict.ok ? verdict.token.subject : verdict.reason;
}

describe('stand-in keys', () => {
  for (const alg of Object.keys(algorithms)) {
    test(`a token with ${alg} is accepted once it is signed again, whatever key it names`, async () => {
      for (const kid of [undefined, 'k1']) {
        const token = `${encodePart({ alg, kid })}.${encodePart(claims)}.${encodePart('forged')}`;
        assert.notEqual(await judge(token), 'alice');
        assert.equal(await judge(keys.signAgain(token)), 'alice');
      }
    });
  }

  test('what no gateway would look at is not signed', () => {
    const payload = encodePart(claims);
    for (const token of [
      'opaque',
      'a.b',
      'a.b.c.d.e',
      `${encodePart({ alg: 'none' })}.${payload}.`,
      `${encodePart({ alg: 'HS256' })}.${payload}.AAAA`,
      `${encodePart('no json')}.${payload}.AAAA`,
      `${encodePart({ alg: 'ES256' })}.${encodePart({ ...claims, filler: 'x'.repeat(16_384) })}.AAAA`,
    ])
      assert.equal(keys.signAgain(token), token);
  });

  test('header and payload stay as they are, to the byte', () => {
    const header = encodePart('{ "alg":"ES256",  "typ":"at+jwt" }');
    const payload = encodePart('{"iss":"x",\n "n": 1.0}');
    assert.ok(keys.signAgain(`${header}.${payload}.AAAA`).startsWith(`${header}.${payload}.`));
  });

  test('claims become a token', async () => assert.equal(await judge(keys.signClaims(claims)), 'alice'));

  test('nothing private is in the document', () => {
    const { keys: list } = JSON.parse(keys.document) as { keys: Record<string, unknown>[] };
    assert.equal(list.length, 6);
    for (const key of list) assert.ok(!('d' in key) && !('p' in key));
  });
});
