// The waiter of all tests: they wait for what they expect to see, never for time.
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { ReadonlyWatchable } from '../../src/base/watchable.ts';

// The one that tests which mock timers do not replace.
const [pause, turn] = [delay, nextTurn];

/** Slow is fine, stuck is not: no machine is so busy that what is awaited takes longer. */
export const deadlineMs = 120_000;

/** How to wait. */
export interface WaitOptions {
  /** What is awaited, as a sentence without its end: `the pod echo is ready`. The text of the question when absent. */
  readonly what?: string;
  /** Between two looks; 0 is the next turn of the event loop. Default: 2 at first, and more and more up to 100. */
  readonly intervalMs?: number;
  /** Default two minutes; more for what builds or installs something. */
  readonly timeoutMs?: number;
  /** An error is an answer that may change, and not the end. */
  readonly retryErrors?: boolean;
  /** Asked when the time is up: what there is instead. */
  readonly describe?: () => unknown;
  readonly signal?: AbortSignal;
}

/** Thrown when something does not come true. */
export class WaitTimeoutError extends Error {
  readonly code = 'WAIT_TIMEOUT';
}

/** Answers undefined, null or false while it has to be asked again. */
type Question<T> = () => T | Promise<T>;
type Answer<T> = Exclude<T, undefined | null | false>;

/** Asks again and again until the answer is neither undefined, null nor false, and returns it. Says what it waited for, and what it last saw, when that does not happen. */
export function waitFor<T>(ask: Question<T>, options?: WaitOptions): Promise<Answer<T>>;
export function waitFor<T>(what: string, ask: Question<T>, options?: WaitOptions): Promise<Answer<T>>;
export function waitFor<T>(
  first: Question<T> | string,
  second?: Question<T> | WaitOptions,
  third?: WaitOptions,
): Promise<Answer<T>> {
  if (typeof first !== 'string') return repeat(first, second as WaitOptions | undefined);
  return repeat(second as Question<T>, { ...third, what: first });
}

async function repeat<T>(ask: Question<T>, options: WaitOptions = {}): Promise<Answer<T>> {
  const { what = String(ask), timeoutMs = deadlineMs, retryErrors = false } = options;
  const giveUpAt = performance.now() + timeoutMs;
  let seen: string;
  for (let looks = 0; ; looks += 1) {
    options.signal?.throwIfAborted();
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== null && answer !== false) return answer as Answer<T>;
      seen = inspect(answer);
    } catch (error) {
      if (!retryErrors) throw error;
      seen = error instanceof Error ? error.message : inspect(error);
    }
    if (performance.now() >= giveUpAt) break;
    const intervalMs = options.intervalMs ?? Math.min(2 * 1.3 ** looks, 100);
    await (intervalMs === 0 ? turn() : pause(intervalMs));
  }
  if (options.describe !== undefined) {
    const instead = await options.describe();
    seen += `\n${typeof instead === 'string' ? instead : inspect(instead)}`;
  }
  throw new WaitTimeoutError(`Waited ${timeoutMs / 1_000} s in vain: ${what}. Last seen: ${seen}`);
}

/** Waits until a number has not changed for a while: all buffers are full, or all is said. A late change only makes a test stricter. */
export async function waitForStandstill(read: () => number): Promise<void> {
  let last = Number.NaN;
  let quiet = 0;
  await waitFor(
    'nothing moves any more',
    () => {
      const now = read();
      quiet = now === last ? quiet + 1 : 0;
      last = now;
      return quiet >= 20;
    },
    { intervalMs: 15, describe: () => last },
  );
}

/** Waits until a watchable has a value as wanted, and returns it. */
export function waitForValue<T>(
  watchable: ReadonlyWatchable<T>,
  isWanted: (value: T) => boolean,
): Promise<NonNullable<T>> {
  // Wrapped, because the value itself may be false.
  return waitFor(String(isWanted), () => (isWanted(watchable.get()) ? { value: watchable.get() } : undefined), {
    describe: () => watchable.get(),
  }).then(({ value }) => value as NonNullable<T>);
}
