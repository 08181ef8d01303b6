// Tasks by key: each key runs once at a time, several keys run concurrently, each after its own delay. A failing key does not delay the others.
import type { Clock } from '../base/clock.ts';

interface KeyedTasksOptions {
  readonly concurrency: number;
  readonly clock: Clock;
  /** Resolves to the delay before the key's next turn; undefined: it is done. Never rejects. */
  readonly run: (key: string, signal: AbortSignal) => Promise<number | undefined>;
}

interface Task {
  running: boolean;
  /** Added while it ran. */
  isAddedAgain: boolean;
  /** When it is to run (again); undefined: not scheduled. */
  dueAt: number | undefined;
  stopTimer: (() => void) | undefined;
}

/** Runs tasks. */
export class KeyedTasks {
  readonly #options: KeyedTasksOptions;
  readonly #tasks = new Map<string, Task>();
  readonly #ready = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #abort = new AbortController();

  constructor(options: KeyedTasksOptions) {
    this.#options = options;
  }

  /** Runs the key after a delay, or earlier if it is scheduled earlier. While it runs: once more afterwards. */
  schedule(key: string, delayMs = 0): void {
    if (this.#abort.signal.aborted) return;
    const task = this.#tasks.get(key) ?? createTask();
    this.#tasks.set(key, task);
    const dueAt = this.#options.clock.now() + delayMs;
    if (task.dueAt !== undefined && task.dueAt <= dueAt) return;
    task.dueAt = dueAt;
    if (!task.running) this.#await(key, task);
  }

  /** The number of keys that wait or run. */
  get size(): number {
    return this.#tasks.size;
  }

  /** Runs the key. A key that waits after its last turn goes on waiting; a key that runs, runs once more afterwards, or after its delay. */
  add(key: string): void {
    const task = this.#tasks.get(key);
    if (task === undefined) this.schedule(key);
    else task.isAddedAgain ||= task.running;
  }

  /** Drops all keys and aborts the running tasks. Resolves when they have ended; keys can be added again at once. */
  async clear(): Promise<void> {
    this.#forgetAll();
    this.#abort = new AbortController();
    await Promise.all(this.#running);
  }

  /** Drops a key; a running task of it ends by itself. */
  forget(key: string): void {
    const task = this.#tasks.get(key);
    task?.stopTimer?.();
    this.#ready.delete(key);
    this.#tasks.delete(key);
  }

  /** Aborts everything, and resolves when nothing runs any more. */
  async stop(): Promise<void> {
    this.#forgetAll();
    await Promise.all(this.#running);
  }

  #forgetAll(): void {
    this.#abort.abort();
    for (const task of this.#tasks.values()) task.stopTimer?.();
    this.#tasks.clear();
    this.#ready.clear();
  }

  #await(key: string, task: Task): void {
    const { clock } = this.#options;
    task.stopTimer?.();
    const delay = (task.dueAt ?? 0) - clock.now();
    if (delay > 0) {
      task.stopTimer = clock.setTimer(() => this.#makeReady(key, task), delay);
      return;
    }
    this.#makeReady(key, task);
  }

  #makeReady(key: string, task: Task): void {
    task.stopTimer = undefined;
    if (this.#tasks.get(key) !== task) return;
    this.#ready.add(key);
    this.#start();
  }

  #start(): void {
    for (const key of this.#ready) {
      if (this.#running.size >= this.#options.concurrency) return;
      this.#ready.delete(key);
      const task = this.#tasks.get(key);
      if (task === undefined || task.running) continue;
      const work = this.#run(key, task).finally(() => {
        this.#running.delete(work);
        this.#start();
      });
      this.#running.add(work);
    }
  }

  async #run(key: string, task: Task): Promise<void> {
    task.running = true;
    task.dueAt = undefined;
    task.isAddedAgain = false;
    const waitMs = await this.#options.run(key, this.#abort.signal);
    task.running = false;
    // Dropped or stopped during the run.
    if (this.#tasks.get(key) !== task || this.#abort.signal.aborted) return;
    if (waitMs === undefined && task.isAddedAgain) task.dueAt ??= this.#options.clock.now();
    if (waitMs !== undefined)
      task.dueAt = Math.min(task.dueAt ?? Number.POSITIVE_INFINITY, this.#options.clock.now() + waitMs);
    if (task.dueAt === undefined) this.#tasks.delete(key);
    else this.#await(key, task);
  }
}

function createTask(): Task {
  return { running: false, isAddedAgain: false, dueAt: undefined, stopTimer: undefined };
}
