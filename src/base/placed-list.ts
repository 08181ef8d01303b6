// A set of objects that come and go with every request. A JavaScript Set would burden the garbage collector: it moves to a new table every few dozen
// changes, each old table points at the next and at its entries, and one table in the old generation keeps all later ones alive, with their requests,
// until the next full collection.

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

  /** A snapshot of the members. */
  toArray(): T[] {
    return [...this.#items];
  }
}
