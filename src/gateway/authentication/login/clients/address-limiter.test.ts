import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAddressLimiter } from './address-limiter.ts';

test('a minute has so many registrations, and they come back bit by bit', () => {
  const limiter = createAddressLimiter();
  for (let count = 0; count < 3; count += 1) assert.equal(limiter.take('192.0.2.1', 3, 0), 0);
  assert.equal(limiter.take('192.0.2.1', 3, 0), 20);
  assert.equal(limiter.take('192.0.2.1', 3, 15_000), 5);
  assert.equal(limiter.take('192.0.2.1', 3, 20_000), 0);
  assert.equal(limiter.take('192.0.2.1', 3, 20_000), 20);
  for (let count = 0; count < 3; count += 1)
    assert.equal(limiter.take('192.0.2.1', 3, 600_000), 0, 'the bucket is full, and not fuller');
  assert.notEqual(limiter.take('192.0.2.1', 3, 600_000), 0);
});

test('each address for itself; a /64 of IPv6 is one, and so is a mapped IPv4 address', () => {
  const limiter = createAddressLimiter();
  assert.equal(limiter.take('192.0.2.1', 1, 0), 0);
  assert.equal(limiter.take('192.0.2.2', 1, 0), 0);
  assert.notEqual(limiter.take('::ffff:192.0.2.1', 1, 0), 0);
  assert.equal(limiter.take('2001:db8:1:2::1', 1, 0), 0);
  assert.notEqual(limiter.take('2001:db8:1:2:ffff::9', 1, 0), 0);
  assert.equal(limiter.take('2001:db8:1:3::1', 1, 0), 0);
  assert.equal(limiter.take('fe80::1%eth0', 1, 0), 0);
  assert.equal(limiter.take('::1', 1, 0), 0);
});

test('a clock that goes back gives nothing away and takes nothing', () => {
  const limiter = createAddressLimiter();
  assert.equal(limiter.take('a', 1, 60_000), 0);
  assert.notEqual(limiter.take('a', 1, 0), 0);
});

test('memory is bounded: those that asked last are remembered', () => {
  const limiter = createAddressLimiter();
  assert.equal(limiter.take('192.0.2.1', 1, 0), 0);
  for (let index = 0; index < 10_000; index += 1)
    limiter.take(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, 1, 0);
  assert.equal(limiter.take('192.0.2.1', 1, 0), 0, 'forgotten');
  assert.notEqual(limiter.take('10.0.39.15', 1, 0), 0, 'remembered');
});
