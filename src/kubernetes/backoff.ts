// How long to wait between tries: twice as long each time, and a random part of that ("full jitter"), so that many who failed together do not come back together.

export interface BackoffOptions {
  /** The most that the first wait can be. */
  readonly firstMs: number;
  /** The most that any wait can be. */
  readonly maxMs: number;
  readonly random: () => number;
}

export interface Backoff {
  /** Waits in a row. */
  readonly tries: number;
  /** The next wait. What the server asked for is waited out, and up to half as much again; no more than that, since it knows best. */
  next(retryAfterSeconds?: number): number;
  /** Something worked. */
  reset(): void;
}

/** No server may keep us away for longer than this. */
const maxRetryAfterSeconds = 120;

export function createBackoff({ firstMs, maxMs, random }: BackoffOptions): Backoff {
  let tries = 0;
  return {
    get tries() {
      return tries;
    },
    next(retryAfterSeconds) {
      const limitMs = Math.min(maxMs, firstMs * 2 ** Math.min(tries, 30));
      tries += 1;
      if (retryAfterSeconds === undefined) return random() * limitMs;
      return Math.min(retryAfterSeconds, maxRetryAfterSeconds) * 1_000 * (1 + random() / 2);
    },
    reset() {
      tries = 0;
    },
  };
}
