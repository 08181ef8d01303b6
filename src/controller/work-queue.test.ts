// Work by key: what runs when, and what wins.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { waitFor } from '../../test/kit/wait-for.ts';
import { type WorkOutcome, WorkQueue } from './work-queue.ts';

interface Run {
  readonly key: string;
  readonly failures: number;
  readonly signal: AbortSignal;
  end(outcome: WorkOutcome): Promise<void>;
  fail(error: Error): Promise<void>;
}

function createQueue(concurrency: number) {
  const clock = createManualClock();
  const runs: Run[] = [];
  const mistakes: string[] = [];
  const queue = new WorkQueue({
    concurrency,
    clock,
    random: () => 0,
    run: (key, failures, signal) =>
      new Promise((resolve, reject) => {
        runs.push({
          key,
          failures,
          signal,
          end: async (outcome) => {
            resolve(outcome);
            await clock.advance(0);
          },
          fail: async (error) => {
            reject(error);
            await clock.advance(0);
          },
        });
      }),
    onBug: (key) => void mistakes.push(key),
  });
  return { clock, runs, mistakes, queue };
}

const done = { done: true } as const;

describe('work queue', () => {
  test('works on several keys at once, in order, and never on one twice at a time', async () => {
    const { queue, runs } = createQueue(2);
    for (const key of ['a', 'b', 'a', 'c']) queue.add(key);
    assert.deepEqual(
      runs.map(({ key }) => key),
      ['a', 'b'],
    );
    assert.equal(queue.size, 3);
    await runs[0]!.end(done);
    assert.deepEqual(
      runs.map(({ key }) => key),
      ['a', 'b', 'c'],
    );
  });

  test('what is added while it runs is done once more', async () => {
    const { queue, runs } = createQueue(1);
    queue.add('a');
    queue.add('a');
    queue.add('a');
    await runs[0]!.end(done);
    assert.equal(runs.length, 2);
    await runs[1]!.end(done);
    assert.equal(runs.length, 2);
    assert.equal(queue.size, 0);
  });

  test('a failure is tried again after its wait, others go on, and adding does not shorten it', async () => {
    const { queue, runs, clock } = createQueue(1);
    queue.add('a');
    queue.add('b');
    await runs[0]!.end({ done: false, afterMs: 100 });
    assert.equal(runs[1]!.key, 'b');
    await runs[1]!.end(done);
    queue.add('a');
    await clock.advance(99);
    assert.equal(runs.length, 2);
    await clock.advance(1);
    assert.deepEqual([runs[2]!.key, runs[2]!.failures], ['a', 1]);
    await runs[2]!.end(done);
    assert.equal(queue.size, 0);
  });

  test('clearing aborts, forgets, and waits for what was going on', async () => {
    const { queue, runs, clock } = createQueue(1);
    queue.add('a');
    queue.add('b');
    let cleared = false;
    const clearing = queue.clear().then(() => (cleared = true));
    assert.equal(runs[0]!.signal.aborted, true);
    await clock.advance(0);
    assert.equal(cleared, false);
    await runs[0]!.end({ done: false, afterMs: 1 });
    await clearing;
    await clock.advance(1_000);
    assert.equal(runs.length, 1);
    assert.equal(queue.size, 0);
    queue.add('c');
    assert.equal(runs[1]!.signal.aborted, false);
  });

  test('a mistake is told and does not stop the queue', async () => {
    const { queue, runs, mistakes } = createQueue(1);
    queue.add('a');
    queue.add('b');
    await runs[0]!.fail(new Error('mistake'));
    assert.deepEqual(mistakes, ['a']);
    assert.equal(runs[1]!.key, 'b');
  });

  test('ten thousand keys go through', async () => {
    const clock = createManualClock();
    const seen: string[] = [];
    const queue = new WorkQueue({
      concurrency: 16,
      clock,
      random: () => 0,
      run: (key) => {
        seen.push(key);
        return Promise.resolve(done);
      },
      onBug: assert.fail,
    });
    const keys = Array.from({ length: 10_000 }, (_, index) => String(index));
    for (const key of keys) queue.add(key);
    const run = async (): Promise<boolean> => {
      await clock.advance(0);
      return queue.size === 0;
    };
    await waitFor('all were run', run, { intervalMs: 0 });
    assert.deepEqual(seen, keys);
  });
});
