// Limits of the gateway, divided among its workers: what all of them take together is never more than what one process would.

/** The share of one worker, counted from 0: shares differ by one at most and add up to the limit, unless there are more workers than that. */
export function divideLimit(limit: number, count: number, index: number): number {
  const share = Math.floor(limit / count) + (index < limit % count ? 1 : 0);
  return Math.max(limit === 0 ? 0 : 1, share);
}
