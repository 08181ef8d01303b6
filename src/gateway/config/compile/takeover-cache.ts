// Expensive objects by their content, one cache per compilation: what the compilation before it made is taken over, and what is
// no longer asked for goes away with it.

/** Created objects by key, with those of the cache before it at hand until `seal`. */
export class TakeoverCache<V> {
  readonly #entries = new Map<string, V>();
  #before: ReadonlyMap<string, V> | undefined;

  constructor(before: TakeoverCache<V> | undefined) {
    if (before !== undefined) this.#before = before.#entries;
  }

  /** The object for this key; created only when neither this cache nor the one before it has one. */
  get(key: string, createValue: () => V): V {
    const value = this.#entries.get(key) ?? this.#before?.get(key) ?? createValue();
    this.#entries.set(key, value);
    return value;
  }

  /** Takes over what the cache before it has under this key: for those who still use it and have no need to ask. */
  keep(key: string): void {
    const value = this.#before?.get(key);
    if (value !== undefined && !this.#entries.has(key)) this.#entries.set(key, value);
  }

  /** Ends the compilation: the cache before this one is forgotten. */
  seal(): void {
    this.#before = undefined;
  }
}
