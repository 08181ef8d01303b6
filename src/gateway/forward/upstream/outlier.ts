// Outlier detection: the health of one endpoint by its connection attempts. After some failures in a row it is ejected, longer each time.
// After that time one request probes it: a success brings it back, a failure ejects it for longer.
import { findBackoffDelay } from '../../../base/backoff.ts';
import type { UpstreamLimits } from './upstream-limits.ts';

type OutlierLimits = Pick<UpstreamLimits, 'ejectAfterFailures' | 'ejectionTimeMs' | 'ejectionTimeMaxMs'>;

/** What is known about one endpoint's readiness to take connections. */
export class EndpointHealth {
  readonly #limits: OutlierLimits;
  readonly #now: () => number;
  #failures = 0;
  #timesEjected = 0;
  #ejectedUntil = 0;
  #probeUntil = 0;

  /** `now` gives milliseconds of a clock that never goes back. */
  constructor(limits: OutlierLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** May requests be sent here by choice? (When no endpoint of a backend may, they are sent anyway.) */
  get isAvailable(): boolean {
    if (this.#timesEjected === 0) return true;
    const now = this.#now();
    return now >= this.#ejectedUntil && now >= this.#probeUntil;
  }

  /** Records a request. For an ejected endpoint this is the probe: other requests avoid it for a while, so that one request and not a burst fails. */
  recordAttempt(): void {
    if (this.#timesEjected > 0) this.#probeUntil = this.#now() + this.#limits.ejectionTimeMs;
  }

  /** Failures have ejected it, and no connection has succeeded since. */
  get isEjected(): boolean {
    return this.#timesEjected > 0;
  }

  recordSuccess(): void {
    this.#failures = 0;
    this.#timesEjected = 0;
  }

  /** Returns the milliseconds for which this failure ejects the endpoint; 0 when it is not. */
  recordFailure(): number {
    const { ejectAfterFailures, ejectionTimeMs, ejectionTimeMaxMs } = this.#limits;
    this.#failures += 1;
    if (ejectAfterFailures === 0) return 0;
    if (this.#timesEjected === 0 && this.#failures < ejectAfterFailures) return 0;
    // Failures of requests that were already in flight must not extend the time.
    if (this.#timesEjected > 0 && this.#now() < this.#ejectedUntil) return 0;
    const duration = findBackoffDelay(this.#timesEjected, { firstMs: ejectionTimeMs, maxMs: ejectionTimeMaxMs });
    this.#timesEjected += 1;
    this.#ejectedUntil = this.#now() + duration;
    return duration;
  }
}
