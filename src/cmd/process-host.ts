// What a command may use of its process. Tests run many commands in one process, and hand over a host of their own.
import type { LogSink } from '../base/log.ts';
import type { ShutdownOptions } from '../base/shutdown.ts';

/** Where every command writes, and what it may read of the process. */
export interface CommandIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly color: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** What a command that serves may use as well. */
export interface ProcessHost extends CommandIo, Pick<ShutdownOptions, 'exit' | 'signals'> {
  /** Undefined: the log goes to standard output. */
  readonly logSink?: LogSink;
  /** The process is there for this command alone, which looks after its memory and logs its crashes. */
  readonly isWhole: boolean;
}

/** The process itself. */
export function wholeProcess(): ProcessHost {
  // `mcp-gatehouse schema | head -1`: the reader has enough, which is no error of the command.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedPipe);
  return {
    env: process.env,
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    color: process.stdout.isTTY && process.env['NO_COLOR'] === undefined,
    isWhole: true,
  };
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
