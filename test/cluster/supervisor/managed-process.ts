// A long-running program of the cluster: its output goes to a file, it is stopped by its id, paused, and started again.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { once } from 'node:events';

/** What to run. */
export interface ManagedProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Thrown when a program ends although nobody asked it to. */
export class ProcessEndedError extends Error {
  readonly code = 'PROCESS_ENDED';
}

/** One program, through all of its starts. */
export class ManagedProcess {
  readonly #options: ManagedProcessOptions;
  #child: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();

  constructor(options: ManagedProcessOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Whether it runs. */
  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts the program; its log goes on in the same file. */
  start(): void {
    if (this.isRunning) return;
    const { command, args, logFile, env } = this.#options;
    const log = openSync(logFile, 'a');
    try {
      this.#child = spawn(command, args, { stdio: ['ignore', log, log], ...(env === undefined ? {} : { env }) });
      // Without a listener a program that cannot be started would end the supervisor; `throwIfEnded` reports it.
      this.#exited = once(this.#child, 'exit').catch(() => undefined);
    } finally {
      closeSync(log);
    }
  }

  /** Throws when it has ended: nobody should wait for a program that is gone. */
  throwIfEnded(): void {
    if (this.isRunning) return;
    const { name, logFile } = this.#options;
    const how = this.#child?.signalCode ?? `exit code ${this.#child?.exitCode ?? 'unknown'}`;
    throw new ProcessEndedError(`${name} ended (${how}). Its log: ${logFile}`);
  }

  /** Sends a signal. */
  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) this.#child?.kill(signal);
  }

  /** Ends it and waits for that: SIGTERM, and SIGKILL when it takes longer than five seconds (the API server waits for watches to end). */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (!this.isRunning) return;
    // A paused program would not see SIGTERM.
    this.signal('SIGCONT');
    this.signal(signal);
    const insist = setTimeout(() => this.signal('SIGKILL'), 5000);
    await this.#exited;
    clearTimeout(insist);
  }
}
