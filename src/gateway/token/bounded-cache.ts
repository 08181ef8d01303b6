// Values by the text they were made from: bounded in number and in size, the least recently used goes first.

export interface CacheLimits {
  readonly maxEntries: number;
  /** Characters of all keys together: what is remembered about a token takes memory in proportion to it. Default: 16 Mi. */
  readonly maxWeight?: number;
}

interface Entry<V> {
  /** The key as it is kept, which is not the one that a lookup brings along. */
  readonly key: string;
  readonly value: V;
  /** Those that were used before and after it. */
  older: Entry<V> | undefined;
  newer: Entry<V> | undefined;
}

/**
 * A cache by text. The text itself is the key and not a hash of it: two texts never share an entry, whatever becomes of any hash,
 * and a lookup costs a fraction of a digest. The order of use is a list of its own: a use does not touch the table.
 */
export class BoundedCache<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #maxEntries: number;
  readonly #maxWeight: number;
  #oldest: Entry<V> | undefined;
  #newest: Entry<V> | undefined;
  #weight = 0;

  constructor({ maxEntries, maxWeight = 16_777_216 }: CacheLimits) {
    this.#maxEntries = maxEntries;
    this.#maxWeight = maxWeight;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Counts as a use. */
  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry !== this.#newest) {
      this.#unlink(entry);
      this.#append(entry);
    }
    return entry.value;
  }

  /** What does not fit at all is not kept. */
  set(key: string, value: V): void {
    this.delete(key);
    if (key.length > this.#maxWeight || this.#maxEntries < 1) return;
    const own = detach(key);
    const entry: Entry<V> = { key: own, value, older: undefined, newer: undefined };
    this.#entries.set(own, entry);
    this.#append(entry);
    this.#weight += key.length;
    while (this.#entries.size > this.#maxEntries || this.#weight > this.#maxWeight) this.delete(this.#oldest!.key);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#unlink(entry);
    this.#weight -= key.length;
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
    this.#newest = undefined;
    this.#weight = 0;
  }

  #append(entry: Entry<V>): void {
    const before = this.#newest;
    entry.older = before;
    entry.newer = undefined;
    if (before === undefined) this.#oldest = entry;
    else before.newer = entry;
    this.#newest = entry;
  }

  #unlink({ older, newer }: Entry<V>): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
}

/** The text on its own: a piece that was cut out of a longer one keeps all of it in memory, such as every other cookie of a request. */
function detach(text: string): string {
  const copy = Buffer.from(text, 'latin1').toString('latin1');
  return copy === text ? copy : text;
}
