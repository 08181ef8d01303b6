// How long a gateway waits before it tries to connect again: at once after a good-bye, soon after an accident, longer and longer while nothing helps.
// The whole of the delay is left to chance ("full jitter"), so that gateways which lost the same controller do not come back all together.
import { findBackoffDelay } from '../base/backoff.ts';

/** How a connection, or the attempt to have one, ended. */
export interface ConnectionEnd {
  /** The server ended it in an orderly way: it, or another replica, expects us back. */
  readonly isGraceful: boolean;
  /** The server knows us, and does not want us. Only the operator can change that. */
  readonly isRefusal: boolean;
  /** How long the connection was of use. */
  readonly lastedMs: number;
}

export interface BackoffTimes {
  /** The most that the first delay can be. Doubled each further time. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** The same for refusals, where half of the delay is certain. */
  readonly refusedFirstMs: number;
  readonly refusedMaxMs: number;
  /** A connection that lasted as long as this makes up for all failures before it. */
  readonly stableMs: number;
}

export const defaultBackoffTimes: BackoffTimes = {
  firstMs: 250,
  maxMs: 5_000,
  refusedFirstMs: 1_000,
  refusedMaxMs: 30_000,
  stableMs: 5_000,
};

export class Backoff {
  readonly #times: BackoffTimes;
  readonly #random: () => number;
  #failures = 0;

  constructor(times: BackoffTimes, random: () => number) {
    this.#times = times;
    this.#random = random;
  }

  /** Milliseconds until the next try. */
  next({ isGraceful, isRefusal, lastedMs }: ConnectionEnd): number {
    const { firstMs, maxMs, refusedFirstMs, refusedMaxMs, stableMs } = this.#times;
    if (lastedMs >= stableMs) this.#failures = 0;
    const failures = this.#failures;
    this.#failures += 1;
    // A server that says good-bye again and again gets no more than the others.
    if (isGraceful && failures === 0) return 0;
    const random = this.#random;
    if (!isRefusal) return findBackoffDelay(failures, { firstMs, maxMs, random });
    return findBackoffDelay(failures, { firstMs: refusedFirstMs, maxMs: refusedMaxMs, random, jitter: [0.5, 1] });
  }
}
