// Long work in turns: a gateway that reads a large configuration goes on answering requests meanwhile.
import { setImmediate as letOthersRun } from 'node:timers/promises';

/** How long work may go on before others have their turn. Shorter than anybody notices, long enough to get somewhere. */
const turnMilliseconds = 10;

/** Takes turns with everything else in the process. */
export class Turns {
  #since = performance.now();

  /** Called between two pieces of work; lets others run when the turn is over. */
  async pass(): Promise<void> {
    if (performance.now() - this.#since < turnMilliseconds) return;
    await letOthersRun();
    this.#since = performance.now();
  }
}
