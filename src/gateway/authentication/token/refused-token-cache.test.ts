import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RefusedTokenCache } from './refused-token-cache.ts';
import type { TokenRefusal } from './verified-token.ts';

const refusal: TokenRefusal = { ok: false, reason: 'token_bad_signature', detail: 'wrong' };
const nowMs = 1_000_000;
const laterMs = nowMs + 3_600_000;

describe('tokens that were refused for their signature', () => {
  test('are known by their whole text under the same keys', () => {
    const cache = new RefusedTokenCache();
    cache.set('a.b.c', 'v1', refusal, nowMs, laterMs);
    assert.equal(cache.get('a.b.c', 'v1', nowMs), refusal);
    for (const other of ['a.b.d', 'a.b.', 'a.b.cc', 'A.b.c', ''])
      assert.equal(cache.get(other, 'v1', nowMs), undefined, other);
  });

  test('are forgotten with the keys', () => {
    const cache = new RefusedTokenCache();
    cache.set('a', 'v1', refusal, nowMs, laterMs);
    assert.equal(cache.get('a', 'v2', nowMs), undefined);
    assert.equal(cache.get('a', 'v1', nowMs), undefined, 'also when the old keys come back');
    cache.set('a', 'v1', refusal, nowMs, laterMs);
    cache.set('b', 'v2', refusal, nowMs, laterMs);
    assert.deepEqual([cache.get('a', 'v2', nowMs), cache.size], [undefined, 1]);
  });

  test('are forgotten after a minute, and when they expire: then something else is to be said about them', () => {
    const cache = new RefusedTokenCache();
    cache.set('a', 'v1', refusal, nowMs, laterMs);
    assert.equal(cache.get('a', 'v1', nowMs + 59_999), refusal);
    assert.equal(cache.get('a', 'v1', nowMs + 60_000), undefined);
    assert.equal(cache.size, 0);
    cache.set('b', 'v1', refusal, nowMs, nowMs + 10);
    assert.equal(cache.get('b', 'v1', nowMs + 9), refusal);
    assert.equal(cache.get('b', 'v1', nowMs + 10), undefined);
  });

  test('are bounded in number and in length, whoever makes them up', () => {
    const cache = new RefusedTokenCache();
    for (let index = 0; index < 3_000; index += 1) cache.set(`token ${index}`, 'v1', refusal, nowMs, laterMs);
    assert.equal(cache.size, 1_000);
    assert.equal(cache.get('token 1999', 'v1', nowMs), undefined);
    assert.equal(cache.get('token 2999', 'v1', nowMs), refusal);
    for (let index = 0; index < 200; index += 1)
      cache.set(`${index}`.padStart(16_384, 'x'), 'v1', refusal, nowMs, laterMs);
    assert.equal(cache.size, 64);
    for (let index = 0; index < 200; index += 1) cache.set(`${index} with the same end`, 'v1', refusal, nowMs, laterMs);
    assert.ok(cache.size <= 64 + 3, 'those with the same length and end have one place');
  });
});
