// Elapsed time that includes suspension. The monotonic clock stands still while a machine is suspended; the wall clock does not, but may be set.
// The clock that is ahead counts, so that a deadline is never noticed too late.

/** For small adjustments of the clock and rounding to whole milliseconds. */
const toleranceMs = 500;

/** Milliseconds since some moment; never goes back. Read it often: jumps between two readings are seen only as their sum. */
export function createElapsedTime(wall: () => number, monotonic: () => number): () => number {
  let before = wall() - monotonic();
  let ahead = 0;
  return () => {
    const now = monotonic();
    const difference = wall() - now;
    const jump = difference - before;
    before = difference;
    if (jump > toleranceMs) ahead += jump;
    return now + ahead;
  };
}
