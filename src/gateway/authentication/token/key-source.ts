// An issuer's keys: fetched when the configuration arrives, refreshed, used for a limited time while the issuer is down, and refetched early when a token does
// not match them.
import type { AddressChoice } from '../../../base/address-guard.ts';
import { readFreshness } from '../../../base/cache-lifetime.ts';
import { type Clock, systemClock } from '../../../base/clock.ts';
import { fetchJsonObject, type GuardedFetcher } from '../../../base/fetch-json.ts';
import { type JsonObject, readJsonObject } from '../../../base/json-object.ts';
import { type Log, silentLog } from '../../../base/log.ts';
import { countSecondsUntil, createRefreshedSource, type Fetched } from '../../../base/refreshed-source.ts';
import { type IgnoredKey, type KeySet, type ReadKeySetResult, readKeySet } from './key-set.ts';

export type KeyState =
  | {
      readonly ok: true;
      readonly keySet: KeySet;
      /** Changes with the keys. */
      readonly version: string;
    }
  /** `detail` is for the operator. */
  | { readonly ok: false; readonly detail: string; readonly retryAfterSeconds: number };

/** The location of keys, or why it is not known yet. */
export type KeyLocation =
  | {
      readonly ok: true;
      readonly url: string;
      /** Who chose the address. Default: the operator. */
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

/** The state of a source as plain data, from which another process can rebuild it. */
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
  /** When getKeys has none: the pending fetch, or a new one once the backoff has ended; otherwise undefined. */
  load(): Promise<void> | undefined;
  /** When a token does not match the keys: the pending fetch, or a new one, at most once per cooldown; otherwise undefined. */
  refetch(): Promise<void> | undefined;
  describe(): KeySourceStatus;
  /** Stops refreshing. Loaded keys stay usable until they are too old. */
  close(): void;
}

export interface KeySourceOptions {
  /** A URL, or a function that finds it: the jwks_uri of metadata. Called before every fetch, so that a changed URL is used. */
  readonly location: string | (() => KeyLocation | Promise<KeyLocation>);
  readonly fetcher: GuardedFetcher;
  readonly ca?: string | undefined;
  readonly allowInsecureHttp?: boolean;
  /** The longest time between refreshes. Default 5 min. */
  readonly cacheDurationMs?: number;
  /** How long stale keys are used while the issuer is down. Default 24 h. */
  readonly maxStaleMs?: number;
  /** Default 10 s. */
  readonly cooldownMs?: number;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Spreads refreshes of several gateways; 0 up to 1. */
  readonly random?: () => number;
  /** Called after every fetch, successful or not. */
  readonly onFetched?: ((snapshot: KeySnapshot) => void) | undefined;
}

const minute = 60_000;

interface LoadedKeys {
  /** The same object while the keys are unchanged, so that cached verifications stay valid. */
  readonly state: Extract<KeyState, { readonly ok: true }>;
  readonly document: JsonObject;
}

