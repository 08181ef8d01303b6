// Starts a program for a test, waits until it says that it is ready, and stops it by its process id.
import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';

/** A program to run. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** A program that runs. */
export interface Child {
  readonly pid: number;
  /** Everything that it wrote to stdout and stderr so far. */
  readOutput(): string;
  /** The exit code, null after a signal, undefined while it runs. */
  readonly exitCode: () => number | null | undefined;
  /** Waits for a message that it sends with process.send(), or fails when it ends first. */
  waitForMessage<T>(accept: (message: unknown) => T | undefined): Promise<T>;
  /** Resolves with the exit code once it has ended. */
  waitForExit(): Promise<number | null>;
  /** Asks it to end with SIGTERM, insists with SIGKILL after ten seconds, and resolves with its exit code. */
  stop(): Promise<number | null>;
}

/** Thrown when a program ends before it was ready. Its output is part of the message. */
export class ChildEndedError extends Error {
  readonly code = 'CHILD_ENDED';
}

/** Starts a program with its output captured and a channel for messages. */
export function startChild({ command, args, env, cwd }: ChildOptions): Child {
  const options: SpawnOptions = {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
  };
  const child: ChildProcess = spawn(command, args, options);
  const output: string[] = [];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => output.push(text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => output.push(text));
  let code: number | null | undefined;
  // A test that crashes does not get to stop what it started.
  const leaveNothing = (): void => void child.kill('SIGKILL');
  process.once('exit', leaveNothing);
  const exited = once(child, 'close').then(([status]) => {
    code = status as number | null;
    process.off('exit', leaveNothing);
    return code;
  });
  // A program that cannot be started emits `error` and never `close` with a code; the waiters report it.
  exited.catch((error: unknown) => output.push(String(error)));
  if (child.pid === undefined) throw new ChildEndedError(`${command} could not be started.`);

  return {
    pid: child.pid,
    readOutput: () => output.join(''),
    exitCode: () => code,
    waitForMessage: <T>(accept: (message: unknown) => T | undefined) =>
      new Promise<T>((resolve, reject) => {
        const hear = (message: unknown): void => {
          const accepted = accept(message);
          if (accepted === undefined) return;
          child.off('message', hear);
          resolve(accepted);
        };
        child.on('message', hear);
        const fail = (): void => reject(new ChildEndedError(`${command} ended early:\n${output.join('')}`));
        exited.then(fail, fail);
      }),
    waitForExit: () => exited,
    async stop() {
      if (code !== undefined) return code;
      child.kill('SIGTERM');
      const insist = setTimeout(() => child.kill('SIGKILL'), 10_000);
      try {
        return await exited;
      } finally {
        clearTimeout(insist);
      }
    },
  };
}
