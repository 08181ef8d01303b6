import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBackoff } from './backoff.ts';

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
