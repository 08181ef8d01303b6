// Lifetimes of entries, as every driver takes them.

/** More than a year is a mistake somewhere, and no driver has to cope with it. */
const maxLifetimeMs = 400 * 24 * 60 * 60 * 1_000;

/** Whole milliseconds, at least one. Throws a RangeError when it is no time at all. */
export function readLifetime(lifetimeMs: number): number {
  if (Number.isNaN(lifetimeMs)) throw new RangeError('the lifetime of an entry is not a number');
  return Math.min(Math.max(Math.ceil(lifetimeMs), 1), maxLifetimeMs);
}
