// Work by key: each key once at a time, several keys at once, and again after a wait when it failed. What is added while it is being done is done once
// more afterwards, so the newest always wins.
import type { Clock } from '../base/clock.ts';

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

interface Item {
  state: 'queued' | 'running' | 'waiting';
  isDirty: boolean;
  failures: number;
  stopWaiting: (() => void) | undefined;
}

/** Keys to be worked on, in the order in which they were added. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #items = new Map<string, Item>();
  #ready: string[] = [];
  #next = 0;
  readonly #running = new Set<Promise<void>>();
  #abort = new AbortController();

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Keys that are not done. */
  get size(): number {
    return this.#items.size;
  }

  /** Has the key worked on. One that waits after a failure goes on waiting. */
  add(key: string): void {
    const item = this.#items.get(key);
    if (item !== undefined) {
      item.isDirty ||= item.state === 'running';
      return;
    }
    this.#items.set(key, { state: 'queued', isDirty: false, failures: 0, stopWaiting: undefined });
    this.#ready.push(key);
    this.#start();
  }

  /** Forgets everything, and aborts what is being done. Resolves when nothing of it goes on. */
  async clear(): Promise<void> {
    for (const item of this.#items.values()) item.stopWaiting?.();
    this.#items.clear();
    this.#ready = [];
    this.#next = 0;
    this.#abort.abort();
    this.#abort = new AbortController();
    await Promise.all(this.#running);
  }

  #start(): void {
    while (this.#running.size < this.#options.concurrency && this.#next < this.#ready.length) {
      const key = this.#ready[this.#next]!;
      this.#next += 1;
      const item = this.#items.get(key);
      if (item?.state !== 'queued') continue;
      const work = this.#work(key, item).finally(() => {
        this.#running.delete(work);
        this.#start();
      });
      this.#running.add(work);
    }
    // Taken from the front without moving the rest each time.
    if (this.#next === this.#ready.length || this.#next > 1_024) {
      this.#ready = this.#ready.slice(this.#next);
      this.#next = 0;
    }
  }

  async #work(key: string, item: Item): Promise<void> {
    item.state = 'running';
    item.isDirty = false;
    let outcome: WorkOutcome = { done: true };
    try {
      outcome = await this.#options.run(key, item.failures, this.#abort.signal);
    } catch (error) {
      this.#options.onMistake(key, error);
    }
    if (this.#items.get(key) === item) this.#settle(key, item, outcome);
  }

  #settle(key: string, item: Item, outcome: WorkOutcome): void {
    if (!outcome.done) {
      item.failures += 1;
      item.state = 'waiting';
      const delay = outcome.afterMs * (1 + this.#options.random() / 2);
      item.stopWaiting = this.#options.clock.setTimer(() => this.#requeue(key, item), delay);
    } else if (item.isDirty) {
      item.failures = 0;
      this.#requeue(key, item);
    } else {
      this.#items.delete(key);
    }
  }

  #requeue(key: string, item: Item): void {
    if (this.#items.get(key) !== item) return;
    item.state = 'queued';
    item.stopWaiting = undefined;
    this.#ready.push(key);
    this.#start();
  }
}
