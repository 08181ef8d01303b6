// Suggestions for a name that does not exist: the valid one with the smallest edit distance, if it is small enough to be a slip.

/** The number of insertions, deletions, substitutions and swaps of neighbours between two names (optimal string alignment). */
export function measureDistance(left: string, right: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const substitution = left[row - 1] === right[column - 1] ? 0 : 1;
      let best = Math.min(previous[column]! + 1, current[column - 1]! + 1, previous[column - 1]! + substitution);
      const swapped =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (swapped) best = Math.min(best, beforePrevious[column - 2]! + 1);
      current.push(best);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[right.length]!;
}

/** Names longer than this are no slip of a valid one, and not worth comparing. */
const longestName = 100;

/** The valid name that a wrong one was probably meant to be. Case does not count. */
export function findNearestName(name: string, valid: Iterable<string>): string | undefined {
  if (name.length > longestName) return undefined;
  const wanted = name.toLowerCase();
  let nearest: string | undefined;
  let smallest = Number.POSITIVE_INFINITY;
  for (const candidate of valid) {
    const distance = measureDistance(wanted, candidate.toLowerCase());
    const allowed = Math.max(1, Math.floor(Math.min(name.length, candidate.length) / 3));
    if (distance <= allowed && distance < smallest) [nearest, smallest] = [candidate, distance];
  }
  return nearest;
}

/** "a, b or c". */
export function listAlternatives(names: readonly string[]): string {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
