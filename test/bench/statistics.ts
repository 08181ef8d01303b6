// Numbers out of a handful of measurements on a machine that others use as well.

/** What several measurements of one thing say. */
export interface Summary {
  readonly median: number;
  /** How wide the interval is in which the true median lies with 95 % confidence, as a part of the median: 0.05 is 5 %. */
  readonly spread: number;
}

/** Ratios that are less sure than this are not worth printing. */
export const widestSpread = 0.05;

/** With fewer measurements not even the smallest and the largest enclose the median with 95 % confidence. */
export const fewestRounds = 6;

/** The median and how sure it is. */
export function summarize(values: readonly number[]): Summary {
  const median = findQuantile(values, 0.5);
  const [low, high] = findMedianInterval(values);
  return { median, spread: (high - low) / median };
}

/**
 * The interval from order statistics: it assumes nothing about how measurements are distributed, and on a shared machine
 * nothing can be assumed. The true median lies below k of n measurements as often as k coins out of n show heads.
 */
function findMedianInterval(values: readonly number[]): readonly [low: number, high: number] {
  const sorted = values.toSorted((a, b) => a - b);
  const count = sorted.length;
  let outside = 0;
  let combinations = 1;
  let left = 0;
  for (let heads = 0; heads < count / 2; heads += 1) {
    outside += (2 * combinations) / 2 ** count;
    if (outside > 0.05) break;
    left = heads;
    combinations = (combinations * (count - heads)) / (heads + 1);
  }
  return [sorted[left]!, sorted[count - 1 - left]!];
}

/** The value below which this part of all values lies; between two of them it is interpolated. */
export function findQuantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  if (below === undefined || above === undefined) throw new RangeError('no values');
  return below + (above - below) * (at - Math.floor(at));
}

/** A number that several measurements agree on, or why there is none. */
export type Measured =
  | {
      readonly ok: true;
      readonly median: number;
      readonly spread: number;
      /** Where the true median lies with 95 % confidence; half the spread to either side when it is not said. */
      readonly range?: Range;
    }
  | {
      readonly ok: false;
      readonly why: string;
      /** The same, if there were enough measurements: too wide to be called a number, but it may lie on one side of a target. */
      readonly range?: Range;
    };

type Range = readonly [low: number, high: number];

/** The median, if the measurements are enough and agree. */
export function settle(values: readonly number[], widest = widestSpread): Measured {
  if (values.length < fewestRounds) {
    return { ok: false, why: `${values.length} rounds are too few; ${fewestRounds} are needed` };
  }
  const { median, spread } = summarize(values);
  const range = findMedianInterval(values);
  if (spread > widest) {
    const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;
    const why = `it is only known to within ${percent(spread)}, and ${percent(widest)} is the limit`;
    return { ok: false, why, range };
  }
  return { ok: true, median, spread, range };
}

/** Two things that were measured in the same rounds. */
export interface ComparedRounds {
  readonly values: readonly number[];
  readonly base: readonly number[];
}

/** How many times the base it is, from measurements of the same rounds: what slows the machine down for a while slows down both. */
export function compare(values: readonly number[], base: readonly number[], widest = widestSpread): Measured {
  return compareRounds([{ values, base }], widest);
}

/** The same for rounds of several times. */
export function compareRounds(times: readonly ComparedRounds[], widest = widestSpread): Measured {
  if (times.some(({ values, base }) => values.length !== base.length)) throw new RangeError('not the same rounds');
  return settle(
    times.flatMap(({ values, base }) => values.map((value, round) => value / base[round]!)),
    widest,
  );
}
