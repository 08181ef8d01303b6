import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { StalenessWatch } from './staleness.ts';

function start({ maxMs = 10_000, silentMs = 0 }: { maxMs?: number | undefined; silentMs?: number } = {}) {
  const clock = createManualClock();
  const changes: string[] = [];
  /** The machine may have slept: its uptime goes on, timers do not. */
  const machine = { asleepMs: 0 };
  const startedAt = clock.now();
  const readUptime = (): number => clock.now() - startedAt + machine.asleepMs;
  const onChange = (isStale: boolean): void => void changes.push(`${isStale ? 'stale' : 'fresh'} at ${readUptime()}`);
  const watch = new StalenessWatch({ clock, readUptime, maxMs, silentMs, onChange });
  watch.start();
  return { clock, watch, changes, machine };
}

describe('a gateway', () => {
  test('is stale after the silence, not before, and is told so once', async () => {
    const { clock, watch, changes } = start();
    await clock.advance(9_999);
    assert.deepEqual(changes, []);
    assert.equal(watch.isStale, false);
    await clock.advance(1);
    assert.deepEqual(changes, ['stale at 10000']);
    await clock.advance(3_600_000);
    assert.deepEqual(changes, ['stale at 10000']);
    assert.equal(watch.silentMs, 3_610_000);
  });

  test('that hears again is fresh at once, and stale again after another silence', async () => {
    const { clock, watch, changes } = start();
    await clock.advance(15_000);
    watch.heard(0);
    assert.equal(watch.silentMs, 0);
    await clock.advance(9_500);
    watch.heard(0);
    await clock.advance(10_000);
    assert.deepEqual(changes, ['stale at 10000', 'fresh at 15000', 'stale at 34500']);
  });

  test('that hears all the time is never stale', async () => {
    const { clock, watch, changes } = start();
    for (let second = 0; second < 1_000; second += 1) {
      await clock.advance(9_000);
      watch.heard(0);
    }
    assert.deepEqual(changes, []);
  });

  test('without a limit is never stale, and still knows how long it was silent', async () => {
    const clock = createManualClock();
    const startedAt = clock.now();
    const watch = new StalenessWatch({
      clock,
      readUptime: () => clock.now() - startedAt,
      maxMs: undefined,
      silentMs: 5,
      onChange: () => assert.fail(),
    });
    watch.start();
    await clock.advance(86_400_000);
    assert.deepEqual([watch.isStale, watch.silentMs, clock.pendingDelays()], [false, 86_400_005, []]);
  });

  test('that hears what was said long ago stays stale', async () => {
    const { clock, watch, changes } = start();
    await clock.advance(20_000);
    watch.heard(10_000);
    assert.deepEqual([watch.isStale, watch.silentMs], [true, 10_000]);
    watch.heard(9_000);
    watch.heard(9_500);
    assert.deepEqual([watch.isStale, watch.silentMs], [false, 9_000]);
    assert.deepEqual(changes, ['stale at 10000', 'fresh at 20000']);
  });

  test('is told nothing any more after the end', async () => {
    const { clock, watch, changes } = start();
    watch.stop();
    await clock.advance(60_000);
    assert.deepEqual(changes, []);
  });
});

describe('the silence before the start', () => {
  test('counts', async () => {
    const { clock, changes } = start({ silentMs: 7_000 });
    await clock.advance(2_999);
    assert.deepEqual(changes, []);
    await clock.advance(1);
    assert.deepEqual(changes, ['stale at 3000']);
  });

  test('that was too long, or is not known, makes it stale from the first moment, until it hears', () => {
    for (const silentMs of [10_000, Infinity]) {
      const { watch, changes } = start({ silentMs });
      assert.equal(watch.isStale, true);
      assert.equal(watch.silentMs, silentMs);
      watch.heard(0);
      assert.deepEqual(changes, ['stale at 0', 'fresh at 0']);
    }
  });
});

describe('clocks', () => {
  test('the sleep of a machine counts, although no timer runs', async () => {
    const { clock, changes, machine } = start({ maxMs: 3_600_000 });
    await clock.advance(1_000);
    machine.asleepMs = 7_200_000;
    await clock.advance(1_000);
    assert.deepEqual(changes, ['stale at 7202000']);
  });
});
