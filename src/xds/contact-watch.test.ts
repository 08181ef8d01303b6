import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { ContactWatch } from './contact-watch.ts';

function start() {
  const clock = createManualClock();
  const seen = { bytes: 100, heard: 0, agoMs: -1 };
  const watch = new ContactWatch({
    clock,
    readUptime: () => clock.now(),
    lookMs: 500,
    onHeard(agoMs) {
      seen.heard += 1;
      seen.agoMs = agoMs;
    },
  });
  return { clock, watch, seen, begin: () => watch.begin(() => seen.bytes) };
}

test('it begins with contact, and only new bytes count after that: a half-open connection is silent', async () => {
  const { clock, seen, begin } = start();
  begin();
  assert.deepEqual([seen.heard, seen.agoMs], [1, 0]);
  await clock.advance(60_000);
  assert.equal(seen.heard, 1);
  seen.bytes += 17;
  await clock.advance(499);
  assert.equal(seen.heard, 1);
  await clock.advance(1);
  assert.deepEqual([seen.heard, seen.agoMs], [2, 500], 'by the latest at the previous look');
  await clock.advance(60_000);
  assert.equal(seen.heard, 2);
});

test('the next connection counts its own bytes, and nothing counts after the end', async () => {
  const { clock, watch, seen, begin } = start();
  begin();
  seen.bytes = 10;
  begin();
  assert.equal(seen.heard, 2);
  seen.bytes = 11;
  await clock.advance(500);
  assert.equal(seen.heard, 3);
  watch.end();
  seen.bytes = 12;
  await clock.advance(5_000);
  assert.equal(seen.heard, 3);
  assert.deepEqual(clock.pendingDelays(), []);
});

test('what waited in a buffer while the machine slept is as old as the sleep', async () => {
  const { clock, seen, begin } = start();
  begin();
  clock.leap(3_600_000);
  seen.bytes += 17;
  await clock.advance(0);
  assert.deepEqual([seen.heard, seen.agoMs], [2, 3_600_000]);
  seen.bytes += 17;
  await clock.advance(500);
  assert.deepEqual([seen.heard, seen.agoMs], [3, 500]);
});
