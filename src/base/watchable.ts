// A value that changes over time and tells its subscribers: the seam between sources of configuration and those who apply it.

/** The reading side of a Watchable. */
export interface ReadonlyWatchable<T> {
  /** The current value. */
  get(): T;
  /** Calls the listener after every change, never with the current value at once. Returns the function that ends the subscription. */
  subscribe(listener: WatchListener<T>): () => void;
}

/** Told about every change, in the order in which the changes were made. */
type WatchListener<T> = (value: T, previous: T) => void;

/** A value with subscribers. Setting an equal value is not a change and notifies no listener. */
export class Watchable<T> implements ReadonlyWatchable<T> {
  readonly #equals: (left: T, right: T) => boolean;
  readonly #listeners = new Map<symbol, WatchListener<T>>();
  #changes: { value: T; previous: T }[] = [];
  #delivering = false;
  #value: T;

  constructor(initial: T, equals: (left: T, right: T) => boolean = Object.is) {
    this.#value = initial;
    this.#equals = equals;
  }

  get(): T {
    return this.#value;
  }

  /** Returns whether this was a change. Throws what listeners threw, but only after every listener heard of the change. */
  set(value: T): boolean {
    const previous = this.#value;
    if (this.#equals(previous, value)) return false;
    this.#value = value;
    this.#changes.push({ value, previous });
    // A listener that sets the value again must not make the listeners after it see the two changes in reverse.
    if (!this.#delivering) this.#deliver();
    return true;
  }

  subscribe(listener: WatchListener<T>): () => void {
    // Keyed by a symbol, so that the same function may subscribe twice and each subscription ends on its own.
    const key = Symbol('subscription');
    this.#listeners.set(key, listener);
    return () => {
      this.#listeners.delete(key);
    };
  }

  #deliver(): void {
    const errors: unknown[] = [];
    this.#delivering = true;
    try {
      for (let change = this.#changes.shift(); change !== undefined; change = this.#changes.shift()) {
        for (const [key, listener] of Array.from(this.#listeners)) {
          if (!this.#listeners.has(key)) continue;
          try {
            listener(change.value, change.previous);
          } catch (error) {
            errors.push(error);
          }
        }
      }
    } finally {
      this.#delivering = false;
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, 'several listeners of a watchable failed');
  }
}