/** Fetches the keys at once and refreshes them until it is closed. */
export function createKeySource(options: KeySourceOptions): KeySource {
  const { location, fetcher, cacheDurationMs = 5 * minute, maxStaleMs = 24 * 60 * minute } = options;
  const { cooldownMs = 10_000, clock = systemClock, log = silentLog, random = Math.random } = options;
  let url = typeof location === 'string' ? location : undefined;
  let nextRefetchAtMs = Number.NEGATIVE_INFINITY;

  async function fetchKeys(): Promise<Fetched<LoadedKeys>> {
    const place: KeyLocation = typeof location === 'string' ? { ok: true, url: location } : await location();
    if (!place.ok) return place;
    url = place.url;
    const outcome = await fetchJsonObject(fetcher, {
      url,
      chosenBy: place.chosenBy ?? 'operator',
      headers: { accept: 'application/jwk-set+json, application/json' },
      ca: options.ca,
      ...(options.allowInsecureHttp === undefined ? {} : { allowInsecureHttp: options.allowInsecureHttp }),
    });
    if (!outcome.ok) return { ok: false, detail: outcome.message };
    if (outcome.status !== 200) return { ok: false, detail: `${url} answers ${outcome.status}` };
    const read = readKeySet(outcome.value);
    if (!read.ok) return { ok: false, detail: `the key set at ${url} ${read.problem}${listIgnored(read.ignored)}` };
    const version = read.keySet.fingerprint;
    const before = source.state.kept?.value.state;
    const state = before?.version === version ? before : { ok: true as const, keySet: read.keySet, version };
    const freshForMs = readFreshness(outcome.headers, clock.now());
    return { ok: true, value: { state, document: outcome.value }, freshForMs };
  }

  const source = createRefreshedSource({
    name: 'the keys of the issuer',
    fetch: fetchKeys,
    lifetime: { defaultMs: cacheDurationMs, minMs: minute, maxMs: cacheDurationMs },
    refreshAfter: [0.75, 0.9],
    findRetry: () => ({ firstMs: 1_000, maxMs: minute, jitter: [1, 0.8] }),
    onFetched(fetched, before) {
      if (fetched.ok && fetched.value.state !== before?.state)
        reportKeys(log, url, fetched.value.state.keySet, before === undefined);
      options.onFetched?.(takeSnapshot());
    },
    listFields: () => ({ url }),
    clock,
    log,
    random,
  });

  function takeSnapshot(): KeySnapshot {
    const { kept, problem, nextAttemptAtMs } = source.state;
    const usableUntilMs = kept === undefined ? 0 : kept.freshUntilMs + maxStaleMs;
    const { value, fetchedAtMs = 0 } = kept ?? {};
    return { url, document: value?.document, fetchedAtMs, usableUntilMs, problem, nextAttemptAtMs };
  }

  return {
    getKeys() {
      void source.load();
      const { kept } = source.state;
      const nowMs = clock.now();
      if (kept !== undefined && nowMs < kept.freshUntilMs + maxStaleMs) return kept.value.state;
      return describeMissing(takeSnapshot(), nowMs);
    },
    load: () => source.load(),
    refetch() {
      if (source.state.underWay !== undefined) return source.state.underWay;
      const nowMs = clock.now();
      if (nowMs < nextRefetchAtMs) return undefined;
      nextRefetchAtMs = nowMs + cooldownMs;
      return source.fetchNow();
    },
    describe: () => describeSnapshot(takeSnapshot(), source.state.kept?.value.state.keySet),
    close: () => source.close(),
  };
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
    describe: () =>
      state.ok ? describeSnapshot({}, state.keySet) : describeSnapshot({ problem: state.detail }, undefined),
    close() {},
  };
}

/** The issuer publishes no keys: no token of it can be judged by its signature. */
export function createAbsentKeySource(): KeySource {
  const detail = 'the identity provider publishes no keys';
  return {
    // Only another configuration helps.
    getKeys: () => ({ ok: false, detail, retryAfterSeconds: 60 }),
    load: () => undefined,
    refetch: () => undefined,
    describe: () => describeSnapshot({ problem: detail }, undefined),
    close() {},
  };
}

function reportKeys(log: Log, url: string | undefined, keySet: KeySet, isFirst: boolean): void {
  const keys = keySet.keys.map(({ id }) => id ?? '(without kid)');
  log.info({ url, keys }, isFirst ? 'the keys of the issuer are loaded' : 'the keys of the issuer have changed');
  if (keySet.ignored.length > 0) log.info({ url, ignored: keySet.ignored }, 'some keys of the issuer are not used');
}

/** Why a source in this state has no keys to judge tokens by. */
export function describeMissing(snapshot: Partial<KeySnapshot>, nowMs: number): KeyState {
  const { document, problem = 'they are being fetched', nextAttemptAtMs = nowMs } = snapshot;
  const age = document === undefined ? 'keys were never loaded' : 'the last keys are too old';
  return { ok: false, detail: `${age}: ${problem}`, retryAfterSeconds: countSecondsUntil(nextAttemptAtMs, nowMs) };
}

/** The status of a source in this state. */
export function describeSnapshot(snapshot: Partial<KeySnapshot>, keySet: KeySet | undefined): KeySourceStatus {
  const { url, document, fetchedAtMs, problem } = snapshot;
  return {
    url,
    keys: (keySet?.keys ?? []).map(({ id, algorithms }) => ({ id, algorithms: [...algorithms] })),
    ignored: keySet?.ignored ?? [],
    fetchedAtMs: document === undefined ? undefined : fetchedAtMs,
    problem,
  };
}

function listIgnored(ignored: readonly IgnoredKey[]): string {
  const [first] = ignored;
  if (first === undefined) return '';
  const more = ignored.length > 1 ? `; ${ignored.length - 1} more are not used either` : '';
  return `: key ${first.id ?? first.index} ${first.why}${more}`;
}
