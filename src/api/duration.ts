// Durations as the Gateway API writes them (GEP-2257): 500ms, 10s, 1h30m.
import * as z from 'zod';
import { withRules } from './cel-rules.ts';

const durationPattern = /^([0-9]{1,5}(h|m|s|ms)){1,4}$/;
const millisecondsPer: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** A duration; it stays the string that was written. */
export const durationSchema = z
  .string()
  .max(32)
  .regex(durationPattern, 'must be a duration such as 500ms, 10s or 1h30m');

/** The milliseconds of a duration that the schema has let through. Throws a RangeError on anything else. */
export function parseDuration(duration: string): number {
  if (!durationPattern.test(duration)) throw new RangeError(`not a duration: ${JSON.stringify(duration)}`);
  let total = 0;
  for (const [, amount, unit] of duration.matchAll(/([0-9]+)(ms|h|m|s)/g))
    total += Number(amount) * millisecondsPer[unit!]!;
  return total;
}

/** A duration within bounds, for fields where zero or a year makes no sense. */
export function boundedDurationSchema(bounds: { readonly min: string; readonly max: string }) {
  const [min, max] = [parseDuration(bounds.min), parseDuration(bounds.max)];
  return withRules(durationSchema, [
    {
      cel: `duration(self) >= duration('${bounds.min}') && duration(self) <= duration('${bounds.max}')`,
      message: `must be between ${bounds.min} and ${bounds.max}`,
      holds: (value) => !durationPattern.test(value) || (parseDuration(value) >= min && parseDuration(value) <= max),
    },
  ]);
}
