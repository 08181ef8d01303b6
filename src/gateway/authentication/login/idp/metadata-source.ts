// The IdP's metadata: the newest good discovery, kept however old while the IdP is down.
import type { Clock } from '../../../../base/clock.ts';
import type { Log } from '../../../../base/log.ts';
import { countSecondsUntil, createRefreshedSource } from '../../../../base/refreshed-source.ts';
import type { Discovery } from './discover-metadata.ts';

export type FoundDiscovery = Extract<Discovery, { readonly ok: true }>;

/** The newest good discovery, or why there is none. */
export type DiscoveryState =
  | { readonly ok: true; readonly discovery: FoundDiscovery }
  | { readonly ok: false; readonly detail: string; readonly retryAfterSeconds: number };

export interface MetadataSource {
  /** The newest document at once, however old; otherwise the pending fetch. A failed fetch is not repeated before its backoff ends. */
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

const name = 'the metadata of the identity provider';
const minute = 60_000;

/** Starts fetching, and goes on until it is closed. */
export function createMetadataSource(options: MetadataSourceOptions): MetadataSource {
  const { discover, onLoad, clock, log, random } = options;
  const source = createRefreshedSource<FoundDiscovery>({
    name,
    async fetch() {
      const discovery = await discover();
      return discovery.ok ? { ok: true, value: discovery, freshForMs: discovery.freshForMs } : discovery;
    },
    lifetime: { defaultMs: 10 * minute, minMs: minute, maxMs: 60 * minute },
    refreshAfter: [0.8, 1],
    // Short backoff while there is no document at all; longer while the last one is still usable.
    findRetry: (isKept) => ({ firstMs: 1_000, maxMs: isKept ? 5 * minute : 30_000, jitter: [1, 0.7] }),
    onFetched(fetched, before) {
      if (!fetched.ok) return;
      if (before === undefined) log.info({ url: fetched.value.url }, `${name} is loaded`);
      onLoad(fetched.value);
    },
    clock,
    log,
    random,
  });

  function readState(): DiscoveryState {
    const { kept, problem, nextAttemptAtMs } = source.state;
    if (kept !== undefined) return { ok: true, discovery: kept.value };
    return {
      ok: false,
      detail: problem ?? `${name} was never loaded`,
      retryAfterSeconds: countSecondsUntil(nextAttemptAtMs, clock.now()),
    };
  }

  return {
    get() {
      const loading = source.load();
      return source.state.kept !== undefined || loading === undefined ? readState() : loading.then(readState);
    },
    close: () => source.close(),
  };
}
