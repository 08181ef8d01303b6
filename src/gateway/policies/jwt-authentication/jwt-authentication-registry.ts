// The JWT authentications in use and the keys of their providers. They outlive configuration changes that do not concern them.
import type { GuardedFetcher } from '../../../base/fetch-json.ts';
import type { Log } from '../../../base/log.ts';
import type { JwtAuthentication } from '../../../ir/gen/config_pb.ts';
import type { JwtAuthenticationConfig } from './jwt-authentication-config.ts';

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

/** Gives the configuration for an input, the same one for the same input; throws when the input makes no sense. */
export type AcquireJwtAuthentication = (input: JwtAuthenticationInput) => JwtAuthenticationConfig;

export interface JwtRegistryOptions {
  readonly fetcher: GuardedFetcher;
  readonly log: Log;
}

/** All keys of JWT providers that are open. */
export class JwtAuthenticationRegistry {
  readonly #options: JwtRegistryOptions;

  constructor(options: JwtRegistryOptions) {
    this.#options = options;
  }

  readonly acquire: AcquireJwtAuthentication = () => {
    this.#options.log.warn({}, 'JWT authentication is not supported yet');
    throw new Error('JWT authentication is not supported yet');
  };

  /** Closes what the configuration in force does not use. */
  reconcile(_used: Iterable<JwtAuthenticationConfig>): void {}

  close(): void {
    this.reconcile([]);
  }
}
