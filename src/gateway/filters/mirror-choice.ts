// Decides which mirrors get a copy of a request.
import type { MirrorConfig } from '../config/runtime-config.ts';

/** The mirrors for one request: each by its own fraction, independently of the others. `random` is in [0, 1). */
export function chooseMirrors(
  mirrors: readonly MirrorConfig[],
  random: () => number = Math.random,
): readonly MirrorConfig[] {
  if (mirrors.length === 0) return mirrors;
  return mirrors.filter(({ numerator, denominator }) => numerator >= denominator || random() * denominator < numerator);
}
