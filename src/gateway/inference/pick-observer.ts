// Reports requests to pickers and their results to observers.

/** The result of asking a picker. `refused`: it named no endpoint of the pool; `immediate`: it answered the request itself. */
export type PickResult = 'picked' | 'immediate' | 'refused' | 'unavailable';

/** Told by picked-call.ts; every call is cheap and none throws. */
export interface PickObserver {
  picked(pool: string, result: PickResult, seconds: number): void;
  /** A request goes to an endpoint of our own choice. `unreachable`: the endpoints that the picker chose do not take connections. */
  fellBack(pool: string, reason: 'unavailable' | 'refused' | 'unreachable'): void;
}

/** Ignores all events. */
export const silentPickObserver: PickObserver = { picked: () => {}, fellBack: () => {} };
