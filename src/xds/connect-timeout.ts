// The timeout of attempts to connect. The first is short: the kernel of a replica that hangs accepts connections, and the next attempt may reach another replica.
// Each further one is longer, so that a controller that is merely slow is reached.

export interface ConnectTimes {
  /** The first timeout, including TLS and the server's SETTINGS. Doubled each further time. */
  readonly connectMs: number;
  readonly connectMaxMs: number;
}

export class ConnectTimeout {
  readonly #times: ConnectTimes;
  #timedOut = 0;

  constructor(times: ConnectTimes) {
    this.#times = times;
  }

  /** Of the next attempt. */
  get ms(): number {
    const { connectMs, connectMaxMs } = this.#times;
    return Math.min(connectMs * 2 ** this.#timedOut, Math.max(connectMs, connectMaxMs));
  }

  /** Notes how an attempt ended. */
  note(outcome: 'timed-out' | 'other'): void {
    this.#timedOut = outcome === 'timed-out' ? Math.min(this.#timedOut + 1, 30) : 0;
  }
}
