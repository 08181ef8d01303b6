import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type CachedToken, VerifiedTokenCache } from './verified-token-cache.ts';

function createEntry(subject: string, expiresAtMs = 1_000): CachedToken {
  return {
    verdict: { ok: true, token: { issuer: 'i', subject, claims: {}, scopes: undefined, expiresAtMs } },
    audiences: [],
    acceptedFor: undefined,
  };
}

describe('remembered tokens', () => {
  test('never past their expiry', () => {
    const cache = new VerifiedTokenCache({ maxEntries: 10 });
    const entry = createEntry('alice');
    cache.set('a', 1, entry);
    assert.equal(cache.get('a', 1, 999)?.verdict, entry.verdict);
    assert.equal(cache.get('a', 1, 1_000), undefined);
    assert.equal(cache.size, 0);
  });

  test('dropped, all of them, with another version of keys', () => {
    const cache = new VerifiedTokenCache({ maxEntries: 10 });
    cache.set('a', 1, createEntry('alice'));
    cache.set('b', 1, createEntry('bob'));
    assert.equal(cache.get('a', 2, 0), undefined);
    assert.equal(cache.size, 0);
    assert.equal(cache.get('b', 1, 0), undefined);
    cache.set('a', 2, createEntry('alice'));
    cache.set('b', 3, createEntry('bob'));
    assert.equal(cache.size, 1);
    assert.equal(cache.get('b', 3, 0)?.verdict.token.subject, 'bob');
  });

  test('bounded in number; the least recently used goes first', () => {
    const cache = new VerifiedTokenCache({ maxEntries: 3 });
    for (const name of ['a', 'b', 'c']) cache.set(name, 1, createEntry(name));
    cache.get('a', 1, 0);
    cache.set('d', 1, createEntry('d'));
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].filter((name) => cache.get(name, 1, 0) !== undefined),
      ['a', 'c', 'd'],
    );
    for (let index = 0; index < 1_000; index += 1) cache.set(String(index), 1, createEntry('x'));
    assert.equal(cache.size, 3);
  });

  test('bounded in size', () => {
    const cache = new VerifiedTokenCache({ maxEntries: 100, maxWeight: 10 });
    cache.set('a'.repeat(6), 1, createEntry('a'));
    cache.set('b'.repeat(6), 1, createEntry('b'));
    assert.equal(cache.get('a'.repeat(6), 1, 0), undefined);
    assert.equal(cache.get('b'.repeat(6), 1, 0)?.verdict.token.subject, 'b');
  });

  test('one per token, which is compared as a whole', () => {
    const cache = new VerifiedTokenCache({ maxEntries: 100 });
    const long = 'x'.repeat(10_000);
    for (const end of ['a', 'b', 'ab', '']) cache.set(`${long}${end}`, 1, createEntry(`user ${end}`));
    for (const end of ['a', 'b', 'ab', ''])
      assert.equal(cache.get(`${long}${end}`, 1, 0)?.verdict.token.subject, `user ${end}`);
    assert.equal(cache.get(`${long}c`, 1, 0), undefined);
  });

  test('no entries at all when there is no room for any', () => {
    const cache = new VerifiedTokenCache({ maxEntries: 0 });
    cache.set('a', 1, createEntry('a'));
    assert.equal(cache.get('a', 1, 0), undefined);
  });
});
