// The life of an issuer's keys: fetched when the configuration arrives, refreshed before they expire, kept while the issuer is down.
import type { AddressChoice } from '../../../base/address-guard.ts';
import { readFreshness } from '../../../base/cache-lifetime.ts';
import { type Clock, systemClock } from '../../../base/clock.ts';
import { fetchJsonObject, type GuardedFetcher } from '../../../base/fetch-json.ts';
import { type JsonObject, readJsonObject } from '../../../base/json-object.ts';
import { type Log, silentLog } from '../../../base/log.ts';
import { type IgnoredKey, type KeySet, type ReadKeySetResult, readKeySet } from './key-set.ts';

export type KeyState =
  | {
      readonly ok: true;
      readonly keySet: KeySet;
      /** Another one for other keys. */
      readonly version: string;
    }
  /** `detail` is for the operator. */
  | { readonly ok: false; readonly detail: string; readonly retryAfterSeconds: number };

/** Where keys are, or why that is not known yet. */
export type KeyLocation =
  | {
      readonly ok: true;
      readonly url: string;
      /** Who named the place. Default: the operator. */
      readonly chosenBy?: AddressChoice;
    }
  | { readonly ok: false; readonly detail: string };

/** For the admin output, `check` and the inspector. */
export interface KeySourceStatus {
  /** Undefined with inline keys, and while it is not known. */
  readonly url: string | undefined;
  readonly keys: readonly { readonly id: string | undefined; readonly algorithms: readonly string[] }[];
  readonly ignored: readonly IgnoredKey[];
  readonly fetchedAtMs: number | undefined;
  /** Why the newest attempt failed; undefined when it did not. */
  readonly problem: string | undefined;
}

/** What a source knows, as plain data: another process makes the same of it. */
export interface KeySnapshot {
  readonly url: string | undefined;
  /** The newest good document; undefined: none was ever loaded. */
  readonly document: JsonObject | undefined;
  readonly fetchedAtMs: number;
  readonly usableUntilMs: number;
  readonly problem: string | undefined;
  readonly nextAttemptAtMs: number;
}

export interface KeySource {
  /** The keys in force; answers at once. Starts a refresh in the background when it is overdue. */
  getKeys(): KeyState;
  /** When getKeys has none: the fetch under way, or a new one when the last failure is long enough ago; otherwise undefined. */
  load(): Promise<void> | undefined;
  /** When a token does not fit the keys: the fetch under way, or a new one, at most once per cooldown; otherwise undefined. */
  refetch(): Promise<void> | undefined;
  describe(): KeySourceStatus;
  /** Ends the refreshing. Keys that were loaded stay usable until they are too old. */
  close(): void;
}

export interface KeySourceOptions {
  /** A URL, or a function that knows it later: the jwks_uri of metadata. Asked before every fetch, so that a move is followed. */
  readonly location: string | (() => KeyLocation | Promise<KeyLocation>);
  readonly fetcher: GuardedFetcher;
  readonly ca?: string | undefined;
  readonly allowInsecureHttp?: boolean;
  /** The longest time between refreshes. Default 5 min. */
  readonly cacheDurationMs?: number;
  /** How long keys are used after their time while the issuer is down. Default 24 h. */
  readonly maxStaleMs?: number;
  /** Default 10 s. */
  readonly cooldownMs?: number;
  /** For one fetch. Default 5 s. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Spreads refreshes of several gateways; 0 up to 1. */
  readonly random?: () => number;
  /** Is told after every fetch, good or not. */
  readonly onFetched?: ((snapshot: KeySnapshot) => void) | undefined;
}

const minute = 60_000;
const firstRetryMs = 1_000;
const maxRetryMs = minute;

interface LoadedKeys {
  readonly state: Extract<KeyState, { readonly ok: true }>;
  readonly document: JsonObject;
  readonly fetchedAtMs: number;
  readonly freshUntilMs: number;
  readonly usableUntilMs: number;
}

