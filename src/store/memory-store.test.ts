import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createMemoryStore } from './memory-store.ts';
import { expectValue, testStore } from './testing/store-contract.ts';

let nowMs = 1_000;
const store = createMemoryStore({ now: () => nowMs });

testStore({
  name: 'memory',
  open: async () => store,
  pass: async (ms) => void (nowMs += ms),
});

describe('the memory store', () => {
  test('refuses more than it can hold, and goes on when something has expired', async () => {
    const small = createMemoryStore({ maxEntries: 4, now: () => nowMs });
    expectValue(await small.put('a', '1', 1_000));
    expectValue(await small.count('b', 10_000));
    expectValue(await small.addMember('c', 'x', 10_000));
    expectValue(await small.addMember('c', 'y', 10_000));
    const full = { ok: false, detail: 'the memory store is full: it has 4 entries' };
    assert.deepEqual(await small.put('d', '1', 1_000), full);
    assert.deepEqual(await small.count('d', 1_000), full);
    assert.deepEqual(await small.addMember('c', 'z', 1_000), full);
    assert.deepEqual(await small.compareAndSet('d', undefined, '1', 1_000), full);
    // What is there can be changed.
    expectValue(await small.put('a', '2', 1_000));
    assert.equal(expectValue(await small.count('b', 10_000)), 2);
    expectValue(await small.addMember('c', 'x', 10_000));
    nowMs += 1_000;
    expectValue(await small.put('d', '1', 1_000));
    expectValue(await small.removeMember('c', 'x'));
    expectValue(await small.put('e', '1', 1_000));
    assert.equal((await small.put('f', '1', 1_000)).ok, false);
    nowMs += 10_000;
    for (const key of ['g', 'h', 'i', 'j']) expectValue(await small.put(key, '1', 1_000));
  });

  test('counts members of a set that expired and began anew', async () => {
    const small = createMemoryStore({ maxEntries: 2, now: () => nowMs });
    expectValue(await small.addMember('a', 'x', 10));
    nowMs += 10;
    expectValue(await small.addMember('a', 'y', 1_000));
    expectValue(await small.put('b', '1', 1_000));
    assert.equal((await small.put('c', '1', 1_000)).ok, false);
  });

  test('is of this process', () => {
    assert.deepEqual([store.kind, store.reach], ['memory', 'process']);
  });
});
