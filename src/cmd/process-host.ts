// What a command that serves may use of its process. Tests run many gateways in one process, and hand over a host of their own.
import type { LogSink } from '../base/log.ts';
import type { ShutdownOptions } from '../base/shutdown.ts';

export interface ProcessHost extends Pick<ShutdownOptions, 'exit' | 'signals'> {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Undefined: the log goes to standard output. */
  readonly logSink?: LogSink;
  /** The process is there for this command alone, which looks after its memory and logs its crashes. */
  readonly isWhole: boolean;
}

/** The process itself. */
export function wholeProcess(): ProcessHost {
  return {
    env: process.env,
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    isWhole: true,
  };
}
