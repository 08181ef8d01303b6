// Whether a target is up: known from every exchange with it. While it is down it is tried again with backoff, so that its return is seen without a client.
import { type Backoff, createBackoff } from '../../../base/backoff.ts';
import { cutText } from '../../../base/cut-text.ts';
import type { TargetState } from './target.ts';

const firstDelayMs = 500;
const maxDelayMs = 10_000;
/** Characters of a failure that are kept. */
const maxDetailLength = 512;

interface TargetHealthOptions {
  /** Sends something; the exchange itself tells the health of its outcome. */
  readonly probe: () => Promise<void>;
  readonly random: () => number;
  readonly onDown: () => void;
}

export class TargetHealth {
  readonly #options: TargetHealthOptions;
  readonly #backoff: Backoff;
  readonly #listeners = new Set<() => void>();
  #health: TargetState['health'] = 'unknown';
  #lastFailure: TargetState['lastFailure'];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: TargetHealthOptions) {
    this.#options = options;
    this.#backoff = createBackoff({
      firstMs: firstDelayMs,
      maxMs: maxDelayMs,
      random: options.random,
      jitter: [0.5, 1],
    });
  }

  get health(): TargetState['health'] {
    return this.#health;
  }

  get lastFailure(): TargetState['lastFailure'] {
    return this.#lastFailure;
  }

  /** It answered. */
  noteUp(): void {
    if (this.#health === 'up' || this.#isClosed) return;
    this.#health = 'up';
    this.#backoff.reset();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#tell();
  }

  /** It could not be reached, or said nothing when it was asked who it is. */
  noteDown(detail: string): void {
    this.noteFailure(detail);
    if (this.#isClosed) return;
    const wasDown = this.#health === 'down';
    this.#health = 'down';
    this.#schedule();
    if (wasDown) return;
    this.#options.onDown();
    this.#tell();
  }

  /** Something went wrong, for people to read. */
  noteFailure(detail: string): void {
    this.#lastFailure = { atMs: Date.now(), detail: cutText(detail, maxDetailLength) };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#listeners.clear();
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    // It must not keep the process alive.
    this.#timer = setTimeout(() => {
      void this.#options.probe().then(() => {
        this.#timer = undefined;
        if (this.#health === 'down' && !this.#isClosed) this.#schedule();
      });
    }, this.#backoff.next()).unref();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
