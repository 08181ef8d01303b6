// The newest snapshot of each Gateway, with its subscribers. Changes come in bursts, so they are debounced: held back until it has been quiet for a
// moment, up to a maximum delay.
import type { Snapshot } from './snapshot.ts';
import { type Clock, systemClock } from '../base/clock.ts';

const quietMs = 10;
const maxDelayMs = 1_000;

interface Posted {
  snapshot: Snapshot | undefined;
  readonly listeners: Set<(snapshot: Snapshot) => void>;
  /** Since when a change is pending; undefined: none is. */
  waitingSince: number | undefined;
  cancelTimer: (() => void) | undefined;
}

export class SnapshotBoard {
  readonly #clock: Clock;
  readonly #gateways = new Map<string, Posted>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** The newest, without debounce: for new connections. */
  get(gateway: string): Snapshot | undefined {
    return this.#gateways.get(gateway)?.snapshot;
  }

  /** Undefined: not known any more. Subscribers are not notified: connected gateways keep, and complete, their resources. */
  set(gateway: string, snapshot: Snapshot | undefined): void {
    const posted = this.#getPosted(gateway);
    if (posted.snapshot === snapshot) return;
    posted.snapshot = snapshot;
    posted.cancelTimer?.();
    posted.cancelTimer = undefined;
    if (snapshot === undefined || posted.listeners.size === 0) {
      posted.waitingSince = undefined;
      return this.#forgetIfUnused(gateway, posted);
    }
    const now = this.#clock.now();
    posted.waitingSince ??= now;
    const delay = Math.min(quietMs, posted.waitingSince + maxDelayMs - now);
    posted.cancelTimer = this.#clock.setTimer(() => tell(posted, snapshot), delay);
  }

  /** Returns the function that ends the subscription. */
  subscribe(gateway: string, listener: (snapshot: Snapshot) => void): () => void {
    const posted = this.#getPosted(gateway);
    posted.listeners.add(listener);
    return () => {
      posted.listeners.delete(listener);
      this.#forgetIfUnused(gateway, posted);
    };
  }

  close(): void {
    for (const { cancelTimer } of this.#gateways.values()) cancelTimer?.();
  }

  #getPosted(gateway: string): Posted {
    let posted = this.#gateways.get(gateway);
    if (posted === undefined) {
      posted = { snapshot: undefined, listeners: new Set(), waitingSince: undefined, cancelTimer: undefined };
      this.#gateways.set(gateway, posted);
    }
    return posted;
  }

  #forgetIfUnused(gateway: string, posted: Posted): void {
    const isUnused = posted.snapshot === undefined && posted.listeners.size === 0;
    if (isUnused && this.#gateways.get(gateway) === posted) this.#gateways.delete(gateway);
  }
}

function tell(posted: Posted, snapshot: Snapshot): void {
  posted.waitingSince = undefined;
  posted.cancelTimer = undefined;
  for (const listener of posted.listeners) listener(snapshot);
}
