// A process that stays on one core, so that what is measured and what measures do not get in each other's way.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A process on a core. */
export interface PinnedProcess {
  /** Of the program itself: taskset becomes it. */
  readonly pid: number;
  /** When it was started, by `performance.now()`. */
  readonly startedAt: number;
  /** What it said to stderr. */
  readErrors(): string;
  /** What it said to stdout, where that was asked for. */
  readOutput(): string;
  /** Undefined while it runs. */
  readonly exitCode: () => number | null | undefined;
  /** Sends a signal to it. */
  signal(name: NodeJS.Signals): void;
  waitForExit(): Promise<void>;
  stop(): Promise<void>;
}

export interface PinnedOptions {
  readonly taskset: string;
  /** Its number; or several, as taskset takes them. */
  readonly core: number | string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Otherwise its standard output goes nowhere. */
  readonly keepsOutput?: boolean;
}

/** Who ends takes along what still runs, and the workers of that: nginx's outlive their master. One listener for all: there are dozens of them. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const { pid } of running) killGroup(pid!);
});

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it is gone.
  }
}

/** Starts a program on a core. */
export function startPinned({ taskset, core, command, args, env, keepsOutput = false }: PinnedOptions): PinnedProcess {
  const startedAt = performance.now();
  const child: ChildProcess = spawn(taskset, ['--cpu-list', String(core), command, ...args], {
    stdio: ['ignore', keepsOutput ? 'pipe' : 'ignore', 'pipe'],
    // A group of its own, so that all of it can be stopped.
    detached: true,
    ...(env === undefined ? {} : { env }),
  });
  if (child.pid === undefined) throw new Error(`${command} could not be started`);
  let errors = '';
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  let code: number | null | undefined;
  running.add(child);
  const closed = once(child, 'close').then(([status]) => {
    code = status as number | null;
    running.delete(child);
  });
  return {
    pid: child.pid,
    startedAt,
    readErrors: () => errors,
    readOutput: () => output,
    exitCode: () => code,
    signal: (name) => void child.kill(name),
    waitForExit: () => closed,
    async stop() {
      if (code !== undefined) return;
      child.kill('SIGTERM');
      const insist = setTimeout(() => killGroup(child.pid!), 10_000);
      await closed;
      clearTimeout(insist);
    },
  };
}
