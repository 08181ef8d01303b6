import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Watchable } from './watchable.ts';

describe('Watchable', () => {
  test('gives its value and tells subscribers about changes, with the value before', () => {
    const watchable = new Watchable(1);
    const seen: [number, number][] = [];
    watchable.subscribe((value, previous) => seen.push([value, previous]));
    assert.equal(watchable.get(), 1);
    assert.equal(watchable.set(2), true);
    assert.equal(watchable.set(3), true);
    assert.equal(watchable.get(), 3);
    assert.deepEqual(seen, [
      [2, 1],
      [3, 2],
    ]);
  });

  test('an equal value is no change and keeps the old object', () => {
    const first = { a: [1] };
    const watchable = new Watchable<{ a: number[] }>(first, isDeepStrictEqual);
    let calls = 0;
    watchable.subscribe(() => calls++);
    assert.equal(watchable.set({ a: [1] }), false);
    assert.equal(watchable.get(), first);
    assert.equal(calls, 0);
    assert.equal(watchable.set({ a: [2] }), true);
    assert.equal(calls, 1);
  });

  test('each subscription ends on its own, even of the same function', () => {
    const watchable = new Watchable(0);
    let calls = 0;
    const listener = (): void => {
      calls++;
    };
    const endFirst = watchable.subscribe(listener);
    watchable.subscribe(listener);
    watchable.set(1);
    assert.equal(calls, 2);
    endFirst();
    endFirst();
    watchable.set(2);
    assert.equal(calls, 3);
  });

  test('a listener that ends another subscription during delivery is obeyed at once', () => {
    const watchable = new Watchable(0);
    const seen: string[] = [];
    let endSecond: (() => void) | undefined;
    watchable.subscribe(() => {
      seen.push('first');
      endSecond?.();
    });
    endSecond = watchable.subscribe(() => seen.push('second'));
    watchable.set(1);
    assert.deepEqual(seen, ['first']);
  });

  test('a change made by a listener reaches every listener after the change it reacted to', () => {
    const watchable = new Watchable(0);
    const seen: number[] = [];
    watchable.subscribe((value) => {
      if (value === 1) watchable.set(2);
    });
    watchable.subscribe((value) => seen.push(value));
    watchable.set(1);
    assert.deepEqual(seen, [1, 2]);
  });

  test('a listener that throws keeps nobody else from hearing, and the caller learns of it', () => {
    const watchable = new Watchable(0);
    const seen: number[] = [];
    watchable.subscribe(() => {
      throw new Error('first');
    });
    watchable.subscribe((value) => seen.push(value));
    assert.throws(() => watchable.set(1), /first/);
    assert.deepEqual(seen, [1]);
    watchable.subscribe(() => {
      throw new Error('second');
    });
    assert.throws(() => watchable.set(2), AggregateError);
    assert.deepEqual(seen, [1, 2]);
    assert.equal(watchable.get(), 2);
  });
});