/** Fetches at once, and from then on keeps the keys fresh until it is closed. */
export function createKeySource(options: KeySourceOptions): KeySource {
  const { location, fetcher, cacheDurationMs = 5 * minute, maxStaleMs = 24 * 60 * minute } = options;
  const clock = options.clock ?? systemClock;
  const log = options.log ?? silentLog;
  const random = options.random ?? Math.random;
  let url = typeof location === 'string' ? location : undefined;
  let loaded: LoadedKeys | undefined;
  let problem: string | undefined;
  let failures = 0;
  let nextAttemptAtMs = 0;
  let nextRefetchAtMs = Number.NEGATIVE_INFINITY;
  let underWay: Promise<void> | undefined;
  let cancelTimer = (): void => {};
  let isClosed = false;

  async function readDocument(): Promise<FetchedKeys> {
    const place: KeyLocation = typeof location === 'string' ? { ok: true, url: location } : await location();
    if (!place.ok) return place;
    url = place.url;
    const outcome = await fetchJsonObject(fetcher, {
      url,
      chosenBy: place.chosenBy ?? 'operator',
      headers: { accept: 'application/jwk-set+json, application/json' },
      ca: options.ca,
      ...(options.allowInsecureHttp === undefined ? {} : { allowInsecureHttp: options.allowInsecureHttp }),
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    });
    if (!outcome.ok) return { ok: false, detail: outcome.message };
    if (outcome.status !== 200) return { ok: false, detail: `${url} answers ${outcome.status}` };
    const read = readKeySet(outcome.value);
    if (!read.ok) return { ok: false, detail: `the key set at ${url} ${read.problem}${listIgnored(read.ignored)}` };
    const freshForMs = readFreshness(outcome.headers, clock.now());
    return { ok: true, keySet: read.keySet, document: outcome.value, freshForMs };
  }

  function startFetch(): Promise<void> {
    underWay ??= readDocument()
      .catch((error: unknown): FetchedKeys => ({ ok: false, detail: `internal error: ${String(error)}` }))
      .then((fetched) => {
        apply(fetched);
        options.onFetched?.(takeSnapshot());
      })
      .finally(() => (underWay = undefined));
    return underWay;
  }

  function takeSnapshot(): KeySnapshot {
    const { document, fetchedAtMs = 0, usableUntilMs = 0 } = loaded ?? {};
    return { url, document, fetchedAtMs, usableUntilMs, problem, nextAttemptAtMs };
  }

  function apply(fetched: FetchedKeys): void {
    const nowMs = clock.now();
    if (fetched.ok) {
      const freshForMs = Math.min(Math.max(fetched.freshForMs ?? cacheDurationMs, minute), cacheDurationMs);
      const isSame = loaded?.state.keySet.fingerprint === fetched.keySet.fingerprint;
      if (!isSame) reportKeys(log, url, fetched.keySet, loaded === undefined);
      else if (failures > 0) log.info({ url }, 'the keys of the issuer can be fetched again');
      const { keySet, document } = fetched;
      loaded = {
        document,
        // The very same object while the keys are the same: what was verified with them stays verified.
        state: isSame && loaded !== undefined ? loaded.state : { ok: true, keySet, version: keySet.fingerprint },
        fetchedAtMs: nowMs,
        freshUntilMs: nowMs + freshForMs,
        usableUntilMs: nowMs + freshForMs + maxStaleMs,
      };
      problem = undefined;
      failures = 0;
      schedule(freshForMs * (0.75 + 0.15 * random()));
      return;
    }
    failures += 1;
    problem = fetched.detail;
    // A line for the first failure and then fewer and fewer: an outage of hours must not fill the log.
    const level = Number.isInteger(Math.log2(failures)) ? 'warn' : 'debug';
    const message =
      loaded === undefined
        ? 'the keys of the issuer cannot be fetched'
        : 'the keys of the issuer cannot be refreshed; the last ones stay in use';
    log[level]({ url, failures, detail: problem }, message);
    schedule(Math.min(firstRetryMs * 2 ** Math.min(failures - 1, 16), maxRetryMs) * (1 - 0.2 * random()));
  }

  function schedule(delayMs: number): void {
    cancelTimer();
    nextAttemptAtMs = clock.now() + delayMs;
    if (!isClosed) cancelTimer = clock.setTimer(() => void startFetch(), delayMs);
  }

  const source: KeySource = {
    getKeys() {
      const nowMs = clock.now();
      // A timer can be late by hours: laptops sleep.
      if (nowMs >= nextAttemptAtMs && underWay === undefined && !isClosed) void startFetch();
      if (loaded !== undefined && nowMs < loaded.usableUntilMs) return loaded.state;
      return {
        ok: false,
        detail: `${loaded === undefined ? 'keys were never loaded' : 'the last keys are too old'}: ${problem ?? 'they are being fetched'}`,
        retryAfterSeconds: Math.max(1, Math.ceil((nextAttemptAtMs - nowMs) / 1_000)),
      };
    },
    load() {
      if (underWay !== undefined) return underWay;
      return isClosed || clock.now() < nextAttemptAtMs ? undefined : startFetch();
    },
    refetch() {
      if (underWay !== undefined) return underWay;
      const nowMs = clock.now();
      if (isClosed || nowMs < nextRefetchAtMs) return undefined;
      nextRefetchAtMs = nowMs + (options.cooldownMs ?? 10_000);
      return startFetch();
    },
    describe: () => ({
      url,
      ...describeKeys(loaded?.state.keySet),
      fetchedAtMs: loaded?.fetchedAtMs,
      problem,
    }),
    close() {
      isClosed = true;
      cancelTimer();
    },
  };
  void startFetch();
  return source;
}

