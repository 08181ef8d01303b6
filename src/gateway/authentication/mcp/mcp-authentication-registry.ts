// The authentication configurations in use and their connections to identity providers. They survive unrelated configuration changes: keys
// stay loaded, so an edited route causes no fetch from an IdP.
import { toBinary } from '@bufbuild/protobuf';
import type { GuardedFetcher } from '../../../base/fetch-json.ts';
import type { Log } from '../../../base/log.ts';
import type { Sealer } from '../../../base/sealed.ts';
import type { Store } from '../../../store/store.ts';
import {
  LoginFlow,
  type McpAuthentication,
  McpAuthenticationSchema,
  RegistrationMode,
} from '../../../ir/gen/config_pb.ts';
import { readTarget } from '../../http/request-target.ts';
import { describeBytes, KeyedParts } from '../keyed-parts.ts';
import { describeKeyOrigin, readCacheDuration, readKeyOrigin } from '../token/key-origin.ts';
import type { ConnectIdp, IdpConnection, IdpConnectionOptions } from '../../config/idp-connection.ts';
import type { ProviderPreset } from '../../config/provider-preset.ts';
import type { McpAuthenticationConfig } from '../../config/protected-resource.ts';

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
  /** Where state is kept that outlives a request; undefined: nowhere. */
  readonly store?: Store | undefined;
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
    const known = this.#configs.acquire(
      [source, describeBytes(toBinary(McpAuthenticationSchema, message)), secrets, sealKeys.map(describeBytes)],
      () => ({
        connection,
        config: {
          source,
          message,
          preset,
          idp: connection.idp,
          sealer: this.#findSealer(sealKeys),
          resourcePath: readResourcePath(message.resource),
          ...secrets,
        },
      }),
    );
    return known.config;
  };

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

function readResourcePath(resource: string): string | undefined {
  if (resource === '') return undefined;
  const path = URL.parse(resource)?.pathname;
  const target = path === undefined ? undefined : readTarget(path);
  if (target?.ok !== true)
    throw new AuthenticationError(`the resource ${JSON.stringify(resource)} is not a usable URL`);
  return target.path.replace(/\/$/, '');
}
