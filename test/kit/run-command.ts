// Commands that serve, in the process of the test: a start costs a tenth of one in a process of its own.
import { EventEmitter } from 'node:events';
import { type Command, executeCommand } from '../../src/cmd/command.ts';
import type { FlagTable } from '../../src/cmd/flags.ts';
import type { ProcessHost } from '../../src/cmd/process-host.ts';

/** A command that runs, here or as a process. */
export interface CommandRun {
  /** Everything that it has written so far. */
  readOutput(): string;
  /** Undefined while it runs. */
  exitCode(): number | null | undefined;
  waitForExit(): Promise<number | null>;
  /** As SIGTERM does. Resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** `run`, `gateway` or another command that serves, with a host that is not the process. */
export function runCommandHere(
  command: Command<FlagTable, ProcessHost>,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): CommandRun {
  const output: string[] = [];
  const keep = (text: string): void => void output.push(text);
  const signals = new EventEmitter();
  const ended = Promise.withResolvers<number>();
  let code: number | undefined;
  const exit = (status: number): void => {
    code ??= status;
    ended.resolve(code);
  };
  const host: ProcessHost = {
    env,
    stdout: keep,
    stderr: keep,
    color: false,
    logSink: { write: keep },
    signals,
    exit,
    isWhole: false,
  };
  executeCommand(command, args, host).then(
    (status) => {
      // A gateway that serves ends later, by its signal.
      if (signals.listenerCount('SIGTERM') === 0 || status !== 0) exit(status);
    },
    (error: unknown) => {
      keep(error instanceof Error ? (error.stack ?? error.message) : String(error));
      exit(1);
    },
  );
  return {
    readOutput: () => output.join(''),
    exitCode: () => code,
    waitForExit: () => ended.promise,
    async stop() {
      if (code === undefined) signals.emit('SIGTERM');
      return ended.promise;
    },
  };
}
