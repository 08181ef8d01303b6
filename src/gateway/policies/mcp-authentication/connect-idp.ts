// The connection to one IdP: its metadata (RFC 8414, OpenID Connect Discovery), the keys that the metadata names (RFC 7517), the validator that
// uses them, and the login flow that follows. It lives from when its policy arrives until nothing needs it.
import { type Clock, systemClock } from '../../../base/clock.ts';
import { createInlineKeySource, createKeySource, type KeyLocation, type KeySource } from '../../token/key-source.ts';
import { createTokenValidator } from '../../token/create-validator.ts';
import type { TokenRefusal } from '../../token/verified-token.ts';
import { chooseFlow } from './choose-flow.ts';
import { discoverMetadata } from './discover-metadata.ts';
import type { FlowChoice, IdpConnection, IdpConnectionOptions, MetadataState } from './idp-connection.ts';
import {
  createMetadataSource,
  type DiscoveryState,
  type FoundDiscovery,
  type MetadataSource,
} from './metadata-source.ts';

/** Time and chance, for tests. */
export interface ConnectionEnvironment {
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** Connects: metadata and keys are on their way when this returns. */
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

  /** Once, and again when it changes. */
  function announceFlow(): void {
    if (choice === undefined || `${choice.flow} ${choice.reason}` === announced) return;
    announced = `${choice.flow} ${choice.reason}`;
    log.info(
      { policies: options.describeUsers(), flow: choice.flow, reason: choice.reason },
      'the login flow is chosen',
    );
  }

  const metadata = createMetadataSource({
    discover: () => discoverMetadata(options),
    onLoad: (discovery) => {
      choice = choose(discovery);
      announceFlow();
    },
    clock,
    log,
    random,
  });
  const keySource = openKeySource(options, metadata, { clock, random });
  const validator = createTokenValidator({
    issuer: options.issuer,
    keySource,
    clockSkewMs: options.clockSkewMs,
    requiredClaims: options.requiredClaims.map(({ name, values }) => ({
      name,
      values: values.map((value): unknown => JSON.parse(value)),
    })),
    now: () => clock.now(),
  });

  return {
    issuer: options.issuer,
    fetcher: options.fetcher,
    log,
    validator,
    getMetadata() {
      const state = metadata.get();
      return state instanceof Promise ? state.then(describeMetadata) : describeMetadata(state);
    },
    getFlow: () => choice,
    get hasKeys() {
      return keySource.getKeys().ok;
    },
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

function describeMetadata(state: DiscoveryState): MetadataState {
  return state.ok ? { ok: true, metadata: state.discovery.metadata, url: state.discovery.url } : state;
}

function openKeySource(
  options: IdpConnectionOptions,
  metadata: MetadataSource,
  { clock, random }: Required<ConnectionEnvironment>,
): KeySource {
  const { keys } = options;
  if (keys.kind === 'inline') return createInlineKeySource(keys.document);
  const common = {
    fetcher: options.fetcher,
    ca: options.ca,
    cacheDurationMs: options.cacheDurationMs,
    clock,
    random,
    log: options.log.child({ issuer: options.issuer }),
  };
  switch (keys.kind) {
    case 'url':
      return createKeySource({ ...common, location: keys.url, allowInsecureHttp: keys.allowInsecureHttp });
    case 'endpoints':
      return createKeySource({ ...common, location: takeTurns(keys.listUrls), allowInsecureHttp: true });
    case 'discovered':
      return createKeySource({
        ...common,
        allowInsecureHttp: options.allowInsecureHttp,
        location: async (): Promise<KeyLocation> => {
          const state = await metadata.get();
          if (!state.ok) return { ok: false, detail: state.detail };
          const { jwksUri, url } = state.discovery;
          return jwksUri === undefined
            ? { ok: false, detail: `the metadata at ${url} has no jwks_uri: set jwks` }
            : { ok: true, url: jwksUri };
        },
      });
  }
}

/** Another endpoint each time: when one is down, the next try asks the next. */
function takeTurns(listUrls: () => readonly string[]): () => KeyLocation {
  let turn = 0;
  return () => {
    const urls = listUrls();
    const url = urls[turn % Math.max(1, urls.length)];
    turn += 1;
    return url === undefined
      ? { ok: false, detail: 'the Service of the keys has no ready endpoint' }
      : { ok: true, url };
  };
}
