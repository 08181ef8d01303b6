// Statuses in which some conditions are others. What was made before is the same object again.
import type { Condition } from './conditions.ts';

/** The conditions with one in the place of another of its type, or at the end. */
export function replaceCondition(conditions: readonly Condition[], condition: Condition): readonly Condition[] {
  const at = conditions.findIndex(({ type }) => type === condition.type);
  return at < 0 ? [...conditions, condition] : conditions.with(at, condition);
}

/** The condition of a type. */
export function findCondition(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type);
}

/** Makes a status anew when what makes it different from the original is different from last time. */
export function createStatusMaker<S extends object, D>(
  make: (original: S, difference: D) => S,
): (original: S, difference: D) => S {
  const made = new WeakMap<S, { readonly signature: string; readonly status: S }>();
  return (original, difference) => {
    const signature = JSON.stringify(difference);
    const known = made.get(original);
    if (known?.signature === signature) return known.status;
    const status = make(original, difference);
    made.set(original, { signature, status });
    return status;
  };
}
