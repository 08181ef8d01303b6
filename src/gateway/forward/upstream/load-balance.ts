// Least outstanding of two random choices: nearly as even as asking all endpoints, without herding on the one that looks idle.

interface Balanced {
  readonly outstanding: number;
}

/** Picks from the candidates; undefined when there is none. `random` gives numbers in [0, 1). */
export function pickLeastOfTwo<T extends Balanced>(candidates: readonly T[], random: () => number): T | undefined {
  const count = candidates.length;
  if (count <= 1) return candidates[0];
  const first = Math.floor(random() * count);
  // Of the others, so the two are never the same one.
  const second = (first + 1 + Math.floor(random() * (count - 1))) % count;
  const a = candidates[first]!;
  const b = candidates[second]!;
  return b.outstanding < a.outstanding ? b : a;
}
