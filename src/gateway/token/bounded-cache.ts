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
}

/**
 * A cache by text. The text itself is the key and not a hash of it: two texts never share an entry, whatever becomes of any hash,
 * and a lookup costs a fraction of a digest.
 */
export class BoundedCache<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #maxEntries: number;
  readonly #maxWeight: number;
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
    this.#entries.delete(key);
    this.#entries.set(entry.key, entry);
    return entry.value;
  }

  /** What does not fit at all is not kept. */
  set(key: string, value: V): void {
    this.delete(key);
    if (key.length > this.#maxWeight || this.#maxEntries < 1) return;
    const own = detach(key);
    this.#entries.set(own, { key: own, value });
    this.#weight += key.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries && this.#weight <= this.#maxWeight) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    if (this.#entries.delete(key)) this.#weight -= key.length;
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }
}

/** The text on its own: a piece that was cut out of a longer one keeps all of it in memory, such as every other cookie of a request. */
function detach(text: string): string {
  const copy = Buffer.from(text, 'latin1').toString('latin1');
  return copy === text ? copy : text;
}
