// Statuses in which some conditions are replaced. An unchanged status stays the same object.
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

/** Builds a status again only when its difference from the original has changed since last time. */
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
