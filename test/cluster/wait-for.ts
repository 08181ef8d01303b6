// Waits for conditions. Tests wait for what they expect to see, never for time.
import { setTimeout as sleep } from 'node:timers/promises';

/** How long to wait, and for what. */
export interface WaitOptions {
  /** What is awaited, for the message: `the pod echo is Ready`. */
  readonly what: string;
  readonly timeoutMs?: number;
  /** The longest pause between two questions. They come more often at first. */
  readonly intervalMs?: number;
  /** Asked when the time is up: what was seen last. */
  readonly describe?: () => string | Promise<string>;
  readonly signal?: AbortSignal;
}

const shortestPause = 10;

/** Thrown when a condition does not come true in time. */
export class WaitTimeoutError extends Error {
  readonly code = 'WAIT_TIMEOUT';
}

/**
 * Asks again and again until the answer is neither undefined nor false, and returns it. An error counts as "not yet" and is
 * part of the message when the time is up.
 */
export async function waitFor<T>(
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  { what, timeoutMs = 120_000, intervalMs = 100, describe, signal }: WaitOptions,
): Promise<T> {
  const start = Date.now();
  const deadline = start + timeoutMs;
  let problem: unknown;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const found = await probe();
      if (found !== undefined && found !== false) return found;
      problem = undefined;
    } catch (error) {
      problem = error;
    }
    if (Date.now() >= deadline) break;
    // What comes soon is seen soon, and what takes long is not asked for all the time.
    await sleep(Math.min(intervalMs, Math.max(shortestPause, (Date.now() - start) / 4)));
  }
  const seen = describe === undefined ? '' : `\n${await describe()}`;
  const why =
    problem === undefined
      ? ''
      : ` The last attempt failed: ${problem instanceof Error ? problem.message : JSON.stringify(problem)}`;
  throw new WaitTimeoutError(`Waited ${timeoutMs / 1000} s in vain: ${what}.${why}${seen}`);
}
