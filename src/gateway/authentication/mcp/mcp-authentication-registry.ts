// The authentication configurations in use and their connections to identity providers. They survive unrelated configuration changes: keys
// stay loaded, so an edited route causes no fetch from an IdP.
import { toBinary } from '@bufbuild/protobuf';
import type { GuardedFetcher } from '../../../base/fetch-json.ts';
import type { Log } from '../../../base/log.ts';
import type { Sealer } from '../../../base/sealed.ts';
import { sealStore } from '../../../store/sealed-store.ts';
import type { Store } from '../../../store/store.ts';
import {
  LoginFlow,
  type McpAuthentication,
  McpAuthenticationSchema,
  RegistrationMode,
} from '../../../ir/gen/config_pb.ts';
import { readTarget } from '../../http/request-target.ts';
import { describeBytes, KeyedParts } from '../keyed-parts.ts';
import { formatJwks } from '../token/format-jwks.ts';
import { createTokenIssuer } from '../login/issuer/create-token-issuer.ts';
import { createIssuedTokens } from '../login/issuer/issued-token-validator.ts';
import { readRequiredClaims } from '../token/required-claims.ts';
import { describeKeyOrigin, readCacheDuration, readKeyOrigin } from '../token/key-origin.ts';
import type { ConnectIdp, IdpConnection, IdpConnectionOptions } from '../../config/idp-connection.ts';
import type { ProviderPreset } from '../../config/provider-preset.ts';
import type { McpAuthenticationConfig } from '../../config/protected-resource.ts';
import type { AccessTokens, SigningKeys } from '../../config/token-issuer.ts';

/** A policy with everything that it refers to. */
export interface AuthenticationInput {
  /** namespace/name of the ProxyPolicy. */
  readonly source: string;
  readonly message: McpAuthentication;
  /** PEM; undefined: the system's roots. */
  readonly ca: string | undefined;
  /** With keys from a Service: the URLs of its endpoints. */
  readonly keyUrls: readonly string[];
  /** Empty: none was configured. */
  readonly sealKeys: readonly Uint8Array[];
  readonly initialAccessToken: string | undefined;
  readonly clientCredentialsSecret: string | undefined;
  readonly sharedClientSecret: string | undefined;
  /** For the flow Issuer; undefined: none are configured. */
  readonly signingKeys?: SigningKeys | undefined;
}

/** Returns the configuration for an input, the same object for the same input; throws when the input is invalid. */
export type AcquireAuthentication = (input: AuthenticationInput) => McpAuthenticationConfig;

interface RegistryOptions {
  readonly connectIdp: ConnectIdp;
  readonly createSealer: (keys: readonly Uint8Array[]) => Sealer;
  /** The preset of a name, the standard one for an empty name. */
  readonly findPreset: (provider: string) => ProviderPreset | undefined;
  readonly fetcher: GuardedFetcher;
  readonly log: Log;
  /** Keeps sessions of the flow Issuer, and counts registrations; undefined: there is none, and sessions travel with clients. */
  readonly store?: Store | undefined;
  /** In place of createIssuedTokens, where requests are only explained. */
  readonly createIssuedTokens?: typeof createIssuedTokens;
}

/** The policy cannot be enforced by this gateway. */
export class AuthenticationError extends Error {
  readonly code = 'invalid_authentication';
}

interface OpenConnection {
  readonly key: string;
  readonly idp: IdpConnection;
  /** Follows the endpoints of the Service. */
  readonly keyUrls: { current: readonly string[] };
}

interface KnownConfig {
  readonly config: McpAuthenticationConfig;
  readonly connection: OpenConnection;
}

/** All open connections to identity providers. */
export class AuthenticationRegistry {
  readonly #options: RegistryOptions;
  readonly #connections = new KeyedParts<OpenConnection>(({ idp }) => idp.close());
  readonly #configs = new KeyedParts<KnownConfig>();
  readonly #sealers = new KeyedParts<Sealer>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** A new connection starts fetching at once; the next `reconcile` closes unused ones. */
  readonly acquire: AcquireAuthentication = (input) => {
    const preset = this.#options.findPreset(input.message.provider);
    if (preset === undefined)
      throw new AuthenticationError(`the provider ${JSON.stringify(input.message.provider)} is not known`);
    const connection = this.#connect(input, preset);
    connection.keyUrls.current = input.keyUrls;
    const { source, message, ca, initialAccessToken, clientCredentialsSecret, sharedClientSecret, sealKeys } = input;
    const secrets = { ca, initialAccessToken, clientCredentialsSecret, sharedClientSecret };
    const signingKeys = message.flow === LoginFlow.ISSUER ? input.signingKeys : undefined;
    const described = [describeBytes(toBinary(McpAuthenticationSchema, message)), describeSigningKeys(signingKeys)];
    const known = this.#configs.acquire([source, described, secrets, sealKeys.map(describeBytes)], () => {
      const { idp } = connection;
      const sealer = this.#findSealer(sealKeys);
      const issuer = createTokenIssuer(message, { signingKeys, sealer, store: this.#options.store, preset });
      return {
        connection,
        config: {
          source,
          message,
          preset,
          idp,
          tokens: issuer === undefined ? idp : this.#createTokens(input, signingKeys),
          issuer,
          sealer,
          registrationCounts: shareRegistrationCounts(this.#options.store, sealer),
          resourcePath: readResourcePath(message.resource),
          ...secrets,
        },
      };
    });
    return known.config;
  };

  #createTokens({ message, source }: AuthenticationInput, signingKeys: SigningKeys | undefined): AccessTokens {
    const create = this.#options.createIssuedTokens ?? createIssuedTokens;
    return create({
      source,
      signingKeys,
      idp: message.issuer,
      clockSkewMs: message.clockSkewMs,
      requiredClaims: readRequiredClaims(message.requiredClaims),
    });
  }

