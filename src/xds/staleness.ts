// Whether a gateway has heard from a controller recently enough to trust its configuration. A state machine over a clock: it knows neither sockets nor files.
import type { Clock } from '../base/clock.ts';

interface StalenessOptions {
  /** For timers. */
  readonly clock: Clock;
  /** Measures the silence: a clock that was set, or a machine that slept, must not make it look shorter. */
  readonly readUptime: () => number;
  /** The longest silence that does not matter; undefined: any. */
  readonly maxMs: number | undefined;
  /** The silence that there was already; Infinity: not known. */
  readonly silentMs: number;
  /** Called when the gateway becomes stale, and when it no longer is. */
  readonly onChange: (isStale: boolean) => void;
}

/** A timer does not run while the machine sleeps, so the silence is looked at again at least this often. */
const lookMs = 1_000;

/** Watches from `start` to `stop`. */
export class StalenessWatch {
  readonly #options: StalenessOptions;
  #heardAt: number;
  #isStale = false;
  #cancel: (() => void) | undefined;

  constructor(options: StalenessOptions) {
    this.#options = options;
    this.#heardAt = options.readUptime() - options.silentMs;
  }

  get isStale(): boolean {
    return this.#isStale;
  }

  /** Time since a controller was last heard; Infinity: not known. */
  get silentMs(): number {
    return Math.max(0, this.#options.readUptime() - this.#heardAt);
  }

  start(): void {
    if (this.#options.maxMs !== undefined) this.#look(this.#options.maxMs);
  }

  stop(): void {
    this.#cancel?.();
  }

  /** A controller was heard, this long ago. */
  heard(agoMs: number): void {
    this.#heardAt = Math.max(this.#heardAt, this.#options.readUptime() - agoMs);
    if (this.silentMs < (this.#options.maxMs ?? Infinity)) this.#change(false);
  }

  #look(maxMs: number): void {
    const { silentMs } = this;
    if (silentMs >= maxMs) this.#change(true);
    const delayMs = this.#isStale ? lookMs : Math.min(lookMs, maxMs - silentMs);
    this.#cancel = this.#options.clock.setTimer(() => this.#look(maxMs), delayMs);
  }

  #change(isStale: boolean): void {
    if (this.#isStale === isStale) return;
    this.#isStale = isStale;
    this.#options.onChange(isStale);
  }
}
