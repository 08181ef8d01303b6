import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EndpointHealth } from './outlier.ts';

function createHealth(): { health: EndpointHealth; advance: (milliseconds: number) => void } {
  let now = 1_000;
  const health = new EndpointHealth({ ejectAfterFailures: 3, ejectionTimeMs: 100, ejectionTimeMaxMs: 350 }, () => now);
  return { health, advance: (milliseconds) => (now += milliseconds) };
}

test('failures in a row eject an endpoint, a success in between does not let them add up', () => {
  const { health } = createHealth();
  assert.deepEqual([health.recordFailure(), health.recordFailure()], [0, 0]);
  health.recordSuccess();
  assert.deepEqual([health.recordFailure(), health.recordFailure()], [0, 0]);
  assert.ok(health.isAvailable);
  assert.equal(health.recordFailure(), 100);
  assert.ok(!health.isAvailable);
});

test('it is tried again after its time, by one request at a time', () => {
  const { health, advance } = createHealth();
  for (let i = 0; i < 3; i++) health.recordFailure();
  advance(99);
  assert.ok(!health.isAvailable);
  advance(1);
  assert.ok(health.isAvailable);
  health.recordAttempt();
  assert.ok(!health.isAvailable);
  health.recordSuccess();
  assert.ok(health.isAvailable);
});

test('a test whose outcome never came does not close it for good', () => {
  const { health, advance } = createHealth();
  for (let i = 0; i < 3; i++) health.recordFailure();
  advance(100);
  health.recordAttempt();
  advance(100);
  assert.ok(health.isAvailable);
});

test('the time doubles with every failed test, up to a bound, and starts over after a success', () => {
  const { health, advance } = createHealth();
  health.recordFailure();
  health.recordFailure();
  for (const expected of [100, 200, 350, 350]) {
    assert.equal(health.recordFailure(), expected);
    // Requests that were on their way fail as well; they do not lengthen it.
    assert.equal(health.recordFailure(), 0);
    advance(expected - 1);
    assert.ok(!health.isAvailable);
    advance(1);
    assert.ok(health.isAvailable);
  }
  health.recordSuccess();
  assert.deepEqual([health.recordFailure(), health.recordFailure(), health.recordFailure()], [0, 0, 100]);
});

test('0 failures means never', () => {
  const health = new EndpointHealth({ ejectAfterFailures: 0, ejectionTimeMs: 100, ejectionTimeMaxMs: 100 }, () => 0);
  for (let i = 0; i < 100; i++) assert.equal(health.recordFailure(), 0);
  assert.ok(health.isAvailable);
});
