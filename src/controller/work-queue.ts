// Work by key: each key once at a time, several keys at once, and again after a wait when it failed. What is added while it is being done is done once
// more afterwards, so the newest always wins.
import type { Clock } from '../base/clock.ts';
import { KeyedTasks } from '../kubernetes/keyed-tasks.ts';

/** How one try ended. */
export type WorkOutcome =
  | { readonly done: true }
  /** `afterMs` is jittered by up to a half. */
  | { readonly done: false; readonly afterMs: number };

export interface WorkQueueOptions {
  readonly concurrency: number;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** `failures` counts the tries since the last that was done. A rejection is a mistake of the caller; it is told and the key dropped. */
  readonly run: (key: string, failures: number, signal: AbortSignal) => Promise<WorkOutcome>;
  readonly onMistake: (key: string, error: unknown) => void;
}

/** Keys to be worked on, in the order in which they were added. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #tasks: KeyedTasks;
  /** Of the keys whose last try was not done. */
  readonly #failures = new Map<string, number>();

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    const { concurrency, clock } = options;
    this.#tasks = new KeyedTasks({ concurrency, clock, run: (key, signal) => this.#work(key, signal) });
  }

  /** Keys that are not done. */
  get size(): number {
    return this.#tasks.size;
  }

  /** Has the key worked on. One that waits after a failure goes on waiting. */
  add(key: string): void {
    this.#tasks.add(key);
  }

  /** Forgets everything, and aborts what is being done. Resolves when nothing of it goes on. */
  async clear(): Promise<void> {
    this.#failures.clear();
    await this.#tasks.clear();
  }

  async #work(key: string, signal: AbortSignal): Promise<number | undefined> {
    const failures = this.#failures.get(key) ?? 0;
    let outcome: WorkOutcome = { done: true };
    try {
      outcome = await this.#options.run(key, failures, signal);
    } catch (error) {
      this.#options.onMistake(key, error);
    }
    // Of what was cleared meanwhile nothing is remembered.
    if (outcome.done || signal.aborted) {
      this.#failures.delete(key);
      return undefined;
    }
    this.#failures.set(key, failures + 1);
    return outcome.afterMs * (1 + this.#options.random() / 2);
  }
}
