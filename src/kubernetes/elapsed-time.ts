// How much time has really passed. The monotonic clock of a machine that was suspended stood still meanwhile; the wall clock did not, but may have been set.
// What one of them is ahead counts, so that "my time is over" never comes too late.

/** Clocks that are adjusted a little, and counted in whole milliseconds. */
const toleranceMs = 500;

/** Milliseconds since some moment; never goes back. Read it often: what happens between two readings is seen as a whole. */
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
