import assert from 'node:assert/strict';
import { test } from 'node:test';
import { divideLimit } from './divide-limits.ts';

test('shares add up to the limit', () => {
  for (const [limit, count] of [
    [20_000, 2],
    [7, 3],
    [64, 64],
    [100, 1],
    [0, 4],
  ] as const) {
    const shares = Array.from({ length: count }, (_, index) => divideLimit(limit, count, index));
    assert.equal(
      shares.reduce((sum, share) => sum + share, 0),
      limit,
    );
    assert.ok(Math.max(...shares) - Math.min(...shares) <= 1);
  }
});

test('nobody is left with nothing where there is something', () => {
  assert.deepEqual(
    [0, 1, 2].map((index) => divideLimit(2, 3, index)),
    [1, 1, 1],
  );
});
