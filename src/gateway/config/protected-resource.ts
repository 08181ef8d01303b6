// Protected resources and their MCP authentication: compiled when the configuration changes, looked up per request.
import type { McpAuthentication } from '../../ir/gen/config_pb.ts';
import type { Sealer } from '../../base/sealed.ts';
import type { Store } from '../../store/store.ts';
import type { Idp } from './idp-connection.ts';
import type { ProviderPreset } from './provider-preset.ts';
import type { AccessTokens, TokenIssuer } from './token-issuer.ts';

/** One ProxyPolicy's MCP authentication. Shared by all resources that it protects. */
export interface McpAuthenticationConfig {
  /** namespace/name of the ProxyPolicy. */
  readonly source: string;
  readonly message: McpAuthentication;
  readonly preset: ProviderPreset;
  /** The connection to the identity provider: metadata, keys, chosen flow. Survives configuration changes that do not concern it. */
  readonly idp: Idp;
  /** Judges access tokens: by the keys of the identity provider, or by the gateway's own. */
  readonly tokens: AccessTokens;
  /** Undefined: the identity provider issues the tokens. */
  readonly issuer: TokenIssuer | undefined;
  /** Undefined: no seal key is configured; operations that need one fail closed with a reason. */
  readonly sealer: Sealer | undefined;
  /** Registrations as all gateways with the same store count them; undefined: there is none, and each gateway counts by itself. */
  readonly registrationCounts?: Pick<Store, 'count'> | undefined;
  /** Path of the configured resource URL in the form of ProtectedResource.path; undefined: resources are known by the paths of their routes. */
  readonly resourcePath: string | undefined;
  /** PEM, for every call to this IdP; undefined: the system's roots. */
  readonly ca: string | undefined;
  /** Values of the Secrets that the policy names. */
  readonly initialAccessToken: string | undefined;
  readonly clientCredentialsSecret: string | undefined;
  readonly sharedClientSecret: string | undefined;
}

/**
 * The host that clients know a resource by. It comes from the configuration; a request chooses among what is configured.
 * `configured`: the host of the policy's resource URL. `exact`: a hostname of the route. `loopback`: the loopback name in the Host header, on a
 * listener that only this machine reaches. `asked`: any Host, where nothing is compared with it and no login goes through the gateway.
 */
export type ResourceHost =
  | { readonly kind: 'configured'; readonly origin: string }
  | { readonly kind: 'exact'; readonly hostname: string; readonly port: number }
  | { readonly kind: 'loopback'; readonly port: number }
  | { readonly kind: 'asked' };

/** A protected MCP URL: a path on a hostname of a listener. */
export interface ProtectedResource {
  readonly host: ResourceHost;
  /**
   * P of the design: the path of the configured resource URL, or else of the route's match. Without a trailing slash; '' for the root.
   */
  readonly path: string;
  readonly config: McpAuthenticationConfig;
  /** Key of its backend, or of the first of several. The backend of a request is in its context. */
  readonly backend: string;
  /** Scopes that rules over its messages require. */
  readonly messageScopes: readonly string[];
  /** The host has this one resource only: the root forms of the well-known URLs are its own. */
  readonly isOnlyOne: boolean;
  /** The host has this one configuration only: root forms of authorization server metadata and the fallback endpoints are its own. */
  readonly isOnlyConfiguration: boolean;
}

/** The path of the resource that a request belongs to, given the path of its match; undefined when neither policy nor match has a path. */
export function findResourcePath(config: McpAuthenticationConfig, matchedPath: string | undefined): string | undefined {
  return config.resourcePath ?? matchedPath?.replace(/\/$/, '');
}
