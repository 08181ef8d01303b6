// Merges plain values field by field: mappings by key, everything else (lists as well) by taking the later one.

/** A mapping of JSON values. */
export type Json = Readonly<Record<string, unknown>>;

/** Whether a value is a mapping. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The later value wins, mapping by mapping. `undefined` keeps the earlier one; null is an ordinary value. Changes neither. */
export function mergeValues<T>(earlier: T, later: T): T {
  if (later === undefined) return earlier;
  if (!isJson(earlier) || !isJson(later)) return later;
  const merged: Record<string, unknown> = { ...earlier };
  for (const [key, value] of Object.entries(later)) {
    if (key === '__proto__') continue;
    merged[key] = Object.hasOwn(merged, key) ? mergeValues(merged[key], value) : value;
  }
  return merged as T;
}

/** A value without the fields that are null, at any depth. */
export function dropNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropNulls);
  if (!isJson(value)) return value;
  const entries = Object.entries(value).filter(([key, inner]) => inner !== null && key !== '__proto__');
  return Object.fromEntries(entries.map(([key, inner]) => [key, dropNulls(inner)]));
}
