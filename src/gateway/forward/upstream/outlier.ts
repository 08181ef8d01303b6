// Outlier detection: the health of one endpoint by its connection attempts. After some failures in a row it is set aside (ejected), longer each time.
// After that time one request probes it: a success brings it back, a failure sets it aside for longer.
import { findBackoffDelay } from '../../../base/backoff.ts';
import type { UpstreamLimits } from './upstream-limits.ts';

type OutlierLimits = Pick<UpstreamLimits, 'failuresBeforeSetAside' | 'setAsideMs' | 'setAsideMaxMs'>;

/** What is known about one endpoint's readiness to take connections. */
export class EndpointHealth {
  readonly #limits: OutlierLimits;
  readonly #now: () => number;
  #failures = 0;
  #timesSetAside = 0;
  #setAsideUntil = 0;
  #probeUntil = 0;

  /** `now` gives milliseconds of a clock that never goes back. */
  constructor(limits: OutlierLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** May requests be sent here by choice? (When no endpoint of a backend may, they are sent anyway.) */
  get isAvailable(): boolean {
    if (this.#timesSetAside === 0) return true;
    const now = this.#now();
    return now >= this.#setAsideUntil && now >= this.#probeUntil;
  }

  /** Records a request. For an endpoint that was set aside this is the probe: other requests avoid it for a while, so that one request and not a burst fails. */
  recordAttempt(): void {
    if (this.#timesSetAside > 0) this.#probeUntil = this.#now() + this.#limits.setAsideMs;
  }

  /** Failures have set it aside, and no connection has succeeded since. */
  get isSetAside(): boolean {
    return this.#timesSetAside > 0;
  }

  recordSuccess(): void {
    this.#failures = 0;
    this.#timesSetAside = 0;
  }

  /** Returns the milliseconds for which the endpoint is set aside by this failure; 0 when it is not. */
  recordFailure(): number {
    const { failuresBeforeSetAside, setAsideMs, setAsideMaxMs } = this.#limits;
    this.#failures += 1;
    if (failuresBeforeSetAside === 0) return 0;
    if (this.#timesSetAside === 0 && this.#failures < failuresBeforeSetAside) return 0;
    // Failures of requests that were already in flight must not extend the time.
    if (this.#timesSetAside > 0 && this.#now() < this.#setAsideUntil) return 0;
    const duration = findBackoffDelay(this.#timesSetAside, { firstMs: setAsideMs, maxMs: setAsideMaxMs });
    this.#timesSetAside += 1;
    this.#setAsideUntil = this.#now() + duration;
    return duration;
  }
}
