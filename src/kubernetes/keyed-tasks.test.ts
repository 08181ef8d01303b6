// Tasks by key: never twice at once, as many keys as there is room for, and the sooner of two times.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock, type ManualClock } from '../../test/kit/manual-clock.ts';
import { KeyedTasks } from './keyed-tasks.ts';

interface Fixture {
  readonly clock: ManualClock;
  readonly tasks: KeyedTasks;
  /** `+ key` when it starts, `- key` when it ends. */
  readonly told: string[];
  /** Ends the oldest run of the key. */
  readonly finish: (key: string, waitMs?: number) => Promise<void>;
}

function startTasks(concurrency: number): Fixture {
  const clock = createManualClock();
  const told: string[] = [];
  const open: { readonly key: string; readonly end: (waitMs: number | undefined) => void }[] = [];
  const tasks = new KeyedTasks({
    concurrency,
    clock,
    async run(key, signal) {
      told.push(`+ ${key}`);
      const waitMs = await new Promise<number | undefined>((resolve) => {
        open.push({ key, end: resolve });
        signal.addEventListener('abort', () => resolve(undefined), { once: true });
      });
      told.push(`- ${key}`);
      return waitMs;
    },
  });
  return {
    clock,
    tasks,
    told,
    async finish(key, waitMs) {
      const at = open.findIndex((run) => run.key === key);
      open.splice(at, 1)[0]?.end(waitMs);
      await clock.advance(0);
    },
  };
}

test('keys run beside each other, up to the limit, and none twice at once', async () => {
  const { tasks, told, finish } = startTasks(2);
  for (const key of ['a', 'b', 'c', 'a']) tasks.schedule(key);
  assert.deepEqual(told, ['+ a', '+ b']);
  await finish('b');
  assert.deepEqual(told, ['+ a', '+ b', '- b', '+ c']);
  await finish('a');
  assert.deepEqual(told.slice(4), ['- a', '+ a'], 'it was asked for while it ran');
  await finish('a');
  await finish('c');
  assert.deepEqual(told.slice(6), ['- a', '- c']);
});

test('a key waits by itself, and is woken by whoever wants it sooner', async () => {
  const { clock, tasks, told, finish } = startTasks(1);
  tasks.schedule('a');
  await finish('a', 1_000);
  tasks.schedule('b');
  await finish('b');
  assert.deepEqual(told, ['+ a', '- a', '+ b', '- b']);
  await clock.advance(999);
  assert.equal(told.length, 4);
  tasks.schedule('a', 60_000);
  await clock.advance(1);
  assert.equal(told.length, 5, 'later than it would run anyway changes nothing');
  await finish('a', 1_000);
  tasks.schedule('a');
  assert.equal(told.length, 7);
  await finish('a');
  await clock.advance(10_000);
  assert.equal(told.length, 8);
});

test('what is forgotten does not come back', async () => {
  const { clock, tasks, told, finish } = startTasks(1);
  tasks.schedule('a', 10);
  tasks.schedule('b');
  tasks.schedule('c');
  tasks.forget('a');
  tasks.forget('b');
  tasks.forget('c');
  await finish('b', 5);
  await clock.advance(100);
  assert.deepEqual(told, ['+ b', '- b']);
});

test('stop aborts what runs, and waits for it', async () => {
  const { clock, tasks, told } = startTasks(1);
  tasks.schedule('a');
  tasks.schedule('b');
  await tasks.stop();
  tasks.schedule('c');
  await clock.advance(100);
  assert.deepEqual(told, ['+ a', '- a']);
});
