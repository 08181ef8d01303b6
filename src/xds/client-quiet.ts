// The idle timeout in the middle of an update. A large response on a slow link comes in pieces, and every piece resets it.
import type { Clock } from '../base/clock.ts';

interface QuietWatchOptions {
  readonly clock: Clock;
  readonly quietMs: number;
  /** Time since the last bytes. */
  readonly readSilentMs: () => number;
  readonly onQuiet: () => void;
}

/** Watches from `start` to `stop`. */
export class QuietWatch {
  readonly #options: QuietWatchOptions;
  #cancel: (() => void) | undefined;

  constructor(options: QuietWatchOptions) {
    this.#options = options;
  }

  /** From now on. */
  start(): void {
    this.#wait(this.#options.quietMs);
  }

  stop(): void {
    this.#cancel?.();
  }

  #wait(delayMs: number): void {
    const { clock, quietMs, readSilentMs, onQuiet } = this.#options;
    this.#cancel?.();
    this.#cancel = clock.setTimer(() => {
      const silentMs = readSilentMs();
      if (silentMs < quietMs) this.#wait(quietMs - silentMs);
      else onQuiet();
    }, delayMs);
  }
}
