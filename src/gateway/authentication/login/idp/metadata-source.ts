// The life of the IdP's metadata: fetched at once, refreshed in the background, kept while the IdP is down, asked again with growing pauses.
import type { Clock } from '../../../../base/clock.ts';
import type { Log } from '../../../../base/log.ts';
import type { Discovery } from './discover-metadata.ts';

export type FoundDiscovery = Extract<Discovery, { readonly ok: true }>;

/** The newest good discovery, or why there is none. */
export type DiscoveryState =
  | { readonly ok: true; readonly discovery: FoundDiscovery }
  | { readonly ok: false; readonly detail: string; readonly retryAfterSeconds: number };

export interface MetadataSource {
  /** At once when there is any, however old; otherwise the fetch that is under way. A failure is not asked again before its pause is over. */
  get(): DiscoveryState | Promise<DiscoveryState>;
  close(): void;
}

export interface MetadataSourceOptions {
  readonly discover: () => Promise<Discovery>;
  /** Called after every good fetch. */
  readonly onLoad: (discovery: FoundDiscovery) => void;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 up to 1. */
  readonly random: () => number;
}

const minute = 60_000;
const minFreshMs = minute;
const maxFreshMs = 60 * minute;
const defaultFreshMs = 10 * minute;
const firstRetryMs = 1_000;
/** Short while nothing works without it; longer when the last document still serves. */
const maxFirstRetryMs = 30_000;
const maxRefreshRetryMs = 5 * minute;

/** Starts fetching, and goes on until it is closed. */
export function createMetadataSource(options: MetadataSourceOptions): MetadataSource {
  const { discover, onLoad, clock, log, random } = options;
  let loaded: FoundDiscovery | undefined;
  let problem = '';
  let failures = 0;
  let nextAttemptAtMs = 0;
  let underWay: Promise<void> | undefined;
  let cancelTimer = (): void => {};
  let isClosed = false;

  function startFetch(): Promise<void> {
    underWay ??= discover()
      .catch((error: unknown): Discovery => ({ ok: false, detail: `internal error: ${String(error)}`, tries: [] }))
      .then(apply)
      .finally(() => (underWay = undefined));
    return underWay;
  }

  function apply(discovery: Discovery): void {
    if (isClosed) return;
    if (discovery.ok) {
      if (loaded === undefined || failures > 0)
        log.info({ url: discovery.url }, 'the metadata of the identity provider is loaded');
      loaded = discovery;
      failures = 0;
      const freshForMs = Math.min(Math.max(discovery.freshForMs ?? defaultFreshMs, minFreshMs), maxFreshMs);
      schedule(freshForMs * (0.8 + 0.2 * random()));
      onLoad(discovery);
      return;
    }
    failures += 1;
    problem = discovery.detail;
    // A line for the first failure and then fewer and fewer.
    const level = Number.isInteger(Math.log2(failures)) ? 'warn' : 'debug';
    const message =
      loaded === undefined
        ? 'the metadata of the identity provider cannot be fetched'
        : 'the metadata of the identity provider cannot be refreshed; the last one stays in use';
    log[level]({ failures, detail: problem }, message);
    const maxMs = loaded === undefined ? maxFirstRetryMs : maxRefreshRetryMs;
    schedule(Math.min(firstRetryMs * 2 ** Math.min(failures - 1, 16), maxMs) * (1 - 0.3 * random()));
  }

  function schedule(delayMs: number): void {
    cancelTimer();
    nextAttemptAtMs = clock.now() + delayMs;
    cancelTimer = clock.setTimer(() => void startFetch(), delayMs);
  }

  function describeFailure(): DiscoveryState {
    return {
      ok: false,
      detail: problem === '' ? 'the metadata of the identity provider was never loaded' : problem,
      retryAfterSeconds: Math.max(1, Math.ceil((nextAttemptAtMs - clock.now()) / 1_000)),
    };
  }

  const readState = (): DiscoveryState => (loaded === undefined ? describeFailure() : { ok: true, discovery: loaded });

  void startFetch();
  return {
    get() {
      // A timer can be late by hours: laptops sleep.
      if (!isClosed && underWay === undefined && clock.now() >= nextAttemptAtMs) void startFetch();
      return loaded === undefined && underWay !== undefined ? underWay.then(readState) : readState();
    },
    close() {
      isClosed = true;
      cancelTimer();
    },
  };
}
