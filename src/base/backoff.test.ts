import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createBackoff, findBackoffDelay, spread } from './backoff.ts';

test('waits grow to a limit, begin again after a success, and are a random part of it', () => {
  let part = 1;
  const backoff = createBackoff({ firstMs: 100, maxMs: 1_000, random: () => part });
  assert.deepEqual(
    Array.from({ length: 6 }, () => backoff.next()),
    [100, 200, 400, 800, 1_000, 1_000],
  );
  assert.equal(backoff.tries, 6);
  backoff.reset();
  assert.equal(backoff.tries, 0);
  assert.equal(backoff.next(), 100);
  part = 0.25;
  assert.equal(backoff.next(), 50);
  part = 0;
  assert.equal(backoff.next(), 0);
});

test('what a server asks for is waited out, within reason', () => {
  const backoff = createBackoff({ firstMs: 100, maxMs: 1_000, random: () => 0.5 });
  assert.equal(backoff.next(7), 8_750);
  assert.equal(backoff.next(100_000), 150_000);
  assert.equal(backoff.tries, 2);
});

test('the waits never overflow', () => {
  const backoff = createBackoff({ firstMs: 100, maxMs: 1_000, random: () => 1 });
  for (let index = 0; index < 5_000; index += 1) backoff.next();
  assert.equal(backoff.next(), 1_000);
});

for (const [name, failures, times, expected] of [
  ['the first failure waits for the first delay', 0, { firstMs: 100, maxMs: 1_000 }, 100],
  ['each further one doubles it', 3, { firstMs: 100, maxMs: 1_000 }, 800],
  ['up to the limit', 4, { firstMs: 100, maxMs: 1_000 }, 1_000],
  ['which holds for any number', Number.MAX_SAFE_INTEGER, { firstMs: 100, maxMs: 1_000 }, 1_000],
  ['for an infinite one', Number.POSITIVE_INFINITY, { firstMs: 100, maxMs: 1_000 }, 1_000],
  ['and for the first delay', 0, { firstMs: 5_000, maxMs: 1_000 }, 1_000],
  ['no first delay stays none', 5_000, { firstMs: 0, maxMs: 1_000 }, 0],
  ['full jitter can leave nothing', 2, { firstMs: 100, maxMs: 1_000, random: () => 0 }, 0],
  ['and is the default', 2, { firstMs: 100, maxMs: 1_000, random: () => 0.5 }, 200],
  ['jitter comes after the limit', 9, { firstMs: 100, maxMs: 1_000, random: () => 0, jitter: [0.5, 1] }, 500],
  ['and can shorten as chance grows', 0, { firstMs: 100, maxMs: 1_000, random: () => 0.5, jitter: [1, 0.8] }, 90],
  ['without chance there is no jitter', 0, { firstMs: 100, maxMs: 1_000, jitter: [0, 1] }, 100],
] as const) {
  test(`the delay: ${name}`, () => assert.equal(findBackoffDelay(failures, times), expected));
}

test('the delay stays within its jitter, and never shrinks with more failures', () => {
  const part = fc.double({ min: 0, max: 1, noNaN: true });
  const timeMs = fc.nat(1_000_000);
  fc.assert(
    fc.property(fc.nat(), timeMs, timeMs, part, part, part, (failures, firstMs, maxMs, atZero, atOne, chance) => {
      const options = { firstMs, maxMs, jitter: [atZero, atOne], random: () => chance } as const;
      const wholeMs = findBackoffDelay(failures, { firstMs, maxMs });
      const delayMs = findBackoffDelay(failures, options);
      assert.ok(wholeMs <= maxMs && delayMs <= findBackoffDelay(failures + 1, options));
      const slackMs = wholeMs * Number.EPSILON * 4;
      assert.ok(delayMs >= wholeMs * Math.min(atZero, atOne) - slackMs, 'not below');
      assert.ok(delayMs <= wholeMs * Math.max(atZero, atOne) + slackMs, 'not above');
    }),
  );
});

test('a time is spread over a range', () => {
  assert.deepEqual(
    [0, 0.5, 1].map((chance) => spread(1_000, [0.5, 1], () => chance)),
    [500, 750, 1_000],
  );
});

test('without chance, what a server asks for is waited exactly', () => {
  const backoff = createBackoff({ firstMs: 100, maxMs: 1_000 });
  assert.deepEqual([backoff.next(7), backoff.next(100_000), backoff.next()], [7_000, 120_000, 400]);
});