  /** Closes everything that the configuration in force does not use. */
  reconcile(used: Iterable<McpAuthenticationConfig>): void {
    const needed = new Set(used);
    this.#configs.retain(({ config }) => needed.has(config));
    const known = [...this.#configs.values()];
    const connections = new Set(known.map(({ connection }) => connection));
    this.#connections.retain((connection) => connections.has(connection));
    const sealers = new Set(known.map(({ config }) => config.sealer));
    this.#sealers.retain((sealer) => sealers.has(sealer));
  }

  /** Closes everything. */
  close(): void {
    this.reconcile([]);
  }

  #connect(input: AuthenticationInput, preset: ProviderPreset): OpenConnection {
    const { message } = input;
    const settings = {
      issuer: message.issuer,
      metadataUrl: message.metadataUrl,
      endpoints: readEndpoints(message.endpoints),
      cacheDurationMs: readCacheDuration(message.keys),
      ca: input.ca,
      allowInsecureHttp: message.allowInsecureHttp,
      flow: readFlow(message.flow),
      registration: readRegistration(message.registration?.mode ?? RegistrationMode.FORWARD),
      registrationEndpoint: message.registration?.endpoint ?? '',
      addsToRequests: message.extraScopes.length > 0 || Object.keys(message.extraParameters).length > 0,
      clockSkewMs: message.clockSkewMs,
      requiredClaims: message.requiredClaims,
    } satisfies Partial<IdpConnectionOptions>;
    return this.#connections.acquire([settings, preset.name, describeKeyOrigin(message.keys)], (key) => {
      const keyUrls = { current: input.keyUrls };
      const idp = this.#options.connectIdp({
        ...settings,
        id: `idp ${key}`,
        preset,
        keys: readKeyOrigin(message.keys, () => keyUrls.current) ?? { kind: 'discovered' },
        describeUsers: () => this.#describeUsers(key),
        fetcher: this.#options.fetcher,
        log: this.#options.log,
      });
      return { key, idp, keyUrls };
    });
  }

  #describeUsers(key: string): string {
    const users = [...this.#configs.values()].filter(({ connection }) => connection.key === key);
    return [...new Set(users.map(({ config }) => config.source))].toSorted().join(', ');
  }

  #findSealer(keys: readonly Uint8Array[]): Sealer | undefined {
    if (keys.length === 0) return undefined;
    return this.#sealers.acquire(keys.map(describeBytes), () => this.#options.createSealer(keys));
  }
}

/** The workers of one machine count together without a store, and a write to a file would hold all of them up. */
function shareRegistrationCounts(store: Store | undefined, sealer: Sealer | undefined) {
  if (store?.reach !== 'shared' || sealer === undefined) return undefined;
  return sealStore(store, sealer, 'registrations');
}

/** New keys make a new configuration; the secret parts need not be in it. */
function describeSigningKeys(signingKeys: SigningKeys | undefined): unknown {
  if (signingKeys === undefined) return undefined;
  return [formatJwks(signingKeys), signingKeys.active?.kid];
}

// An enum may carry a number that this version does not know; a guess could protect something other than configured.
function readFlow(flow: LoginFlow): IdpConnectionOptions['flow'] {
  switch (flow) {
    case LoginFlow.UNSPECIFIED:
    case LoginFlow.AUTO:
      return 'Auto';
    case LoginFlow.FACADE:
      return 'Facade';
    case LoginFlow.BROKER:
      return 'Broker';
    case LoginFlow.DIRECT:
      return 'Direct';
    case LoginFlow.ISSUER:
      return 'Issuer';
    default:
      throw new AuthenticationError(`the login flow ${String(flow)} is not known`);
  }
}

function readRegistration(mode: RegistrationMode): IdpConnectionOptions['registration'] {
  switch (mode) {
    case RegistrationMode.UNSPECIFIED:
    case RegistrationMode.FORWARD:
      return 'Forward';
    case RegistrationMode.SHARED:
      return 'Shared';
    default:
      throw new AuthenticationError(`the registration mode ${String(mode)} is not known`);
  }
}

/** As plain data: it is part of the key of a connection. */
function readEndpoints(message: McpAuthentication['endpoints']): IdpConnectionOptions['endpoints'] {
  if (message === undefined) return undefined;
  const { authorization, token, userinfo } = message;
  return { authorization, token, userinfo };
}

function readResourcePath(resource: string): string | undefined {
  if (resource === '') return undefined;
  const path = URL.parse(resource)?.pathname;
  const target = path === undefined ? undefined : readTarget(path);
  if (target?.ok !== true)
    throw new AuthenticationError(`the resource ${JSON.stringify(resource)} is not a usable URL`);
  return target.path.replace(/\/$/, '');
}
