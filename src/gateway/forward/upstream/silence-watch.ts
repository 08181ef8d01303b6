// Idle timeouts of upstreams. One timer serves all requests to a backend: each request and each event of a stream costs
// only one assignment.
import { type Placed, PlacedList } from '../../../base/placed-list.ts';

/** Checks per timeout: silence is noticed at most one check too late, and never too early. */
const looks = 8;

/** What may fall silent. */
export interface Watched extends Placed {
  /** How many times it was found silent. Set to 0 whenever something is heard. */
  silentLooks: number;
  /** The timeout expired. Called again later, unless something is heard or the watch ended. */
  onSilence(): void;
}

export class SilenceWatch {
  readonly #everyMs: number;
  readonly #watched = new PlacedList<Watched>();
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#everyMs = Math.max(1, Math.ceil(timeoutMs / looks));
  }

  /** From now on. */
  begin(watched: Watched): void {
    watched.silentLooks = 0;
    this.#watched.add(watched);
    // It must not keep the process alive: what is watched has connections that do.
    this.#timer ??= setInterval(() => this.#look(), this.#everyMs).unref();
  }

  end(watched: Watched): void {
    this.#watched.delete(watched);
  }

  #look(): void {
    if (this.#watched.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const watched of this.#watched.toArray()) {
      watched.silentLooks += 1;
      // The first look may come at once, so it takes one more of them.
      if (watched.silentLooks <= looks || watched.place === -1) continue;
      watched.silentLooks = 0;
      watched.onSilence();
    }
  }
}
