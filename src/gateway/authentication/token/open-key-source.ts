// Opens the source of an issuer's keys, wherever they come from.
import type { Clock } from '../../../base/clock.ts';
import type { GuardedFetcher } from '../../../base/fetch-json.ts';
import type { Log } from '../../../base/log.ts';
import type { KeyOrigin } from './key-origin.ts';
import {
  createInlineKeySource,
  createKeySource,
  type KeyLocation,
  type KeySnapshot,
  type KeySource,
} from './key-source.ts';

/** A location that becomes known later: the jwks_uri of metadata. */
export interface LocatedKeys {
  readonly kind: 'located';
  readonly locate: () => KeyLocation | Promise<KeyLocation>;
  readonly allowInsecureHttp: boolean;
}

/** How keys are fetched. Inline keys need none of it. */
export interface KeyFetching {
  readonly fetcher: GuardedFetcher;
  /** PEM; undefined: the system's roots. */
  readonly ca: string | undefined;
  readonly cacheDurationMs: number;
  readonly log: Log;
  readonly clock?: Clock;
  /** Spreads refreshes of several gateways; 0 up to 1. */
  readonly random?: () => number;
  /** The same for the same keys, in every process that has the configuration. */
  readonly id?: string;
  /** Called after every fetch. */
  readonly onFetched?: (snapshot: KeySnapshot) => void;
}

/** Opens a source: starts fetching and returns at once. */
export type OpenKeySource = (origin: KeyOrigin | LocatedKeys, fetching: KeyFetching) => KeySource;

/** Opens a source that fetches. */
export const openKeySource: OpenKeySource = (origin, fetching) => {
  switch (origin.kind) {
    case 'inline':
      return createInlineKeySource(origin.document);
    case 'url':
      return createKeySource({ ...fetching, location: origin.url, allowInsecureHttp: origin.allowInsecureHttp });
    case 'endpoints':
      return createKeySource({ ...fetching, location: takeTurns(origin.listUrls), allowInsecureHttp: true });
    case 'located':
      return createKeySource({ ...fetching, location: origin.locate, allowInsecureHttp: origin.allowInsecureHttp });
  }
};

/** Round robin over the endpoints: when one is down, the next attempt uses the next. */
function takeTurns(listUrls: () => readonly string[]): () => KeyLocation {
  let turn = 0;
  return () => {
    const urls = listUrls();
    const url = urls[turn % Math.max(1, urls.length)];
    turn += 1;
    return url === undefined
      ? { ok: false, detail: 'the Service that serves the keys has no ready endpoint' }
      : { ok: true, url };
  };
}
