// Runs all suites for `.ci/run`, once everything is installed. Prints the output of a suite when it ends; at the end, all failures once more, and a table. A run may take 90 minutes on a shared machine: shortly before that, the suites that
// still run are stopped, and every suite that did not run to its end is named and fails the run (docs/adr/0022-tests-and-ci.md).
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ciRows, type NpmScript } from './test-run/ci-rows.ts';
import { failuresHeading } from './test-run/progress.ts';

/** Seconds since the start of CI, of which the installation took some. */
const stopAt = Number(process.env['CI_STOP_AT'] ?? 5_200) - Number(process.env['CI_SECONDS_USED'] ?? 0);
const checkout = join(import.meta.dirname, '..');

interface Outcome {
  readonly title: string;
  readonly result: 'passed' | 'failed' | 'not run to its end';
  readonly seconds: number;
  readonly cpu: number | undefined;
  readonly passed: number;
  readonly failed: number;
  /** Its report of failures, cut to the size of a page. */
  readonly failures: string;
}

const startedAt = performance.now();
const secondsSinceStart = (): number => (performance.now() - startedAt) / 1_000;
const outcomes: Outcome[] = [];
await Promise.all(ciRows.map(runRow));
for (const { title, result, failures } of outcomes) {
  if (result !== 'passed') console.log(`\n${'='.repeat(20)} ${title} ${result}, once more:\n${failures}`);
}
console.log(`\n${formatTable(outcomes)}`);
process.exitCode = outcomes.every(({ result }) => result === 'passed') ? 0 : 1;

async function runRow(row: readonly NpmScript[]): Promise<void> {
  for (const script of row) outcomes.push(await runScript(script));
}

async function runScript({ script, args = [] }: NpmScript): Promise<Outcome> {
  const title = `npm ${[script, ...args].join(' ')}`;
  const command = ['npm', 'run', '--silent', script, ...(args.length === 0 ? [] : ['--', ...args])];
  const from = secondsSinceStart();
  const notRun: Outcome = {
    title,
    result: 'not run to its end',
    seconds: 0,
    cpu: undefined,
    passed: 0,
    failed: 0,
    failures: '',
  };
  if (from >= stopAt) return notRun;
  console.log(`== ${title}: begins after ${from.toFixed(0)} s`);
  // Bash tells what a command and all that it waited for have used. A group of its own, so that all of it can be stopped.
  const timed = 'TIMEFORMAT="cpu %U %S"; time "$@"';
  const child = spawn('bash', ['-c', timed, 'bash', ...command], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  let isStopped = false;
  const stopping = setTimeout(
    () => {
      isStopped = true;
      stop(child, 'SIGTERM');
      setTimeout(() => stop(child, 'SIGKILL'), 30_000).unref();
    },
    (stopAt - from) * 1_000,
  );
  const stopNow = (): void => stop(child, 'SIGKILL');
  process.once('exit', stopNow);
  const [code] = (await once(child, 'close')) as [number | null];
  process.off('exit', stopNow);
  clearTimeout(stopping);
  const seconds = secondsSinceStart() - from;
  const times = /^cpu (\S+) (\S+)\s*$/m.exec(output);
  const counts = [...output.matchAll(/^(\d+) passed, (\d+) failed/gm)].at(-1);
  const result = isStopped ? 'not run to its end' : code === 0 ? 'passed' : 'failed';
  console.log(
    `\n${'='.repeat(20)} ${title}\n${output.trimEnd()}\n== ${title}: ${result} after ${seconds.toFixed(0)} s`,
  );
  return {
    title,
    result,
    seconds,
    cpu: times === null ? undefined : Number(times[1]) + Number(times[2]),
    passed: Number(counts?.[1] ?? 0),
    failed: Number(counts?.[2] ?? 0),
    failures: cutFailures(output),
  };
}

/** The summary at the end of the suite, or its last lines. */
function cutFailures(output: string): string {
  const size = 6_000;
  const from = output.lastIndexOf(`\n${failuresHeading}\n`);
  return (from === -1 ? output.slice(-size) : output.slice(from, from + size)).trim();
}

function stop(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended.
  }
}

function formatTable(all: readonly Outcome[]): string {
  const width = Math.max(...all.map(({ title }) => title.length));
  const formatRow = (title: string, ...cells: readonly string[]): string =>
    `${title.padEnd(width)}${cells.map((cell) => cell.padStart(10)).join('')}`;
  const sum = (pick: (outcome: Outcome) => number): number => all.reduce((total, each) => total + pick(each), 0);
  const showCpu = (cpu: number | undefined): string => (cpu === undefined ? '-' : `${cpu.toFixed(0)} s`);
  return [
    formatRow('suite', 'time', 'CPU', 'passed', 'failed', ''),
    ...all.map(
      ({ title, result, seconds, cpu, passed, failed }) =>
        `${formatRow(title, `${seconds.toFixed(0)} s`, showCpu(cpu), String(passed), String(failed))}  ${result}`,
    ),
    formatRow('all of it', `${secondsSinceStart().toFixed(0)} s`, showCpu(sum(({ cpu }) => cpu ?? 0))),
    '',
    `Total: ${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed`,
  ].join('\n');
}
