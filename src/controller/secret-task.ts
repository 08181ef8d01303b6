// One task about a Secret: it runs whenever something that it looks at has changed, and again with backoff after a failure.
import { type Backoff, createBackoff } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { ReadonlyWatchable } from '../base/watchable.ts';
import { ApiError, ApiUnreachableError } from '../kubernetes/client.ts';
import { KeyedTasks } from '../kubernetes/keyed-tasks.ts';

interface SecretTaskOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly random: () => number;
  /** What the log says about a failure. */
  readonly failure: string;
  readonly triggers: readonly ReadonlyWatchable<unknown>[];
  /** Resolves to the delay before the next run; undefined: nothing to do before a trigger. */
  readonly run: (signal: AbortSignal) => Promise<number | undefined>;
}

const key = 'secret';

/** Runs the task until it is stopped. */
export class SecretTask {
  readonly #options: SecretTaskOptions;
  readonly #backoff: Backoff;
  readonly #tasks: KeyedTasks;
  readonly #unsubscribe: readonly (() => void)[];

  constructor(options: SecretTaskOptions) {
    this.#options = options;
    this.#backoff = createBackoff({ firstMs: 1_000, maxMs: 30_000, random: options.random });
    this.#tasks = new KeyedTasks({ concurrency: 1, clock: options.clock, run: (_key, signal) => this.#run(signal) });
    this.#unsubscribe = options.triggers.map((trigger) => trigger.subscribe(() => this.#tasks.schedule(key)));
    this.#tasks.schedule(key);
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#tasks.stop();
  }

  async #run(signal: AbortSignal): Promise<number | undefined> {
    const { log, failure, run } = this.#options;
    try {
      const waitMs = await run(signal);
      this.#backoff.reset();
      return waitMs;
    } catch (error) {
      if (signal.aborted) return undefined;
      // Another replica was faster: the watch soon delivers what it wrote.
      const isRace = error instanceof ApiError && ['AlreadyExists', 'Conflict'].includes(error.status.reason);
      const isExpected = isRace && this.#backoff.tries < 3;
      if (!isExpected && (error instanceof ApiError || error instanceof ApiUnreachableError))
        log.warn({ reason: error.message }, failure);
      else if (!isExpected) log.error({ err: error }, failure);
      return this.#backoff.next();
    }
  }
}
