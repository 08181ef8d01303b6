import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import { silentLog } from './log.ts';
import { createShutdown, type Shutdown } from './shutdown.ts';

interface Harness {
  readonly shutdown: Shutdown;
  readonly signals: EventEmitter;
  readonly codes: number[];
  readonly clock: { now: number };
  /** Resolves with the first exit code. */
  readonly exited: Promise<number>;
}

function start(): Harness {
  const signals = new EventEmitter();
  const codes: number[] = [];
  const { promise, resolve } = Promise.withResolvers<number>();
  const exit = (code: number): void => {
    codes.push(code);
    resolve(code);
  };
  const clock = { now: 0 };
  const shutdown = createShutdown({ log: silentLog, exit, signals, now: () => clock.now });
  return { shutdown, signals, codes, clock, exited: promise };
}

describe('shutdown', () => {
  test('runs the steps one after the other and exits with 0', async () => {
    const { shutdown, signals, exited } = start();
    const order: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      shutdown.addStep({
        name,
        timeoutMs: 10_000,
        async run() {
          order.push(`${name} starts`);
          await new Promise(setImmediate);
          order.push(`${name} ends`);
        },
      });
    }
    signals.emit('SIGTERM');
    assert.equal(shutdown.started, true);
    assert.equal(await exited, 0);
    assert.deepEqual(order, ['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends']);
  });

  test('a step that hangs is left behind, its signal aborted, and the exit code is 1', async () => {
    const { shutdown, signals, exited } = start();
    let aborted = false;
    let next = false;
    shutdown.addStep({
      name: 'hangs',
      timeoutMs: 1,
      run: (signal) =>
        new Promise(() => {
          signal.addEventListener('abort', () => (aborted = true));
        }),
    });
    shutdown.addStep({ name: 'next', timeoutMs: 10_000, run: () => void (next = true) });
    signals.emit('SIGINT');
    assert.equal(await exited, 1);
    assert.deepEqual([aborted, next], [true, true]);
  });

  test('a step that throws does not keep the others from running', async () => {
    const { shutdown, exited } = start();
    let next = false;
    shutdown.addStep({
      name: 'throws',
      timeoutMs: 10_000,
      run() {
        throw new Error('no');
      },
    });
    shutdown.addStep({ name: 'next', timeoutMs: 10_000, run: () => void (next = true) });
    await shutdown.start('test');
    assert.equal(await exited, 1);
    assert.equal(next, true);
  });

  for (const [second, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    test(`a second signal, ${second}, exits at once with ${code}`, async () => {
      const { shutdown, signals, codes, clock, exited } = start();
      const slow = Promise.withResolvers<void>();
      shutdown.addStep({ name: 'slow', timeoutMs: 600_000, run: () => slow.promise });
      signals.emit('SIGTERM');
      // One Ctrl-C reaches a process twice when npm passes it on: that is still one.
      signals.emit(second);
      assert.deepEqual(codes, []);
      clock.now += 1_000;
      signals.emit(second);
      assert.equal(await exited, code);
      slow.resolve();
    });
  }

  test('starting twice is starting once', async () => {
    const { shutdown, codes } = start();
    await Promise.all([shutdown.start('a'), shutdown.start('b')]);
    assert.deepEqual(codes, [0]);
  });

  test('dispose stops listening', () => {
    const { shutdown, signals } = start();
    shutdown.dispose();
    assert.equal(signals.listenerCount('SIGTERM') + signals.listenerCount('SIGINT'), 0);
  });
});
