import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { QuietWatch } from './client-quiet.ts';

function start() {
  const clock = createManualClock();
  const seen = { heardAt: clock.now(), quiet: 0 };
  const watch = new QuietWatch({
    clock,
    quietMs: 1_000,
    readSilentMs: () => clock.now() - seen.heardAt,
    onQuiet: () => (seen.quiet += 1),
  });
  watch.start();
  return { clock, watch, seen };
}

test('silence is noticed, once', async () => {
  const { clock, seen } = start();
  await clock.advance(999);
  assert.equal(seen.quiet, 0);
  await clock.advance(1);
  assert.equal(seen.quiet, 1);
  await clock.advance(10_000);
  assert.equal(seen.quiet, 1);
});

test('whatever comes counts, for as long as it comes', async () => {
  const { clock, seen } = start();
  for (let piece = 0; piece < 100; piece += 1) {
    await clock.advance(900);
    seen.heardAt = clock.now();
  }
  assert.equal(seen.quiet, 0);
  await clock.advance(1_000);
  assert.equal(seen.quiet, 1);
});

test('nothing is noticed any more after the end', async () => {
  const { clock, watch, seen } = start();
  watch.stop();
  await clock.advance(10_000);
  assert.equal(seen.quiet, 0);
  watch.start();
  await clock.advance(10_000);
  assert.equal(seen.quiet, 1);
});
