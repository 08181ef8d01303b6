// Exponential backoff with jitter: each delay is twice as long as the one before, and part of it is random, so that clients that failed together do not
// retry together.

export interface BackoffOptions {
  /** The delay after the first failure, before jitter. */
  readonly firstMs: number;
  /** No delay is longer. */
  readonly maxMs: number;
  /** A random number in [0, 1). Undefined: no jitter. */
  readonly random?: () => number;
  /** Default: full jitter. Without `random` it has no effect. */
  readonly jitter?: Jitter;
}

/** The range of the jitter as parts of a delay: at `random` 0 and at 1. `[0, 1]` is full jitter, `[0.5, 1]` waits at least half of the delay. */
export type Jitter = readonly [atZero: number, atOne: number];

export interface Backoff {
  /** Failures in a row. */
  readonly tries: number;
  /** The next delay. A Retry-After of the server replaces it: that time, and up to half as much again. */
  next(retryAfterSeconds?: number): number;
  /** A try succeeded: the delays start over. */
  reset(): void;
}

const fullJitter: Jitter = [0, 1];
/** Keeps the powers finite. Every delay has reached its maximum by then. */
const maxDoublings = 30;
/** A longer Retry-After is shortened to this. */
const maxRetryAfterSeconds = 120;

/** The delay before the next try, when `earlierFailures` came before the newest failure. */
export function findBackoffDelay(earlierFailures: number, { firstMs, maxMs, random, jitter }: BackoffOptions): number {
  const delayMs = Math.min(maxMs, firstMs * 2 ** Math.min(earlierFailures, maxDoublings));
  return random === undefined ? delayMs : spread(delayMs, jitter ?? fullJitter, random);
}

/** A time with jitter. */
export function spread(timeMs: number, [atZero, atOne]: Jitter, random: () => number): number {
  return timeMs * (atZero + (atOne - atZero) * random());
}

/** Counts the failures. */
export function createBackoff(options: BackoffOptions): Backoff {
  let tries = 0;
  return {
    get tries() {
      return tries;
    },
    next(retryAfterSeconds) {
      const earlierFailures = tries;
      tries += 1;
      if (retryAfterSeconds === undefined) return findBackoffDelay(earlierFailures, options);
      const askedMs = Math.min(retryAfterSeconds, maxRetryAfterSeconds) * 1_000;
      return options.random === undefined ? askedMs : spread(askedMs, [1, 1.5], options.random);
    },
    reset() {
      tries = 0;
    },
  };
}
