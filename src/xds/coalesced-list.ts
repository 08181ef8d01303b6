// A list that others watch and that is put together anew when something in it changed: at once, but not for every one of many changes.
import { type Clock, systemClock } from '../base/clock.ts';
import { type ReadonlyWatchable, Watchable } from '../base/watchable.ts';

/** Between two times that watchers are told. */
const gapMs = 50;

export class CoalescedList<T> {
  readonly #collect: () => readonly T[];
  readonly #clock: Clock;
  readonly #list: Watchable<readonly T[]>;
  #cancelTimer: (() => void) | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;

  /** `collect` returns the same objects for what did not change. */
  constructor(collect: () => readonly T[], clock: Clock = systemClock) {
    this.#collect = collect;
    this.#clock = clock;
    this.#list = new Watchable<readonly T[]>([], isSameList);
  }

  get list(): ReadonlyWatchable<readonly T[]> {
    return this.#list;
  }

  /** Something in the list may have changed. */
  touch(): void {
    this.#cancelTimer ??= this.#clock.setTimer(() => this.#flush(), this.#toldAt + gapMs - this.#clock.now());
  }

  close(): void {
    this.#cancelTimer?.();
    // Whatever happens from now on is nobody's business.
    this.#cancelTimer = () => {};
  }

  #flush(): void {
    this.#cancelTimer = undefined;
    this.#toldAt = this.#clock.now();
    this.#list.set(this.#collect());
  }
}

function isSameList<T>(left: readonly T[], right: readonly T[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index]);
}
