// A work queue by key: each key runs once at a time, several keys run concurrently, and failures are retried after a delay. A key that is added while it
// runs, runs once more afterwards, so the newest state always wins.
import type { Clock } from '../base/clock.ts';
import { KeyedTasks } from '../kubernetes/keyed-tasks.ts';

/** The result of one attempt. */
export type WorkOutcome =
  | { readonly done: true }
  /** `afterMs` is jittered by up to a half. */
  | { readonly done: false; readonly afterMs: number };

interface WorkQueueOptions {
  readonly concurrency: number;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** `failures` counts the attempts since the last success. A rejection is a bug of the caller: it is reported, and the key is dropped. */
  readonly run: (key: string, failures: number, signal: AbortSignal) => Promise<WorkOutcome>;
  readonly onBug: (key: string, error: unknown) => void;
}

/** Runs keys in the order in which they were added. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #tasks: KeyedTasks;
  /** By key, if its last attempt failed. */
  readonly #failures = new Map<string, number>();

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    const { concurrency, clock } = options;
    this.#tasks = new KeyedTasks({ concurrency, clock, run: (key, signal) => this.#work(key, signal) });
  }

  /** The number of keys that wait or run. */
  get size(): number {
    return this.#tasks.size;
  }

  /** Queues a key. A key that waits after a failure goes on waiting. */
  add(key: string): void {
    this.#tasks.add(key);
  }

  /** Drops all keys and aborts the running attempts. Resolves when they have ended. */
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
      this.#options.onBug(key, error);
    }
    // A key that was cleared during the attempt starts anew.
    if (outcome.done || signal.aborted) {
      this.#failures.delete(key);
      return undefined;
    }
    this.#failures.set(key, failures + 1);
    return outcome.afterMs * (1 + this.#options.random() / 2);
  }
}
