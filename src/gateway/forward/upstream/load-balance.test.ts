import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { pickLeastOfTwo } from './load-balance.ts';

test('nothing to choose from, and no choice', () => {
  assert.equal(pickLeastOfTwo([], Math.random), undefined);
  const only = { outstanding: 9 };
  assert.equal(pickLeastOfTwo([only], Math.random), only);
});

test('of two, always the one with less to do', () => {
  const busy = { outstanding: 3 };
  const free = { outstanding: 2 };
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (a, b) => {
        const numbers = [a, b];
        assert.equal(
          pickLeastOfTwo([busy, free], () => numbers.shift()!),
          free,
        );
      },
    ),
  );
});

test('two different ones are compared, and the busiest of all is never chosen', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 20 }),
      fc.nat(19),
      fc.infiniteStream(fc.double({ min: 0, max: 0.999_999, noNaN: true })),
      (count, busiest, numbers) => {
        const candidates = Array.from({ length: count }, (_, i) => ({ outstanding: i === busiest % count ? 10 : 1 }));
        const picked = pickLeastOfTwo(candidates, () => numbers.next().value!);
        assert.equal(picked?.outstanding, 1);
      },
    ),
  );
});

test('load spreads evenly', () => {
  const candidates = Array.from({ length: 5 }, () => ({ outstanding: 0 }));
  let seed = 1;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  for (let i = 0; i < 5_000; i++) pickLeastOfTwo(candidates, random)!.outstanding += 1;
  for (const { outstanding } of candidates) assert.ok(Math.abs(outstanding - 1_000) < 10, String(outstanding));
});
