// Restores the order of changes of different kinds. Each kind has a watch of its own, and one is a few milliseconds faster
// than another: a route must not be shown before the policy that was made before it, nor a policy be gone before the route that was deleted before it.
// Versions of the API server count all changes of the cluster, so they tell the order; a short wait lets the slower watch catch up.
import type { Kind } from '../../api/kinds.ts';
import type { Outcome } from './cached-object.ts';

/** A change of an object; outcome undefined: deleted. */
export interface Change {
  readonly kind: Kind;
  readonly key: string;
  readonly outcome: Outcome | undefined;
}

interface WaitingChange extends Change {
  /** How many had come when it came. */
  readonly arrival: number;
  readonly version: number;
}

/** Changes that wait. */
export class ChangeOrder {
  #waiting: WaitingChange[] = [];
  #arrivals = 0;
  /** The latest version that was released. Older changes are late already. */
  #version = 0;

  /** Counts on with every change and every `pass`: what has come by now has waited when a timer that is set now fires. */
  get arrivals(): number {
    return this.#arrivals;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Adds a change. One without a readable version counts as the oldest, and does not wait. */
  add(change: Change, resourceVersion: string | undefined): void {
    const version = /^\d+$/.test(resourceVersion ?? '') ? Number(resourceVersion) : 0;
    this.#arrivals += 1;
    this.#waiting.push({ ...change, arrival: this.#arrivals, version });
  }

  /** Something else happened that has to be waited for. Returns its place among the arrivals. */
  pass(): number {
    this.#arrivals += 1;
    return this.#arrivals;
  }

  /** The objects whose changes wait. */
  listWaiting(): ReadonlyMap<Kind, ReadonlySet<string>> {
    const waiting = new Map<Kind, Set<string>>();
    for (const { kind, key } of this.#waiting) waiting.set(kind, (waiting.get(kind) ?? new Set()).add(key));
    return waiting;
  }

  /** What is known of the object comes from elsewhere now. */
  drop(kind: Kind, key: string): void {
    if (this.#waiting.length > 0)
      this.#waiting = this.#waiting.filter((change) => change.kind !== kind || change.key !== key);
  }

  /** What had come at that point, and all that was made before the latest that was ever taken, however late it came. In the order of coming. */
  take(arrival: number): readonly Change[] {
    for (const change of this.#waiting)
      if (change.arrival <= arrival && change.version > this.#version) this.#version = change.version;
    const taken = this.#waiting.filter((change) => change.version <= this.#version);
    this.#waiting = this.#waiting.filter((change) => change.version > this.#version);
    return taken;
  }
}
