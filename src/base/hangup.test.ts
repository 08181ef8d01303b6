// What SIGHUP does: reload, say that there is nothing to reload, or end a process whose terminal is gone.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { createHangup, type Hangup } from './hangup.ts';
import { type Log, silentLog } from './log.ts';

interface Stage {
  readonly signals: EventEmitter;
  readonly lines: string[];
  readonly ended: string[];
  readonly hangup: Hangup;
}

function makeStage(hasTerminal: () => boolean = () => false): Stage {
  const signals = new EventEmitter();
  const [lines, ended]: [string[], string[]] = [[], []];
  const write = (_fields: object, message: string): void => void lines.push(message);
  const log: Log = { ...silentLog, info: write, error: write };
  const shutdown = {
    started: false,
    start: (reason: string) => {
      shutdown.started = true;
      ended.push(reason);
      return Promise.resolve();
    },
  };
  const hangup = createHangup({ log, shutdown, otherwise: 'flags say it all', signals, hasTerminal });
  return { signals, lines, ended, hangup };
}

test('without anything to reload it says so', () => {
  const { signals, lines, ended } = makeStage();
  signals.emit('SIGHUP');
  assert.deepEqual(lines, ['SIGHUP: there is nothing to reload: flags say it all']);
  assert.deepEqual(ended, []);
});

test('reloads run one after the other, and one that fails does not keep the next from running', async () => {
  const { signals, lines, hangup } = makeStage();
  const steps: string[] = [];
  const second = Promise.withResolvers<void>();
  let count = 0;
  hangup.onReload(async () => {
    count += 1;
    const number = count;
    steps.push(`begin ${number}`);
    await Promise.resolve();
    steps.push(`end ${number}`);
    if (number === 1) throw new Error('no');
    second.resolve();
  });
  signals.emit('SIGHUP');
  signals.emit('SIGHUP');
  await second.promise;
  assert.deepEqual(steps, ['begin 1', 'end 1', 'begin 2', 'end 2']);
  assert.deepEqual(lines, ['SIGHUP: the configuration could not be read again']);
});

test('a terminal that is gone ends the process; one that is there does not', () => {
  let hasTerminal = true;
  const { signals, lines, ended } = makeStage(() => hasTerminal);
  signals.emit('SIGHUP');
  assert.deepEqual(ended, []);
  hasTerminal = false;
  signals.emit('SIGHUP');
  signals.emit('SIGHUP');
  assert.deepEqual(ended, ['SIGHUP: the terminal was closed']);
  assert.equal(lines.length, 1, 'a process that ends does not reload');
});
