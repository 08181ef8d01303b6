// The JWT authentications in use and the keys of their providers. They survive unrelated configuration changes: keys stay loaded and
// verified tokens stay cached, so an edited route causes no fetch from an identity provider.
import { toBinary } from '@bufbuild/protobuf';
import type { GuardedFetcher } from '../../../base/fetch-json.ts';
import type { Log } from '../../../base/log.ts';
import { type JwtAuthentication, JwtAuthenticationSchema, type JwtProvider } from '../../../ir/gen/config_pb.ts';
import { createTokenValidator } from '../token/create-validator.ts';
import type { TokenLocation } from '../token/find-token.ts';
import { describeKeyOrigin, readCacheDuration, readKeyOrigin } from '../token/key-origin.ts';
import { watchKeySource } from '../token/key-health.ts';
import type { KeySource } from '../token/key-source.ts';
import { openKeySource, type OpenKeySource } from '../token/open-key-source.ts';
import { readRequiredClaims } from '../token/required-claims.ts';
import type { TokenValidator } from '../token/verified-token.ts';
import { listClaimHeaders } from '../claims-to-headers.ts';
import { describeBytes, KeyedParts } from '../keyed-parts.ts';
import type { JwtAuthenticationConfig, JwtProviderConfig } from '../../config/jwt-authentication-config.ts';

/** A policy with everything that it refers to. */
export interface JwtAuthenticationInput {
  /** namespace/name of the ProxyPolicy. */
  readonly source: string;
  readonly message: JwtAuthentication;
  /** By name of the provider. */
  readonly providers: ReadonlyMap<string, JwtProviderInput>;
}

export interface JwtProviderInput {
  /** PEM; undefined: the system's roots. */
  readonly ca: string | undefined;
  /** With keys from a Service: the URLs of its endpoints. */
  readonly keyUrls: readonly string[];
}

/** Returns the configuration for an input, the same object for the same input; throws when the input is invalid. */
export type AcquireJwtAuthentication = (input: JwtAuthenticationInput) => JwtAuthenticationConfig;

interface JwtRegistryOptions {
  readonly fetcher: GuardedFetcher;
  readonly log: Log;
  /** Replaces the fetching of keys, for processes that make no connections. */
  readonly openKeySource?: OpenKeySource;
  readonly now?: () => number;
}

/** The policy cannot be enforced by this gateway. */
export class JwtAuthenticationError extends Error {
  readonly code = 'invalid_jwt_authentication';
}

interface OpenKeys {
  readonly source: KeySource;
  /** Follows the endpoints of the Service. */
  readonly keyUrls: { current: readonly string[] };
}

interface OpenValidator {
  readonly validator: TokenValidator;
  readonly keys: OpenKeys;
}

interface KnownConfig {
  readonly config: JwtAuthenticationConfig;
  readonly validators: readonly OpenValidator[];
}

const noInput: JwtProviderInput = { ca: undefined, keyUrls: [] };

/** All open key sources of JWT providers: one per origin, certificate authority and cache duration, shared by all policies. */
export class JwtAuthenticationRegistry {
  readonly #options: JwtRegistryOptions;
  readonly #keys = new KeyedParts<OpenKeys>(({ source }) => source.close());
  readonly #validators = new KeyedParts<OpenValidator>();
  readonly #configs = new KeyedParts<KnownConfig>();

  constructor(options: JwtRegistryOptions) {
    this.#options = options;
  }

