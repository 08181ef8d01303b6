// Rounds that others have spoilt are measured again. A virtual machine shares its processors: what was meant for us and went to others is told by the kernel as
// stolen time, and whatever is measured meanwhile tells of them.
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** Of the time that the machine had work to do. */
const mostStolen = 0.05;
/** After a round that does not count. */
const pauseMs = 10_000;

/** Ticks of all processors since the machine has started. */
export interface ProcessorTime {
  readonly busy: number;
  readonly stolen: number;
}

/** Reads the first line of /proc/stat. */
export function parseProcessorTime(stat: string): ProcessorTime {
  const numbers = /^cpu +([\d ]+)$/m.exec(stat)?.[1]?.split(' ').map(Number) ?? [];
  const [user, nice, system, , , interrupts, softInterrupts, stolen] = numbers;
  if (stolen === undefined) throw new Error(`not /proc/stat: ${stat.slice(0, 200)}`);
  return { busy: user! + nice! + system! + interrupts! + softInterrupts!, stolen };
}

export interface CalmOptions {
  readonly report: (line: string) => void;
  readonly readTime?: () => Promise<ProcessorTime>;
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** Gives a function that measures a round, and again after a pause if others took too much of the machine: so often in all, and no more. */
export function createCalmRounds(
  mostSpoilt: number,
  {
    report,
    readTime = async () => parseProcessorTime(await readFile('/proc/stat', 'utf8')),
    wait = (ms) => delay(ms),
  }: CalmOptions,
): <Round>(measure: () => Promise<Round>) => Promise<Round> {
  let spoilt = 0;
  return async (measure) => {
    for (;;) {
      const before = await readTime();
      const round = await measure();
      const after = await readTime();
      const stolen = after.stolen - before.stolen;
      const share = stolen / Math.max(1, stolen + after.busy - before.busy);
      if (share <= mostStolen || spoilt >= mostSpoilt) return round;
      spoilt += 1;
      report(
        `Others took ${(100 * share).toFixed(0)} % of the machine: this round does not count (${spoilt} of at most ${mostSpoilt})`,
      );
      await wait(pauseMs);
    }
  };
}
