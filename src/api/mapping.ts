// Raw values from YAML and JSON: mappings, lists and scalars.

/** Whether a value is an object with named fields. */
export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
