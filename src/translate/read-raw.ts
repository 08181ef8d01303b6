// Careful reading of resources that did not validate: anything may be anywhere.

/** An object's own member, undefined when the value is no object or has no such member. */
export function readMember(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<string, unknown>)[key];
  }
  return current;
}

/** A member that is a text with at least one character. */
export function readText(value: unknown, ...path: readonly string[]): string | undefined {
  const member = readMember(value, ...path);
  return typeof member === 'string' && member !== '' ? member : undefined;
}

/** A member that is a list; undefined when it is anything else. */
export function readList(value: unknown, ...path: readonly string[]): readonly unknown[] | undefined {
  const member = readMember(value, ...path);
  return Array.isArray(member) ? member : undefined;
}

/** metadata.generation, 0 when there is none. */
export function readGeneration(value: unknown): number {
  const generation = readMember(value, 'metadata', 'generation');
  return typeof generation === 'number' && Number.isSafeInteger(generation) ? generation : 0;
}
