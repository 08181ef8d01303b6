// Notices that the other end of a connection still talks: a message, or an answer to a ping. Only bytes that have arrived count, so a half-open connection is silent.
import type { Clock } from '../base/clock.ts';

interface ContactWatchOptions {
  readonly clock: Clock;
  /** Goes on while this process or its machine is paused. */
  readonly readUptime: () => number;
  /** How often to look for new bytes. */
  readonly lookMs: number;
  /** The other end was heard, at most this long ago. */
  readonly onHeard: (agoMs: number) => void;
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
    this.#options.onHeard(0);
    this.#look(countBytes, countBytes());
  }

  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** Bytes may have come right after the previous look. After a pause that is long ago: they waited in a buffer. */
  #look(countBytes: () => number, before: number): void {
    const { clock, readUptime, lookMs, onHeard } = this.#options;
    const lookedAt = readUptime();
    this.#cancel = clock.setTimer(() => {
      const now = countBytes();
      if (now > before) onHeard(Math.max(0, readUptime() - lookedAt));
      this.#look(countBytes, now);
    }, lookMs);
  }
}
