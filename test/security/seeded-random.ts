// Numbers that look random and are the same in every run, so that what a fuzz test finds it finds again.

/** Draws numbers. */
export interface SeededRandom {
  /** An integer from 0 up to, and without, the limit. */
  below(limit: number): number;
  pick<T>(list: readonly T[]): T;
}

/** The generator mulberry32. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit: number): number => Math.floor((next() / 4_294_967_296) * limit);
  return { below, pick: (list) => list[below(list.length)]! };
}
