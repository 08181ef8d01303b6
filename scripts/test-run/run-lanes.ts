// Runs files of tests in lanes: processes that take one file after the other, or one each.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LaneMessage, LaneOrder } from './lane-messages.ts';
import { formatFailures } from './progress.ts';
import { checkout } from './suites.ts';
import type { TestResults } from './test-results.ts';

/** What runs, and how. */
export interface LanesOptions {
  /** In this order. */
  readonly files: readonly string[];
  readonly lanes: number;
  readonly isShared: (file: string) => boolean;
  /** Passes on the output of tests at once. Otherwise it is kept, and shown for failed files. */
  readonly isLive: boolean;
  readonly env: NodeJS.ProcessEnv;
  /** A file is held back until this is settled. */
  readonly awaitBefore: (file: string) => Promise<unknown>;
  readonly results: TestResults;
  /** When its last file is done, a lane has nothing more to do, and ends within this time. Default two minutes. */
  readonly endsWithinMs?: number;
}

/** A lane that sends nothing for this long is stuck. It is longer than any single test takes on a busy machine. */
const stuckAfterMs = 10 * 60_000;
/** When it has ended, its output ends, unless a process that it left behind holds it. */
const outputEndsWithinMs = 10_000;

/** Resolves when all of them have run. */
export async function runLanes(options: LanesOptions): Promise<void> {
  // Those that are alone first: what comes last is short then.
  const queue = [
    ...options.files.filter((file) => !options.isShared(file)),
    ...options.files.filter((file) => options.isShared(file)),
  ];
  const running = new Set<ChildProcess>();
  const stopAll = (): void => {
    for (const child of running) child.kill('SIGKILL');
  };
  process.once('exit', stopAll);
  const interrupt = (signal: NodeJS.Signals): void => {
    if (options.results.hasFailed) console.log(formatFailures(options.results));
    console.log(`\n${signal}, while these were running:\n${options.results.listRunning().join('\n')}`);
    process.exit(130);
  };
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const runOneAfterTheOther = async (): Promise<void> => {
    while (queue.length > 0) await runLane(queue, options, running);
  };
  await Promise.all(Array.from({ length: options.lanes }, runOneAfterTheOther));
  process.off('exit', stopAll).off('SIGINT', interrupt).off('SIGTERM', interrupt);
}

/** One process: until the queue is empty, or for one file only. */
async function runLane(queue: string[], options: LanesOptions, running: Set<ChildProcess>): Promise<void> {
  const { results } = options;
  const child = spawn(
    process.execPath,
    [
      '--import',
      './test/keep-compiled-code.mjs',
      '--import',
      './scripts/test-run/follow-tests.ts',
      `--test-reporter=${join(import.meta.dirname, 'lane-reporter.ts')}`,
      '--test-reporter-destination=stderr',
      join(import.meta.dirname, 'lane.ts'),
    ],
    {
      cwd: checkout,
      // A lane is no part of the run that this one may be in.
      env: { ...options.env, NODE_TEST_CONTEXT: undefined },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  );
  running.add(child);
  let current: string | undefined;
  let at = '';
  let lastOpen: readonly string[] = [];
  /** The output of files, and (without a name) that of the process itself and of those that it started. */
  const printed = new Map<string, string>();
  const keep = (file: string, text: string): void => {
    if (options.isLive) process.stdout.write(text);
    printed.set(file, (printed.get(file) ?? '') + text);
  };
  const note = (text: string): void => keep('', `\n${text}\n`);
  // Words are a sign of life as well: a file may wait for a program that is being built, and says so.
  const listen = (text: string): void => {
    hear();
    keep('', text);
  };
  child.stdout!.setEncoding('utf8').on('data', listen);
  child.stderr!.setEncoding('utf8').on('data', listen);

  const giveUp = (): void => {
    const what = current === undefined ? 'after its last file' : `in ${at}`;
    note(`Nothing happened for ${stuckAfterMs / 60_000} minutes ${what}. The process was stopped.`);
    child.kill('SIGKILL');
  };
  let watchdog = setTimeout(giveUp, stuckAfterMs);
  let isLast = false;
  const hear = (): void => {
    if (isLast) return;
    clearTimeout(watchdog);
    watchdog = setTimeout(giveUp, stuckAfterMs);
  };

  let isAlone = false;
  const handOut = async (): Promise<void> => {
    const file = isAlone ? undefined : queue.shift();
    isAlone = file !== undefined && !options.isShared(file);
    if (file !== undefined) {
      await options.awaitBefore(file);
      current = file;
      at = file;
      results.begin(file);
    } else {
      isLast = true;
      clearTimeout(watchdog);
      watchdog = setTimeout(() => {
        note(`The process did not end after its last file; open: ${lastOpen.join(', ') || 'nothing known'}.`);
        child.kill('SIGKILL');
      }, options.endsWithinMs ?? 120_000);
    }
    const order: LaneOrder = file === undefined ? {} : { file };
    if (child.connected) child.send(order);
  };

  const ended = new Set<string>();
  const costs = new Set<string>();
  const finish = (file: string): void => {
    if (!ended.has(file) || !costs.has(file)) return;
    results.finish(file, printed.get(file) ?? '');
    printed.delete(file);
    if (current === file) current = undefined;
  };
  child.on('message', (message: LaneMessage) => {
    if (message.kind !== 'next') hear();
    switch (message.kind) {
      case 'next':
        void handOut();
        break;
      case 'start':
        at = [message.file, ...message.path].join(' > ');
        results.reach(message.file, message.path);
        break;
      case 'end':
        results.add(message.end);
        break;
      case 'done':
        ended.add(message.file);
        finish(message.file);
        break;
      case 'cost':
        results.addCost(message.file, message.cost);
        costs.add(message.file);
        finish(message.file);
        break;
      case 'open':
        lastOpen = message.open;
        break;
      case 'output':
        keep(message.file, message.text);
        break;
      case 'warning':
        results.warn(message.text, current);
        break;
    }
  });

  const closed = once(child, 'close');
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  const isHeld = await Promise.race([closed.then(() => false), delay(outputEndsWithinMs, true, { ref: false })]);
  if (isHeld) {
    note('A process that tests have started is still there, and holds the output of the one that ended.');
    child.stdout!.destroy();
    child.stderr!.destroy();
    results.breakOff(current, 'a process left behind', [...printed.values()].join(''));
  }
  clearTimeout(watchdog);
  running.delete(child);
  if (current !== undefined || code !== 0)
    results.breakOff(current, code ?? signal ?? 'unknown', [...printed.values()].join(''));
}
