// A program of ours on a core of its own that is told what to do and asked how it is, by messages.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface WorkerOptions {
  readonly taskset: string;
  readonly core: number;
  readonly program: URL;
}

/** One that runs. */
export interface PinnedWorker {
  readonly pid: number;
  /** Sends a message and resolves with the answer. There is one for each. */
  ask<Answer>(message: object): Promise<Answer>;
  stop(): Promise<void>;
}

/** Starts one. */
export function startPinnedWorker({ taskset, core, program }: WorkerOptions): PinnedWorker {
  const args = ['--cpu-list', String(core), process.execPath, program.pathname];
  const env = { ...process.env, NODE_OPTIONS: '' };
  const child: ChildProcess = spawn(taskset, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], env });
  // Not 'close': that does not come after we have hung up.
  const ended = once(child, 'exit');
  let last: Promise<unknown> = Promise.resolve();
  return {
    pid: child.pid!,
    ask<Answer>(message: object): Promise<Answer> {
      const answered = last.then(async () => {
        const answer = once(child, 'message') as Promise<[Answer]>;
        child.send(message);
        const failed = ended.then(() => {
          throw new Error(`${program.pathname} ended`);
        });
        failed.catch(() => undefined);
        return (await Promise.race([answer, failed]))[0];
      });
      last = answered.catch(() => undefined);
      return answered;
    },
    async stop() {
      // It ends by itself when nobody is there to talk to.
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}
