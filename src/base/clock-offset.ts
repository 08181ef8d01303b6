// How far the clock of a server is from this machine's, by the Date of its answer (RFC 9110 6.6.1).

/** Milliseconds that the server's clock is ahead, as of `nowMs`; negative: behind. Undefined: the answer does not tell. `age` is the header of that name, of caches. */
export function readClockOffset(
  date: string | null | undefined,
  age: string | null | undefined,
  nowMs: number,
): number | undefined {
  const dateMs = Date.parse(date ?? '');
  if (Number.isNaN(dateMs)) return undefined;
  // RFC 9111 5.1: an answer out of a cache has the Date of its origin, that long ago.
  const ageMs = /^\d{1,9}$/.test(age ?? '') ? Number(age) * 1_000 : 0;
  return dateMs + ageMs - nowMs;
}

/** "45 s", "10 min", "3 h", whatever the sign. */
export function describeOffset(offsetMs: number): string {
  const seconds = Math.round(Math.abs(offsetMs) / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
