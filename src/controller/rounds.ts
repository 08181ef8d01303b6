// Debounced work: requests that come close together cause one round, rounds never overlap, and a failed round is retried with backoff.
import { createBackoff } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';

interface RoundsOptions {
  readonly clock: Clock;
  /** A round starts when no request came for this long... */
  readonly quietMs: number;
  /** ...and at the latest this long after the first request. */
  readonly mostMs: number;
  readonly run: () => void | Promise<void>;
  /** Called before the retry. */
  readonly onError: (error: unknown, retryAfterMs: number) => void;
}

/** Runs rounds on request. */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #backoff = createBackoff({ firstMs: 1_000, maxMs: 30_000 });
  #firstRequestAt: number | undefined;
  #stopTimer: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  /** Requests a round. */
  request(): void {
    if (this.#isStopped) return;
    const { clock, quietMs, mostMs } = this.#options;
    const now = clock.now();
    this.#firstRequestAt ??= now;
    if (this.#running === undefined) this.#schedule(Math.min(quietMs, this.#firstRequestAt + mostMs - now));
  }

  /** Requests a round after a delay, unless one is scheduled or running already. */
  requestIn(delayMs: number): void {
    if (this.#isStopped || this.#stopTimer !== undefined || this.#running !== undefined) return;
    this.#schedule(delayMs);
  }

  /** Starts no more rounds; resolves when the running one has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopTimer?.();
    await this.#running;
  }

  #schedule(delayMs: number): void {
    this.#stopTimer?.();
    this.#stopTimer = this.#options.clock.setTimer(() => {
      this.#stopTimer = undefined;
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
        // Requests that came during the round.
        if (this.#firstRequestAt !== undefined) this.request();
      });
    }, delayMs);
  }

  async #run(): Promise<void> {
    this.#firstRequestAt = undefined;
    try {
      await this.#options.run();
      this.#backoff.reset();
    } catch (error) {
      const retryAfterMs = this.#backoff.next();
      this.#options.onError(error, retryAfterMs);
      if (!this.#isStopped && this.#firstRequestAt === undefined) this.#schedule(retryAfterMs);
    }
  }
}
