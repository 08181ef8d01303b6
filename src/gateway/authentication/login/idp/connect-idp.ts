// The connection to one IdP: its metadata (RFC 8414, OpenID Connect Discovery), the keys that the metadata names (RFC 7517), the validator that
// uses them, and the resulting login flow. It lives until no policy uses it.
import { type Clock, systemClock } from '../../../../base/clock.ts';
import { describeOffset } from '../../../../base/clock-offset.ts';
import { createTokenValidator } from '../../token/create-validator.ts';
import { watchKeySource } from '../../token/key-health.ts';
import type { KeyOrigin } from '../../token/key-origin.ts';
import { createAbsentKeySource } from '../../token/key-source.ts';
import { type LocatedKeys, type OpenKeySource, openKeySource } from '../../token/open-key-source.ts';
import { readRequiredClaims } from '../../token/required-claims.ts';
import type { TokenRefusal } from '../../token/verified-token.ts';
import { findChoice } from './chosen-by.ts';
import { chooseFlow } from './choose-flow.ts';
import { type Discovery, discoverMetadata, findFixedDiscovery } from './discover-metadata.ts';
import type { FlowChoice, IdpConnection, IdpConnectionOptions, MetadataState } from '../../../config/idp-connection.ts';
import {
  createMetadataSource,
  type DiscoveryState,
  type FoundDiscovery,
  type MetadataSource,
  type MetadataSourceOptions,
} from './metadata-source.ts';
import type { SharedLogins } from '../../../config/shared-logins.ts';

/** Clock and randomness, replaceable in tests; and the fetchers, where several processes share the results. */
interface ConnectionEnvironment {
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly openKeySource?: OpenKeySource;
  readonly openMetadataSource?: (options: MetadataSourceOptions) => MetadataSource;
  readonly shared?: SharedLogins;
}

/** Connects: starts fetching metadata and keys, and returns at once. */
export function connectIdp(options: IdpConnectionOptions, environment: ConnectionEnvironment = {}): IdpConnection {
  const clock = environment.clock ?? systemClock;
  const random = environment.random ?? Math.random;
  const log = options.log.child({ issuer: options.issuer });

  const choose = (latest?: FoundDiscovery): FlowChoice | undefined =>
    chooseFlow({
      ...options,
      metadata: latest?.metadata,
      emitsIssuer: latest?.emitsIssuer ?? false,
      addsToRequests: options.addsToRequests ?? false,
    });
  // Known at once when it does not depend on the metadata.
  let choice = choose();
  let announced = '';

  /** Logs the flow once, and again when it changes. */
  function announceFlow(): void {
    if (choice === undefined || `${choice.flow} ${choice.reason}` === announced) return;
    announced = `${choice.flow} ${choice.reason}`;
    log.info(
      { policies: options.describeUsers(), flow: choice.flow, reason: choice.reason },
      'the login flow is chosen',
    );
  }

  let warnedOf = '';

  /** Warns once of a clock that makes tokens look expired or not valid yet, and again when it is set otherwise. */
  function compareClocks(offsetMs = 0): void {
    const isOff = Math.abs(offsetMs) > Math.max(options.clockSkewMs, wholeSecondsMs);
    const found = `${describeOffset(offsetMs)} ${offsetMs > 0 ? 'ahead of' : 'behind'}`;
    if (isOff && found !== warnedOf)
      log.warn(
        { policies: options.describeUsers() },
        `the clock of the identity provider is ${found} this gateway's, so tokens may be refused as ${offsetMs > 0 ? 'not valid yet' : 'expired'}: set the one that is off (NTP)`,
      );
    warnedOf = isOff ? found : '';
  }

  function takeMetadata(discovery: FoundDiscovery): void {
    choice = choose(discovery);
    announceFlow();
    compareClocks(discovery.clockOffsetMs);
  }

  const openMetadata = environment.openMetadataSource ?? createMetadataSource;
  const fixed = findFixedDiscovery(options);
  const metadata =
    fixed === undefined
      ? openMetadata({ discover: () => discoverMetadata(options), onLoad: takeMetadata, clock, log, random })
      : keepMetadata(fixed);
  // Later, as with fetched metadata: the policy is not among the users of this connection yet.
  if (fixed?.ok === true) queueMicrotask(() => takeMetadata(fixed));
  const { fetcher, ca, cacheDurationMs, id } = options;
  const open = environment.openKeySource ?? openKeySource;
  const fetching = { fetcher, ca, cacheDurationMs, clock, random, log, ...(id !== undefined && { id }) };
  const hasNoKeys = fixed !== undefined && options.keys.kind === 'discovered';
  const keySource = hasNoKeys ? createAbsentKeySource() : open(findKeys(options, metadata), fetching);
  const validator = createTokenValidator({
    issuer: options.issuer,
    keySource,
    clockSkewMs: options.clockSkewMs,
    requiredClaims: readRequiredClaims(options.requiredClaims),
    now: () => clock.now(),
  });

  return {
    issuer: options.issuer,
    fetcher: options.fetcher,
    log,
    shared: environment.shared,
    validator,
    getMetadata() {
      const state = metadata.get();
      return state instanceof Promise ? state.then(describeMetadata) : describeMetadata(state);
    },
    getFlow: () => choice,
    get hasKeys() {
      return keySource.getKeys().ok;
    },
    keys: keySource,
    ...(!hasNoKeys && { keyHealth: watchKeySource(keySource), describeKeys: () => keySource.describe() }),
    async loadKeys(): Promise<TokenRefusal | undefined> {
      await keySource.load();
      const state = keySource.getKeys();
      if (state.ok) return undefined;
      const { detail, retryAfterSeconds } = state;
      return {
        ok: false,
        reason: 'keys_unavailable',
        detail: 'The keys of the identity provider could not be fetched yet.',
        operatorDetail: detail,
        retryAfterSeconds,
      };
    },
    close() {
      metadata.close();
      keySource.close();
    },
  };
}

/** A Date has no fractions, and answers travel. */
const wholeSecondsMs = 15_000;

/** Metadata that never changes. */
function keepMetadata(fixed: Discovery): MetadataSource {
  const state: DiscoveryState = fixed.ok
    ? { ok: true, discovery: fixed }
    : // Only another configuration helps.
      { ok: false, detail: fixed.detail, retryAfterSeconds: 60 };
  return { get: () => state, close() {} };
}

function describeMetadata(state: DiscoveryState): MetadataState {
  return state.ok ? { ok: true, metadata: state.discovery.metadata, url: state.discovery.url } : state;
}

/** The location that the policy sets, else the current one in the metadata. */
function findKeys(
  { keys, issuer, metadataUrl, allowInsecureHttp }: IdpConnectionOptions,
  metadata: MetadataSource,
): KeyOrigin | LocatedKeys {
  if (keys.kind !== 'discovered') return keys;
  return {
    kind: 'located',
    allowInsecureHttp,
    async locate() {
      const state = await metadata.get();
      if (!state.ok) return { ok: false, detail: state.detail };
      const { jwksUri, url } = state.discovery;
      return jwksUri === undefined
        ? { ok: false, detail: `the metadata at ${url} has no jwks_uri: set jwks` }
        : { ok: true, url: jwksUri, chosenBy: findChoice(jwksUri, { issuer, metadataUrl }) };
    },
  };
}