/** Keys that are part of the configuration. They never change and never age. */
export function createInlineKeySource(text: string): KeySource {
  const document = readJsonObject(text);
  const read: ReadKeySetResult = document.ok
    ? readKeySet(document.value)
    : { ok: false, problem: document.problem, ignored: [] };
  const state: KeyState = read.ok
    ? { ok: true, keySet: read.keySet, version: read.keySet.fingerprint }
    : {
        ok: false,
        detail: `the inline key set ${read.problem}${listIgnored(read.ignored)}`,
        // Only another configuration helps.
        retryAfterSeconds: 60,
      };
  return {
    getKeys: () => state,
    load: () => undefined,
    refetch: () => undefined,
    describe: () => ({
      url: undefined,
      ...describeKeys(state.ok ? state.keySet : undefined),
      fetchedAtMs: undefined,
      problem: state.ok ? undefined : state.detail,
    }),
    close() {},
  };
}

type FetchedKeys =
  | {
      readonly ok: true;
      readonly keySet: KeySet;
      readonly document: JsonObject;
      readonly freshForMs: number | undefined;
    }
  | { readonly ok: false; readonly detail: string };

function reportKeys(log: Log, url: string | undefined, keySet: KeySet, isFirst: boolean): void {
  const keys = keySet.keys.map(({ id }) => id ?? '(without kid)');
  log.info({ url, keys }, isFirst ? 'the keys of the issuer are loaded' : 'the issuer has other keys now');
  if (keySet.ignored.length > 0) log.info({ url, ignored: keySet.ignored }, 'some keys of the issuer are not used');
}

/** The keys as they are shown. */
export function describeKeys(keySet: KeySet | undefined): Pick<KeySourceStatus, 'keys' | 'ignored'> {
  const keys = (keySet?.keys ?? []).map((key) => ({ id: key.id, algorithms: [...key.algorithms] }));
  return { keys, ignored: keySet?.ignored ?? [] };
}

function listIgnored(ignored: readonly IgnoredKey[]): string {
  const [first] = ignored;
  if (first === undefined) return '';
  const more = ignored.length > 1 ? `; ${ignored.length - 1} more are not used either` : '';
  return `: key ${first.id ?? first.index} ${first.why}${more}`;
}