  /** A new source starts fetching at once; the next `reconcile` closes unused ones. */
  readonly acquire: AcquireJwtAuthentication = (input) => {
    const { source, message } = input;
    // Before anything is opened: it throws on an invalid input.
    readLocation(message);
    // Also for known inputs: endpoints change without the policy.
    const opened = message.providers.map((provider) =>
      this.#openValidator(provider, input.providers.get(provider.name) ?? noInput),
    );
    const known = this.#configs.acquire(
      [
        source,
        describeBytes(toBinary(JwtAuthenticationSchema, message)),
        message.providers.map(({ name }) => input.providers.get(name)?.ca),
      ],
      () => ({ config: compileConfig(source, message, opened), validators: opened }),
    );
    return known.config;
  };

  /** Closes everything that the configuration in force does not use. */
  reconcile(used: Iterable<JwtAuthenticationConfig>): void {
    const needed = new Set(used);
    this.#configs.retain(({ config }) => needed.has(config));
    const validators = new Set([...this.#configs.values()].flatMap((known) => known.validators));
    this.#validators.retain((open) => validators.has(open));
    const sources = new Set([...validators].map(({ keys }) => keys));
    this.#keys.retain((open) => sources.has(open));
  }

  close(): void {
    this.reconcile([]);
  }

  #openValidator(provider: JwtProvider, input: JwtProviderInput): OpenValidator {
    const { issuer, clockSkewMs, requiredClaims: messages } = provider;
    // Before anything is opened: it throws on an invalid input.
    const requiredClaims = readRequiredClaims(messages);
    const keys = this.#openKeys(provider, input);
    const { now } = this.#options;
    return this.#validators.acquire([describeKeys(provider, input), issuer, clockSkewMs, requiredClaims], () => ({
      validator: createTokenValidator({
        issuer,
        keySource: keys.source,
        clockSkewMs,
        requiredClaims,
        ...(now === undefined ? {} : { now }),
      }),
      keys,
    }));
  }

  #openKeys(provider: JwtProvider, input: JwtProviderInput): OpenKeys {
    const opened = this.#keys.acquire(describeKeys(provider, input), (key) => {
      const keyUrls = { current: input.keyUrls };
      const origin = readKeyOrigin(provider.keys, () => keyUrls.current);
      if (origin === undefined)
        throw new JwtAuthenticationError(`the provider ${JSON.stringify(provider.name)} names no keys`);
      const { fetcher, log } = this.#options;
      const open = this.#options.openKeySource ?? openKeySource;
      const cacheDurationMs = readCacheDuration(provider.keys);
      const source = open(origin, { fetcher, ca: input.ca, cacheDurationMs, log, id: `jwt ${key}` });
      return { source, keyUrls };
    });
    opened.keyUrls.current = input.keyUrls;
    return opened;
  }
}

function compileConfig(
  source: string,
  message: JwtAuthentication,
  opened: readonly OpenValidator[],
): JwtAuthenticationConfig {
  const location = readLocation(message);
  const claimHeaders = new Set(listClaimHeaders(message.claimsToHeaders));
  return {
    source,
    message,
    location,
    providers: new Map(
      message.providers.map((provider, index) => [provider.issuer, describeProvider(provider, opened[index]!)]),
    ),
    claimHeaders,
    withheldHeaders:
      location.kind === 'header' ? new Set([...claimHeaders, location.name.replaceAll('_', '-')]) : claimHeaders,
    claimsOfTokens: new WeakMap(),
  };
}

function describeKeys({ keys }: JwtProvider, { ca }: JwtProviderInput): unknown {
  return [describeKeyOrigin(keys), ca, readCacheDuration(keys)];
}

function describeProvider(message: JwtProvider, { validator, keys: { source } }: OpenValidator): JwtProviderConfig {
  return {
    message,
    audiences: message.audiences.length === 0 ? 'any' : message.audiences,
    validator,
    get hasKeys() {
      return source.getKeys().ok;
    },
    keyHealth: watchKeySource(source),
    describeKeys: () => source.describe(),
  };
}

/** Throws on a missing or unknown location: a guess could read tokens from a place that was not intended. */
function readLocation({ location }: JwtAuthentication): TokenLocation {
  switch (location?.location.case) {
    case 'header': {
      const { name, prefix } = location.location.value;
      if (name === '') break;
      return { kind: 'header', name: name.toLowerCase(), prefix };
    }
    case 'cookie':
    case 'queryParameter': {
      const { case: kind, value: name } = location.location;
      if (name === '') break;
      return { kind, name };
    }
    case undefined:
  }
  throw new JwtAuthenticationError('the policy names no location of the token');
}
