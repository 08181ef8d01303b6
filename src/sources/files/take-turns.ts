// Cooperative yielding: a gateway that reads a large configuration goes on answering requests meanwhile.
import { setImmediate as letOthersRun } from 'node:timers/promises';

/** How long work may run before it yields: too short to be noticed, long enough to make progress. */
const turnMilliseconds = 10;

/** Yields to everything else in the process. */
export class Turns {
  #since = performance.now();

  /** Called between two pieces of work; lets others run when the turn is over. */
  async pass(): Promise<void> {
    if (performance.now() - this.#since < turnMilliseconds) return;
    await letOthersRun();
    this.#since = performance.now();
  }
}
