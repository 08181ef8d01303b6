// A watchable list that is rebuilt when something in it changed: at once, but many changes are coalesced.
import { type Clock, systemClock } from '../base/clock.ts';
import { type ReadonlyWatchable, Watchable } from '../base/watchable.ts';

/** The minimum interval between two notifications. */
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
    // No notifications after this.
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
