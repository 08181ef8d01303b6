// Starts one more process of this program, as a worker.
import { fork } from 'node:child_process';
import type { StartWorkerProcess, WorkerEnd } from '../../gateway/workers/worker-group.ts';

/** The worker writes where this process writes, and hears from nobody else. */
export const startWorkerProcess: StartWorkerProcess = (receive) => {
  const child = fork(process.argv[1]!, ['worker'], {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.on('message', receive);
  const ended = new Promise<WorkerEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    // Could not be started at all; otherwise a message that was not delivered, or a signal to who is gone already.
    child.on('error', () => {
      if (child.pid === undefined) resolve({ code: null, signal: null });
    });
  });
  return {
    pid: child.pid,
    // A message to a process that has just ended is lost without a word: its end is heard of soon enough.
    send: (message) => void child.send(message as object, () => {}),
    kill: () => void child.kill('SIGKILL'),
    ended,
  };
};
