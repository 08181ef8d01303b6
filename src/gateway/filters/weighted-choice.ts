// Splits the requests of a rule over its backends by weight.
import type { WeightedBackendConfig, WeightedBackends } from '../config/runtime-config.ts';

/**
 * One of the backends, each with the probability weight / sum of weights; one with weight 0 never. An invalid backend keeps its
 * share (its requests answer an error). Undefined when no backend has a weight: answer 500. `random` is in [0, 1).
 */
export function chooseBackend(
  backends: WeightedBackends,
  random: () => number = Math.random,
): WeightedBackendConfig | undefined {
  if (backends.totalWeight === 0) return undefined;
  if (backends.entries.length === 1) return backends.entries[0];
  let remaining = random() * backends.totalWeight;
  let last: WeightedBackendConfig | undefined;
  for (const entry of backends.entries) {
    if (entry.weight === 0) continue;
    if (remaining < entry.weight) return entry;
    remaining -= entry.weight;
    last = entry;
  }
  // Rounding may leave a remainder behind the last entry.
  return last;
}
