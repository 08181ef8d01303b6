// The health of a key source, for observers of many policies that share few sources.
import type { KeySource } from './key-source.ts';

/** Why keys cannot be fetched at the moment. */
export interface KeyTrouble {
  readonly reason: string;
  /** True: there are no keys to judge tokens by. False: the last ones are still in use. */
  readonly hasNone: boolean;
}

/** One object per source. */
export interface KeyHealth {
  /** Undefined: all is well. */
  findTrouble(): KeyTrouble | undefined;
}

const known = new WeakMap<KeySource, KeyHealth>();

/** The health of a source, the same object each time. */
export function watchKeySource(source: KeySource): KeyHealth {
  let health = known.get(source);
  if (health === undefined) {
    health = { findTrouble: () => findTrouble(source) };
    known.set(source, health);
  }
  return health;
}

function findTrouble(source: KeySource): KeyTrouble | undefined {
  const state = source.getKeys();
  if (!state.ok) return { reason: state.detail, hasNone: true };
  const { problem } = source.describe();
  return problem === undefined ? undefined : { reason: problem, hasNone: false };
}
