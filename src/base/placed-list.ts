// Objects that come and go with every request. A Set would do the same and cost the collector dearly: it moves to a new table every few
// dozen changes, each outgrown table points at the next and at what was in it then, and one such table that has become old keeps all that
// follow alive, with the requests in them, until the next collection of everything.

/** What can be in such a list; in one at a time. */
export interface Placed {
  /** Its index; -1 when it is in none. Only for the list. */
  place: number;
}

/** Without an order. */
export class PlacedList<T extends Placed> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    if (item.place !== -1) return;
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** False when it was not there. */
  delete(item: T): boolean {
    const { place } = item;
    if (place === -1 || this.#items[place] !== item) return false;
    const last = this.#items.pop()!;
    if (last !== item) {
      this.#items[place] = last;
      last.place = place;
    }
    item.place = -1;
    return true;
  }

  /** Those that are there now, whatever happens to them meanwhile. */
  toArray(): T[] {
    return [...this.#items];
  }
}
