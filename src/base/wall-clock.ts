// Converts performance.now() to the time of day. Reading the system clock costs a good part of an access line, so it is read now and then, and the
// monotonic clock continues from there.

/** A clock that was set, or a machine that slept, is noticed after this time. */
const trustedMs = 50;

let wallMs = 0;
let monotonicMs = Number.NEGATIVE_INFINITY;

/** Whole milliseconds since 1970, of a moment just now. */
export function readWallClock(monotonicNow: number): number {
  const passed = monotonicNow - monotonicMs;
  if (passed >= 0 && passed < trustedMs) return Math.floor(wallMs + passed);
  monotonicMs = monotonicNow;
  wallMs = Date.now();
  return wallMs;
}
