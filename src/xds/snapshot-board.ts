// The newest snapshot of each Gateway, and who wants to hear of it. Changes come in bursts: they are held back until it has been quiet for a
// moment, but not for long.
import type { Snapshot } from './snapshot.ts';
import { type Clock, systemClock } from '../base/clock.ts';

const quietMs = 10;
const maxDelayMs = 1_000;

interface Posted {
  snapshot: Snapshot | undefined;
  readonly listeners: Set<(snapshot: Snapshot) => void>;
  /** Since when a change waits to be told; undefined: none does. */
  waitingSince: number | undefined;
  cancelTimer: (() => void) | undefined;
}

export class SnapshotBoard {
  readonly #clock: Clock;
  readonly #gateways = new Map<string, Posted>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** The newest. Whoever connects need not wait. */
  get(gateway: string): Snapshot | undefined {
    return this.#gateways.get(gateway)?.snapshot;
  }

  /** Undefined: not known any more. Nobody is told: those who are connected keep, and complete, what they have. */
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
