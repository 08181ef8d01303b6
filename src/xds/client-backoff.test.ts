import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Backoff, defaultBackoffTimes } from './client-backoff.ts';

const accident = { isGraceful: false, isRefusal: false, lastedMs: 0 };
const goodbye = { isGraceful: true, isRefusal: false, lastedMs: 1 };
const refusal = { isGraceful: false, isRefusal: true, lastedMs: 0 };

const listDelays = (count: number, end: typeof accident, random: number): number[] => {
  const backoff = new Backoff(defaultBackoffTimes, () => random);
  return Array.from({ length: count }, () => backoff.next(end));
};

describe('the delay before the next try', () => {
  test('grows to 5 s at most, all of it by chance', () => {
    assert.deepEqual(listDelays(8, accident, 1), [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000]);
    assert.deepEqual(listDelays(3, accident, 0), [0, 0, 0]);
  });

  test('is none after a good-bye, unless good-byes are all there is', () => {
    assert.deepEqual(listDelays(3, goodbye, 1), [0, 500, 1_000]);
  });

  test('is longer for those who are refused, and never nothing', () => {
    assert.deepEqual(listDelays(7, refusal, 1), [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    assert.deepEqual(listDelays(2, refusal, 0), [500, 1_000]);
  });

  test('starts over after a connection that lasted', () => {
    const backoff = new Backoff(defaultBackoffTimes, () => 1);
    backoff.next(accident);
    backoff.next(accident);
    assert.equal(backoff.next({ ...accident, lastedMs: 5_000 }), 250);
    assert.equal(backoff.next({ ...goodbye, lastedMs: 60_000 }), 0);
    assert.equal(backoff.next({ ...goodbye, lastedMs: 60_000 }), 0);
  });

  test('is bounded, whatever happens', () => {
    const end = fc.record({ isGraceful: fc.boolean(), isRefusal: fc.boolean(), lastedMs: fc.nat(10_000) });
    fc.assert(
      fc.property(fc.array(end), fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (ends, random) => {
        const backoff = new Backoff(defaultBackoffTimes, () => random);
        for (const each of ends) {
          const delay = backoff.next(each);
          assert.ok(delay >= 0 && delay <= (each.isRefusal ? 30_000 : 5_000));
        }
      }),
    );
  });
});
