// When a round starts, and what a failed one does.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { Rounds } from './rounds.ts';

function createFixture(run: () => void | Promise<void> = () => {}) {
  const clock = createManualClock();
  const startedAt = clock.now();
  const starts: number[] = [];
  const errors: [unknown, number][] = [];
  const rounds = new Rounds({
    clock,
    quietMs: 10,
    mostMs: 1_000,
    run: () => {
      starts.push(clock.now() - startedAt);
      return run();
    },
    onError: (error, retryAfterMs) => void errors.push([error, retryAfterMs]),
  });
  return { clock, starts, errors, rounds };
}

describe('rounds', () => {
  test('requests that come together are one round, after a moment of quiet', async () => {
    const { clock, starts, rounds } = createFixture();
    rounds.request();
    await clock.advance(9);
    rounds.request();
    await clock.advance(9);
    assert.deepEqual(starts, []);
    await clock.advance(1);
    assert.deepEqual(starts, [19]);
    await clock.advance(60_000);
    assert.deepEqual(starts, [19]);
  });

  test('requests that never end do not put a round off for ever', async () => {
    const { clock, starts, rounds } = createFixture();
    for (let step = 0; step < 600; step += 1) {
      rounds.request();
      await clock.advance(5);
    }
    assert.equal(starts[0], 1_000);
    assert.ok(starts.length >= 2 && starts.length <= 3, `${starts.length} rounds in three seconds`);
  });

  test('rounds do not overlap; what was asked for during one is done after it', async () => {
    let end = (): void => {};
    const { clock, starts, rounds } = createFixture(() => new Promise((resolve) => (end = resolve)));
    rounds.request();
    await clock.advance(10);
    rounds.request();
    await clock.advance(5_000);
    assert.deepEqual(starts, [10]);
    end();
    await clock.advance(0);
    await clock.advance(10);
    assert.equal(starts.length, 2);
    const stopped = rounds.stop();
    end();
    await stopped;
  });

  test('a round that failed is tried again, later and later, and at once when something changed', async () => {
    const failure = new Error('mistake');
    const { clock, starts, errors, rounds } = createFixture(() => {
      throw failure;
    });
    rounds.request();
    await clock.advance(10);
    await clock.advance(1_000);
    await clock.advance(2_000);
    assert.deepEqual(starts, [10, 1_010, 3_010]);
    assert.deepEqual(
      errors.map(([, retryAfterMs]) => retryAfterMs),
      [1_000, 2_000, 4_000],
    );
    rounds.request();
    await clock.advance(10);
    assert.equal(starts.length, 4);
    await rounds.stop();
    await clock.advance(60_000);
    assert.equal(starts.length, 4);
  });

  test('a later round is replaced by an earlier one', async () => {
    const { clock, starts, rounds } = createFixture();
    rounds.requestIn(500);
    rounds.request();
    await clock.advance(10);
    assert.deepEqual(starts, [10]);
    rounds.requestIn(500);
    await clock.advance(499);
    assert.equal(starts.length, 1);
    await clock.advance(1);
    assert.equal(starts.length, 2);
  });
});
