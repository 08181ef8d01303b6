// How far away a time is, in the one unit that a person would use.

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** "in 5 min", "3 h ago", "now"; rounded down, so that nothing is said to last longer than it does. */
export function describeDistance(milliseconds: number): string {
  const length = Math.abs(milliseconds);
  const unit = units.find(([, size]) => length >= size);
  if (unit === undefined) return 'now';
  const amount = `${Math.floor(length / unit[1])} ${unit[0]}`;
  return milliseconds > 0 ? `in ${amount}` : `${amount} ago`;
}
