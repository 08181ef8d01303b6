// A cache by text, bounded in number and size, with approximate least-recently-used eviction.

export interface CacheLimits {
  readonly maxEntries: number;
  /** Total characters of all keys: the memory for a token is proportional to its length. Default: 16 Mi. */
  readonly maxWeight?: number;
}

interface Entry<V> {
  /** The stored copy of the key. */
  readonly key: string;
  readonly place: number;
  readonly value: V;
  /** When it moved to the end of the list, counted in moves. */
  movedAt: number;
  /** Those that were used before and after it. */
  older: Entry<V> | undefined;
  newer: Entry<V> | undefined;
}

/**
 * A cache by text. The slot is computed from a few characters, and the whole text is compared with the stored one: two texts never share an entry, and a
 * lookup is cheaper than a hash of the whole token, which V8 would compute for every new string. When two texts collide, the later one stays; an attacker
 * cannot evict chosen tokens by collisions, since tokens end with a signature.
 *
 * The order of use is a separate list. An entry that is used again moves to its end only when more than half of the others have moved behind it, so hot
 * entries are read without a write.
 */
export class BoundedCache<V> {
  readonly #entries = new Map<number, Entry<V>>();
  readonly #maxEntries: number;
  readonly #maxWeight: number;
  #oldest: Entry<V> | undefined;
  #newest: Entry<V> | undefined;
  #moves = 0;
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
    const entry = this.#entries.get(findPlace(key));
    if (entry === undefined || entry.key !== key) return undefined;
    if (this.#moves - entry.movedAt > this.#entries.size >> 1) {
      this.#unlink(entry);
      this.#append(entry);
    }
    return entry.value;
  }

  /** A key that exceeds the limit by itself is not stored. */
  set(key: string, value: V): void {
    const place = findPlace(key);
    const before = this.#entries.get(place);
    if (before !== undefined) this.#remove(before);
    if (key.length > this.#maxWeight || this.#maxEntries < 1) return;
    const entry: Entry<V> = { key: detach(key), place, value, movedAt: 0, older: undefined, newer: undefined };
    this.#entries.set(place, entry);
    this.#append(entry);
    this.#weight += key.length;
    while (this.#entries.size > this.#maxEntries || this.#weight > this.#maxWeight) this.#remove(this.#oldest!);
  }

  delete(key: string): void {
    const entry = this.#entries.get(findPlace(key));
    if (entry?.key === key) this.#remove(entry);
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
    this.#newest = undefined;
    this.#weight = 0;
  }

  #remove(entry: Entry<V>): void {
    this.#entries.delete(entry.place);
    this.#unlink(entry);
    this.#weight -= entry.key.length;
  }

  #append(entry: Entry<V>): void {
    this.#moves += 1;
    entry.movedAt = this.#moves;
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

/** Characters at the end of a text that distinguish it from others: part of a signature or a seal. */
const tellingCharacters = 8;

/** 32 bits, so that it is a small integer for V8. */
function findPlace(text: string): number {
  const { length } = text;
  let place = length;
  for (let at = Math.max(0, length - tellingCharacters); at < length; at++)
    place = (Math.imul(place, 0x01000193) ^ text.charCodeAt(at)) | 0;
  return place;
}

/** A copy of the text: a substring would keep the whole string in memory, such as all cookies of a request. */
function detach(text: string): string {
  const copy = Buffer.from(text, 'latin1').toString('latin1');
  return copy === text ? copy : text;
}
