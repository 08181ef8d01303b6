// What every driver of the store must do, as tests that run over each of them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Store, StoreResult } from '../store.ts';

/** A driver under test. Keys are random, so that a store can be used for all tests. */
export interface StoreUnderTest {
  readonly name: string;
  readonly open: () => Promise<Store>;
  /** Lets so much time pass for the store. */
  readonly pass: (ms: number) => Promise<void>;
  /** The lifetime of entries that end while a test waits; 60 when absent. Where time is real it must be long against a few calls, and tests wait together. */
  readonly realShortMs?: number;
}

/** Long against what a test takes, for entries that must not end in it. */
const longMs = 600_000;

/** The value; a failure of the store fails the test. */
export function expectValue<T>(result: StoreResult<T>): T {
  assert.ok(result.ok, result.ok ? '' : result.detail);
  return result.value;
}

/** Declares the tests. */
export function testStore({ name, open, pass, realShortMs }: StoreUnderTest): void {
  const shortMs = realShortMs ?? 60;
  describe(`the store contract: ${name}`, { concurrency: realShortMs !== undefined }, () => {
    const withStore = (title: string, run: (store: Store, key: string) => Promise<void>): void =>
      void test(title, async () => {
        const store = await open();
        await run(store, randomUUID());
      });

    withStore('a value is there until its lifetime ends', async (store, key) => {
      assert.equal(expectValue(await store.get(key)), undefined);
      expectValue(await store.put(key, 'a', shortMs));
      assert.equal(expectValue(await store.get(key)), 'a');
      await pass(shortMs);
      assert.equal(expectValue(await store.get(key)), undefined);
      assert.equal(expectValue(await store.take(key)), undefined);
    });

    withStore('a second value replaces the first, with its lifetime', async (store, key) => {
      expectValue(await store.put(key, 'a', shortMs));
      expectValue(await store.put(key, 'b', longMs));
      await pass(shortMs);
      assert.equal(expectValue(await store.get(key)), 'b');
    });

    withStore('any text is a value', async (store, key) => {
      for (const value of ['', ' ', '0', 'null', 'é€😀', "'; DROP TABLE entry; --", '\r\n$5\r\n', 'x'.repeat(50_000)]) {
        expectValue(await store.put(key, value, longMs));
        assert.equal(expectValue(await store.get(key)), value);
        assert.equal(expectValue(await store.take(key)), value);
      }
    });

    withStore('a lifetime is rounded up, and one that has passed is short', async (store, key) => {
      for (const lifetime of [0.2, 0, -5]) {
        expectValue(await store.put(key, 'a', lifetime));
        await pass(2);
        assert.equal(expectValue(await store.get(key)), undefined);
      }
      await assert.rejects(store.put(key, 'a', Number.NaN), RangeError);
    });

    withStore('of many who take a value one gets it', async (store, key) => {
      expectValue(await store.put(key, 'a', longMs));
      const taken = await Promise.all(Array.from({ length: 20 }, () => store.take(key)));
      assert.deepEqual(
        taken.map(expectValue).filter((value) => value !== undefined),
        ['a'],
      );
      assert.equal(expectValue(await store.get(key)), undefined);
    });

    withStore('a counter counts everybody, and starts over after its window', async (store, key) => {
      const counts = await Promise.all(Array.from({ length: 20 }, () => store.count(key, longMs)));
      assert.deepEqual(
        counts.map(expectValue).toSorted((left, right) => left - right),
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
      const short = `${key}-short`;
      assert.equal(expectValue(await store.count(short, shortMs)), 1);
      await pass(shortMs / 2);
      // The window began with the first count.
      expectValue(await store.count(short, longMs));
      await pass(shortMs / 2);
      assert.equal(expectValue(await store.count(short, longMs)), 1);
      assert.equal(expectValue(await store.count(short, longMs)), 2);
    });

    withStore('values, counters and sets do not meet', async (store, key) => {
      expectValue(await store.put(key, 'a', longMs));
      assert.equal(expectValue(await store.count(key, longMs)), 1);
      expectValue(await store.addMember(key, 'm', longMs));
      assert.equal(expectValue(await store.get(key)), 'a');
      assert.deepEqual(expectValue(await store.listMembers(key, 10)), ['m']);
    });

    withStore('compareAndSet writes only over what is expected', async (store, key) => {
      const set = async (expected: string | undefined, next: string | undefined, lifetime = longMs): Promise<boolean> =>
        expectValue(await store.compareAndSet(key, expected, next, lifetime));
      assert.equal(await set('a', 'b'), false);
      assert.equal(await set(undefined, undefined), true);
      assert.equal(await set(undefined, 'a'), true);
      assert.equal(await set(undefined, 'b'), false);
      assert.equal(await set(undefined, undefined), false);
      assert.equal(await set('b', 'c'), false);
      assert.equal(expectValue(await store.get(key)), 'a');
      assert.equal(await set('a', 'b', shortMs), true);
      assert.equal(expectValue(await store.get(key)), 'b');
      await pass(shortMs);
      assert.equal(await set('b', 'c'), false);
      assert.equal(await set(undefined, ''), true);
      // An empty text is something.
      assert.equal(await set(undefined, 'd'), false);
      assert.equal(await set('', 'e'), true);
      assert.equal(await set('x', undefined), false);
      assert.equal(await set('e', undefined), true);
      assert.equal(expectValue(await store.get(key)), undefined);
    });

    withStore('of many who set a value over the same one, one does', async (store, key) => {
      for (const before of [undefined, 'a']) {
        if (before !== undefined) expectValue(await store.put(key, before, longMs));
        const won = await Promise.all(
          Array.from({ length: 20 }, (_, index) => store.compareAndSet(key, before, `${index}`, longMs)),
        );
        const winners = won.map(expectValue).flatMap((value, index) => (value ? [`${index}`] : []));
        assert.equal(winners.length, 1);
        assert.equal(expectValue(await store.get(key)), winners[0]);
        expectValue(await store.take(key));
      }
    });

    withStore('a set has each member once, until the last addition has expired', async (store, key) => {
      const list = async (limit = 100): Promise<readonly string[]> =>
        expectValue(await store.listMembers(key, limit)).toSorted();
      assert.deepEqual(await list(), []);
      for (const member of ['a', 'b', 'a', 'c']) expectValue(await store.addMember(key, member, longMs));
      assert.deepEqual(await list(), ['a', 'b', 'c']);
      assert.equal((await list(2)).length, 2);
      expectValue(await store.removeMember(key, 'b'));
      expectValue(await store.removeMember(key, 'never there'));
      assert.deepEqual(await list(), ['a', 'c']);
      expectValue(await store.addMember(key, 'd', shortMs));
      await pass(shortMs);
      assert.deepEqual(await list(), []);
      // What has ended does not come back.
      expectValue(await store.addMember(key, 'e', longMs));
      assert.deepEqual(await list(), ['e']);
      expectValue(await store.removeMember(key, 'e'));
      assert.deepEqual(await list(), []);
    });

    withStore('a probe says that it answers', async (store) => {
      expectValue(await store.probe());
    });
  });
}
