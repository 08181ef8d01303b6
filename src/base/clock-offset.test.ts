import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOffset, readClockOffset } from './clock-offset.ts';

const now = Date.parse('2026-08-01T12:00:00Z');

test('the Date of an answer tells how far the clock is off; Age is added, and nonsense tells nothing', () => {
  assert.equal(readClockOffset('Sat, 01 Aug 2026 12:10:00 GMT', undefined, now), 600_000);
  assert.equal(readClockOffset('Sat, 01 Aug 2026 11:59:00 GMT', undefined, now), -60_000);
  assert.equal(readClockOffset('Sat, 01 Aug 2026 11:59:00 GMT', '60', now), 0);
  assert.equal(readClockOffset('Sat, 01 Aug 2026 11:59:00 GMT', '-60', now), -60_000);
  assert.equal(readClockOffset('yesterday', undefined, now), undefined);
  assert.equal(readClockOffset(null, null, now), undefined);
});

test('offsets are shown in the unit that fits', () => {
  assert.deepEqual([-45_000, 119_000, 600_000, 7_199_000, 10_800_000].map(describeOffset), [
    '45 s',
    '119 s',
    '10 min',
    '2 h',
    '3 h',
  ]);
});
