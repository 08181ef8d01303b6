import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { BoundedCache } from './bounded-cache.ts';
import { anyText } from '../../../../test/kit/any-text.ts';

describe('a bounded cache', () => {
  test('is bounded in number; the least recently used goes first', () => {
    const cache = new BoundedCache<number>({ maxEntries: 3 });
    for (const [index, key] of ['a', 'b', 'c'].entries()) cache.set(key, index);
    cache.get('a');
    cache.set('d', 3);
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((key) => cache.get(key)),
      [0, undefined, 2, 3],
    );
  });

  test('is bounded in the characters of its keys', () => {
    const cache = new BoundedCache<number>({ maxEntries: 100, maxWeight: 10 });
    cache.set('aaaa', 1);
    cache.set('bbbb', 2);
    cache.set('bbbb', 3);
    assert.equal(cache.size, 2);
    cache.set('cccccc', 4);
    assert.deepEqual([cache.get('aaaa'), cache.get('bbbb'), cache.get('cccccc')], [undefined, 3, 4]);
    cache.set('d'.repeat(11), 5);
    assert.equal(cache.get('d'.repeat(11)), undefined);
    assert.equal(cache.size, 2, 'and nothing had to go for what does not fit anyway');
  });

  test('keeps what is used over and over, whatever comes by', () => {
    const cache = new BoundedCache<number>({ maxEntries: 100 });
    cache.set('mine', 0);
    for (let index = 0; index < 1_000; index++) {
      cache.set(`of others ${index}`, index);
      if (index % 40 === 0) assert.equal(cache.get('mine'), 0);
    }
    assert.equal(cache.get('mine'), 0);
    assert.equal(cache.size, 100);
  });

  test('has one place for texts of the same length and end, and takes none of them for another', () => {
    const cache = new BoundedCache<number>({ maxEntries: 10 });
    cache.set('one of the same end', 1);
    assert.equal(cache.get('two of the same end'), undefined);
    cache.delete('two of the same end');
    assert.equal(cache.get('one of the same end'), 1);
    cache.set('two of the same end', 2);
    assert.deepEqual(
      [cache.get('one of the same end'), cache.get('two of the same end'), cache.size],
      [undefined, 2, 1],
    );
    cache.set('three', 3);
    cache.delete('two of the same end');
    assert.deepEqual([cache.get('three'), cache.size], [3, 1]);
  });

  test('has room again after something was deleted', () => {
    const cache = new BoundedCache<number>({ maxEntries: 2, maxWeight: 4 });
    cache.set('aa', 1);
    cache.set('bb', 2);
    cache.delete('aa');
    cache.delete('aa');
    cache.set('cc', 3);
    assert.deepEqual([cache.get('bb'), cache.get('cc')], [2, 3]);
    cache.clear();
    cache.set('dddd', 4);
    assert.deepEqual([cache.size, cache.get('dddd')], [1, 4]);
  });

  test('keeps nothing when there is no room for anything', () => {
    const cache = new BoundedCache<number>({ maxEntries: 0 });
    cache.set('a', 1);
    assert.equal(cache.get('a'), undefined);
  });

  test('never mixes up two keys, and never grows past its limits', () => {
    const keys = fc.oneof(anyText({ maxLength: 4 }), fc.string({ maxLength: 4 }));
    fc.assert(
      fc.property(fc.array(fc.tuple(keys, fc.integer())), (entries) => {
        const cache = new BoundedCache<number>({ maxEntries: 5, maxWeight: 12 });
        const newest = new Map<string, number>();
        for (const [key, value] of entries) {
          cache.set(key, value);
          newest.set(key, value);
          assert.ok(cache.size <= 5);
          for (const [known, expected] of newest) {
            const found = cache.get(known);
            assert.ok(found === undefined || found === expected);
          }
        }
      }),
    );
  });

  test('knows a key by its text, also one that was cut out of a longer text', () => {
    const cache = new BoundedCache<number>({ maxEntries: 10 });
    const long = `session=${'x'.repeat(500)}; other=1`;
    cache.set(long.slice(8, 508), 1);
    cache.set('\u{d800}', 2);
    assert.equal(cache.get('x'.repeat(500)), 1);
    assert.equal(cache.get('\u{d800}'), 2);
    assert.equal(cache.get('\u{fffd}'), undefined);
  });
});
