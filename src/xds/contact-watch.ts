// Notices that the other end of a connection still talks: a message, or an answer to a ping. Only bytes that have arrived count, so a half-open connection is silent.
import type { Clock } from '../base/clock.ts';

interface ContactWatchOptions {
  readonly clock: Clock;
  /** How often to look for new bytes. */
  readonly lookMs: number;
  readonly onHeard: () => void;
}

/** Watches one connection at a time, from `begin` to `end`. */
export class ContactWatch {
  readonly #options: ContactWatchOptions;
  #cancel: (() => void) | undefined;

  constructor(options: ContactWatchOptions) {
    this.#options = options;
  }

  /** The other end was heard just now. `countBytes`: how many it has sent so far. */
  begin(countBytes: () => number): void {
    this.end();
    this.#options.onHeard();
    this.#look(countBytes, countBytes());
  }

  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #look(countBytes: () => number, before: number): void {
    const { clock, lookMs, onHeard } = this.#options;
    this.#cancel = clock.setTimer(() => {
      const now = countBytes();
      if (now > before) onHeard();
      this.#look(countBytes, now);
    }, lookMs);
  }
}
