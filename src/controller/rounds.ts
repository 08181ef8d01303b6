// Work that is done again and again, whenever something changed: changes that come together are one round, rounds never overlap, and one that failed is
// tried again and stops nothing.
import { createBackoff } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';

export interface RoundsOptions {
  readonly clock: Clock;
  /** A round starts when nothing was asked for this long. */
  readonly quietMs: number;
  /** And no later than this after the first request. */
  readonly mostMs: number;
  readonly run: () => void | Promise<void>;
  /** Told before the round is tried again. */
  readonly onError: (error: unknown, retryAfterMs: number) => void;
}

/** Rounds on request. */
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

  /** Asks for a round. */
  request(): void {
    if (this.#isStopped) return;
    const { clock, quietMs, mostMs } = this.#options;
    const now = clock.now();
    this.#firstRequestAt ??= now;
    if (this.#running === undefined) this.#schedule(Math.min(quietMs, this.#firstRequestAt + mostMs - now));
  }

  /** Asks for a round after some time, unless there is one before. */
  requestIn(delayMs: number): void {
    if (this.#isStopped || this.#stopTimer !== undefined || this.#running !== undefined) return;
    this.#schedule(delayMs);
  }

  /** Nothing is started any more; resolves when the round that is going on has ended. */
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
        // What was asked for meanwhile.
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
