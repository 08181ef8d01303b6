import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createElapsedTime } from './elapsed-time.ts';

function start() {
  const clocks = { wall: 1_000_000, monotonic: 50 };
  const elapsed = createElapsedTime(
    () => clocks.wall,
    () => clocks.monotonic,
  );
  const begin = elapsed();
  const pass = (wall: number, monotonic: number): number => {
    clocks.wall += wall;
    clocks.monotonic += monotonic;
    return elapsed() - begin;
  };
  return { pass };
}

test('both clocks go: so does it', () => {
  const { pass } = start();
  assert.equal(pass(100, 100), 100);
  // One counts whole milliseconds, the other does not.
  assert.equal(pass(0, 0.4), 100.4);
  assert.equal(pass(1, 0.6), 101);
});

test('a machine that was suspended: the time counts', () => {
  const { pass } = start();
  assert.equal(pass(60_000, 10), 60_000);
  assert.equal(pass(10, 10), 60_010);
});

test('a clock that is set back takes nothing away, nor hides what comes after', () => {
  const { pass } = start();
  assert.equal(pass(-3_600_000, 10), 10);
  assert.equal(pass(60_000, 10), 60_010);
  assert.equal(pass(-60_000, 10), 60_020);
});

test('a clock that is adjusted little by little counts for nothing', () => {
  const { pass } = start();
  for (let second = 0; second < 1_000; second += 1) pass(1_001, 1_000);
  assert.equal(pass(0, 0), 1_000_000);
});
