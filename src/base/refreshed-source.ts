// The life of a value that comes from elsewhere: fetched at once, refreshed in the background before it expires, kept while its source is down, and
// fetched again with backoff after failures. One fetch is under way at a time.
import { type BackoffOptions, findBackoffDelay, type Jitter, spread } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** How one fetch ended. */
export type Fetched<T> =
  /** `freshForMs`: as the source says; undefined when it says nothing. */
  | { readonly ok: true; readonly value: T; readonly freshForMs: number | undefined }
  /** `detail` is for the operator. */
  | { readonly ok: false; readonly detail: string };

interface RefreshedState<T> {
  /** The newest good value, however old. Undefined: there was none yet. */
  kept?: { readonly value: T; readonly fetchedAtMs: number; readonly freshUntilMs: number };
  /** Why the newest fetch failed; undefined when it did not. */
  problem?: string | undefined;
  underWay?: Promise<void> | undefined;
  nextAttemptAtMs: number;
}

export interface RefreshedSource<T> {
  readonly state: Readonly<RefreshedState<T>>;
  /** The fetch under way, or a new one when it is due; otherwise undefined. Readers call it, since a timer can be late by hours: laptops sleep. */
  load(): Promise<void> | undefined;
  /** The fetch under way, or a new one, due or not; undefined when the source is closed. */
  fetchNow(): Promise<void> | undefined;
  /** Ends the refreshing. The value stays, and callers that wait for a fetch get what it brings. */
  close(): void;
}

export interface RefreshedSourceOptions<T> {
  /** Of the value, in log lines; a plural or a singular with its article. */
  readonly name: string;
  /** Has a timeout: no other fetch starts before it ends. A rejection counts as a failure. */
  readonly fetch: () => Promise<Fetched<T>>;
  /** Bounds for what the source says about freshness. */
  readonly lifetime: { readonly defaultMs: number; readonly minMs: number; readonly maxMs: number };
  /** The part of the lifetime after which the value is refreshed. */
  readonly refreshAfter: Jitter;
  /** Delays after failures; they may differ while an older value is in use. */
  readonly findRetry: (isKept: boolean) => Omit<BackoffOptions, 'random'>;
  /** Called after every fetch, when the state has what it brought. */
  readonly onFetched: (fetched: Fetched<T>, before: T | undefined) => void;
  /** More fields for log lines. */
  readonly listFields?: () => object;
  readonly clock: Clock;
  readonly log: Log;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Starts fetching, and keeps the value fresh until it is closed. */
export function createRefreshedSource<T>(options: RefreshedSourceOptions<T>): RefreshedSource<T> {
  const { name, lifetime, clock, log, random } = options;
  const state: RefreshedState<T> = { nextAttemptAtMs: 0 };
  let failures = 0;
  let cancelTimer = (): void => {};
  let isClosed = false;

  function startFetch(): Promise<void> {
    state.underWay ??= options
      .fetch()
      .catch((error: unknown): Fetched<T> => ({ ok: false, detail: `internal error: ${String(error)}` }))
      .then(apply)
      .finally(() => (state.underWay = undefined));
    return state.underWay;
  }

  function apply(fetched: Fetched<T>): void {
    const { kept } = state;
    if (fetched.ok) {
      const { value, freshForMs = lifetime.defaultMs } = fetched;
      const freshMs = Math.min(Math.max(freshForMs, lifetime.minMs), lifetime.maxMs);
      const nowMs = clock.now();
      state.kept = { value, fetchedAtMs: nowMs, freshUntilMs: nowMs + freshMs };
      state.problem = undefined;
      if (failures > 0 && kept !== undefined) log.info({ ...options.listFields?.() }, `${name} can be fetched again`);
      failures = 0;
      schedule(spread(freshMs, options.refreshAfter, random));
    } else {
      state.problem = fetched.detail;
      schedule(findBackoffDelay(failures, { ...options.findRetry(kept !== undefined), random }));
      failures += 1;
      // Warns at failures 1, 2, 4, 8, ...: an outage of hours must not fill the log. Failures after close are not warned about.
      const level = Number.isInteger(Math.log2(failures)) && !isClosed ? 'warn' : 'debug';
      const outcome = kept === undefined ? 'fetched' : 'refreshed; the last good version stays in use';
      log[level]({ ...options.listFields?.(), failures, detail: fetched.detail }, `${name} cannot be ${outcome}`);
    }
    options.onFetched(fetched, kept?.value);
  }

  function schedule(delayMs: number): void {
    cancelTimer();
    state.nextAttemptAtMs = clock.now() + delayMs;
    if (!isClosed) cancelTimer = clock.setTimer(() => void startFetch(), delayMs);
  }

  void startFetch();
  return {
    state,
    load: () => state.underWay ?? (isClosed || clock.now() < state.nextAttemptAtMs ? undefined : startFetch()),
    fetchNow: () => (isClosed ? state.underWay : startFetch()),
    close() {
      isClosed = true;
      cancelTimer();
    },
  };
}

/** For Retry-After: whole seconds until then, at least one. */
export function countSecondsUntil(atMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((atMs - nowMs) / 1_000));
}
