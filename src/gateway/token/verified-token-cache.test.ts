import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type CachedToken, VerifiedTokenCache } from './verified-token-cache.ts';

function createEntry(subject: string, expiresAtMs = 1_000): CachedToken {
  return {
    verdict: { ok: true, token: { issuer: 'i', subject, claims: {}, scopes: undefined, expiresAtMs } },
    audiences: [],
  };
}

describe('remembered tokens', () => {
  test('never past their expiry', () => {
    const cache = new VerifiedTokenCache({ maxEntries: 10 });
    const entry = createEntry('alice');
    cache.set('a', 1, entry, 1);
    assert.equal(cache.get('a', 1, 999)?.verdict, entry.verdict);
    assert.equal(cache.get('a', 1, 1_000), undefined);
    assert.equal(cache.size, 0);
  });

  test('dropped, all of them, with another version of keys', () => {
    const cache = new VerifiedTokenCache({ maxEntries: 10 });
    cache.set('a', 1, createEntry('alice'), 1);
    cache.set('b', 1, createEntry('bob'), 1);
    assert.equal(cache.get('a', 2, 0), undefined);
    assert.equal(cache.size, 0);
    assert.equal(cache.get('b', 1, 0), undefined);
    cache.set('a', 2, createEntry('alice'), 1);
    cache.set('b', 3, createEntry('bob'), 1);
    assert.equal(cache.size, 1);
    assert.equal(cache.get('b', 3, 0)?.verdict.token.subject, 'bob');
  });

  test('bounded in number; the least recently used goes first', () => {
    const cache = new VerifiedTokenCache({ maxEntries: 3 });
    for (const name of ['a', 'b', 'c']) cache.set(name, 1, createEntry(name), 1);
    cache.get('a', 1, 0);
    cache.set('d', 1, createEntry('d'), 1);
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].filter((name) => cache.get(name, 1, 0) !== undefined),
      ['a', 'c', 'd'],
    );
    for (let index = 0; index < 1_000; index += 1) cache.set(String(index), 1, createEntry('x'), 1);
    assert.equal(cache.size, 3);
  });

  test('bounded in size', () => {
    const cache = new VerifiedTokenCache({ maxEntries: 100, maxWeight: 10 });
    cache.set('a', 1, createEntry('a'), 4);
    cache.set('b', 1, createEntry('b'), 4);
    cache.set('b', 1, createEntry('b'), 5);
    assert.equal(cache.size, 2);
    cache.set('c', 1, createEntry('c'), 6);
    assert.equal(cache.get('a', 1, 0), undefined);
    assert.equal(cache.get('b', 1, 0), undefined);
    assert.equal(cache.size, 1);
    cache.set('d', 1, createEntry('d'), 11);
    assert.equal(cache.get('d', 1, 0), undefined);
    assert.equal(cache.size, 1);
  });

  test('no entries at all when there is no room for any', () => {
    const cache = new VerifiedTokenCache({ maxEntries: 0 });
    cache.set('a', 1, createEntry('a'), 1);
    assert.equal(cache.get('a', 1, 0), undefined);
  });
});
