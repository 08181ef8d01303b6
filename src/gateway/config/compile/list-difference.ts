// Where two lists differ. A change is mostly one element among thousands, so the common start and end are skipped.

/** How many elements are the same objects at the start and at the end. The two never overlap. */
interface SameEnds {
  readonly start: number;
  readonly end: number;
}

/** Compares by identity. */
export function findSameEnds(left: readonly unknown[], right: readonly unknown[]): SameEnds {
  const length = Math.min(left.length, right.length);
  let start = 0;
  while (start < length && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < length - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  return { start, end };
}
