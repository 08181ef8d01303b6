// The backoff of a gateway's reconnects: none after an orderly end, short after a broken connection, exponential while failures go on.
// The delay has full jitter, so that gateways that lost the same controller do not reconnect all at once.
import { findBackoffDelay } from '../base/backoff.ts';

/** How a connection, or the attempt to have one, ended. */
export interface ConnectionEnd {
  /** The server ended it in an orderly way: we are to reconnect, to it or to another replica. */
  readonly isGraceful: boolean;
  /** The server refused us. Only the operator can change that. */
  readonly isRefusal: boolean;
  /** How long the connection worked. */
  readonly lastedMs: number;
}

export interface BackoffTimes {
  /** The maximum of the first delay. Doubled each further time. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** The same for refusals, where half of the delay is certain. */
  readonly refusedFirstMs: number;
  readonly refusedMaxMs: number;
  /** A connection that lasted this long resets the backoff. */
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
    // A server that ends connections again and again gets the usual backoff.
    if (isGraceful && failures === 0) return 0;
    const random = this.#random;
    if (!isRefusal) return findBackoffDelay(failures, { firstMs, maxMs, random });
    return findBackoffDelay(failures, { firstMs: refusedFirstMs, maxMs: refusedMaxMs, random, jitter: [0.5, 1] });
  }
}
