// Expensive objects by content, one cache per compilation: objects of the previous cache are reused, and unused ones are dropped
// with it.

/** Created objects by key; falls back to the previous cache until `seal`. */
export class TakeoverCache<V> {
  readonly #entries = new Map<string, V>();
  #before: ReadonlyMap<string, V> | undefined;

  constructor(before: TakeoverCache<V> | undefined) {
    if (before !== undefined) this.#before = before.#entries;
  }

  /** The object for this key; created only when neither this cache nor the previous one has it. */
  get(key: string, createValue: () => V): V {
    const value = this.#entries.get(key) ?? this.#before?.get(key) ?? createValue();
    this.#entries.set(key, value);
    return value;
  }

  /** Keeps the previous cache's object for this key, for callers that still use it without calling `get`. */
  keep(key: string): void {
    const value = this.#before?.get(key);
    if (value !== undefined && !this.#entries.has(key)) this.#entries.set(key, value);
  }

  /** Ends the compilation: releases the previous cache. */
  seal(): void {
    this.#before = undefined;
  }
}
