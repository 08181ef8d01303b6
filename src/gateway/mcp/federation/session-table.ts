// What a process knows of clients' sessions beyond what their ids say: sessions of targets that began later, or again, and sessions that have ended. Bounded: another
// process, or this one after it has forgotten, begins the sessions of the targets anew.
import { WishTable } from './session-wishes.ts';
import type { TargetSession } from './target.ts';

/** About one session of a client. */
export interface SessionRecord {
  /** By target; undefined: it has ended. */
  readonly targets: Map<string, TargetSession | undefined>;
  /** What was too long for the id. */
  clientInfo?: string | undefined;
  capabilities?: string | undefined;
  /** The client ended it. */
  isEnded: boolean;
}

const defaultMaxRecords = 10_000;

/** By the name that a session has inside its id. */
export class SessionTable {
  readonly wishes = new WishTable({ isEnded: (name) => this.find(name)?.isEnded === true });
  readonly #records = new Map<string, SessionRecord>();
  readonly #maxRecords: number;

  constructor(maxRecords: number = defaultMaxRecords) {
    this.#maxRecords = maxRecords;
  }

  get size(): number {
    return this.#records.size;
  }

  find(name: string): SessionRecord | undefined {
    return this.#records.get(name);
  }

  /** The record to write into. It becomes the newest one; the oldest one goes when there are too many. */
  open(name: string): SessionRecord {
    const record = this.#records.get(name) ?? { targets: new Map(), isEnded: false };
    this.#records.delete(name);
    this.#records.set(name, record);
    if (this.#records.size > this.#maxRecords) this.#records.delete(this.#records.keys().next().value!);
    return record;
  }

  end(name: string): void {
    const record = this.open(name);
    record.targets.clear();
    record.isEnded = true;
    this.wishes.forget(name);
  }
}
