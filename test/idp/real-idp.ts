// A real identity provider that runs as a process of its own for one test: started, waited for, stopped by its id.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** Thrown when it does not start. */
export class RealIdpError extends Error {
  readonly code = 'REAL_IDP_FAILED';
}

/** A program to start. */
export interface RealIdpProgram {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Says from its output so far, or by asking it, where it listens: http://127.0.0.1:port. */
  readonly findOrigin: (output: string) => Promise<string | undefined> | string | undefined;
}

/** It runs. */
export interface RealIdp {
  readonly origin: string;
  stop(): Promise<void>;
}

const pollMs = 100;

/** Starts it, and resolves when it listens. */
export async function startRealIdp({ title, command, args, findOrigin }: RealIdpProgram): Promise<RealIdp> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const hear = (text: string): void => void (output += text);
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  const leaveNothing = (): void => void child.kill('SIGKILL');
  process.once('exit', leaveNothing);
  const exited = once(child, 'close')
    .catch((error: unknown) => hear(String(error)))
    .finally(() => process.off('exit', leaveNothing));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const insist = setTimeout(() => child.kill('SIGKILL'), 20_000);
    await exited;
    clearTimeout(insist);
  };
  const ended = exited.then(() => 'ended' as const);
  for (;;) {
    const origin = await findOrigin(output);
    if (origin !== undefined) return { origin, stop };
    if ((await Promise.race([ended, delay(pollMs)])) === 'ended') break;
  }
  throw new RealIdpError(`${title} ended before it was ready:\n${output}`);
}
