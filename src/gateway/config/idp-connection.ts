// The connection to one identity provider: its metadata (RFC 8414, OpenID Connect Discovery), its keys, and the login flow that follows from them.
import type { GuardedFetcher } from '../../base/fetch-json.ts';
import type { Log } from '../../base/log.ts';
import type { RequiredClaim } from '../../ir/gen/config_pb.ts';
import type { KeyHealth } from '../authentication/token/key-health.ts';
import type { KeySource, KeySourceStatus } from '../authentication/token/key-source.ts';
import type { KeyOrigin } from '../authentication/token/key-origin.ts';
import type { TokenRefusal, TokenValidator } from '../authentication/token/verified-token.ts';
import type { ProviderPreset } from './provider-preset.ts';
import type { SharedLogins } from './shared-logins.ts';

/** A validated metadata document of the identity provider. Unknown members are kept. */
export interface IdpMetadata {
  readonly issuer: string;
  readonly authorization_endpoint?: string;
  readonly token_endpoint?: string;
  readonly registration_endpoint?: string;
  readonly jwks_uri?: string;
  readonly userinfo_endpoint?: string;
  readonly response_types_supported?: readonly string[];
  readonly grant_types_supported?: readonly string[];
  readonly scopes_supported?: readonly string[];
  readonly code_challenge_methods_supported?: readonly string[];
  readonly token_endpoint_auth_methods_supported?: readonly string[];
  readonly authorization_response_iss_parameter_supported?: boolean;
  readonly [member: string]: unknown;
}

export type MetadataState =
  | { readonly ok: true; readonly metadata: IdpMetadata; readonly url: string }
  /** `detail` says which URLs were tried and what each answered. */
  | { readonly ok: false; readonly detail: string; readonly retryAfterSeconds: number };

/** The flow in force and why: shown in logs, `check`, the admin output and the inspector. */
export interface FlowChoice {
  readonly flow: 'Facade' | 'Broker' | 'Direct' | 'Issuer';
  readonly reason: string;
}

export interface Idp {
  readonly issuer: string;
  /** The document in force (stale while the IdP is down), or a promise for a pending fetch. */
  getMetadata(): MetadataState | Promise<MetadataState>;
  /** Follows from the metadata and the policy; undefined while no metadata could be fetched. */
  getFlow(): FlowChoice | undefined;
  readonly validator: TokenValidator;
  /** False: keys were never loaded; every request fails closed with 503. */
  readonly hasKeys: boolean;
  /** While hasKeys is false: waits for the pending fetch. Resolves to undefined when keys are loaded, otherwise to the refusal. */
  loadKeys?(): Promise<TokenRefusal | undefined>;
  /** The keys of ID tokens. Undefined: this process does not fetch keys. */
  readonly keys?: Pick<KeySource, 'getKeys' | 'load' | 'refetch'>;
  /** Undefined: this process does not fetch keys, or there are none to fetch. */
  readonly keyHealth?: KeyHealth;
  /** For the admin pages. Undefined: this process does not fetch keys. */
  readonly describeKeys?: () => KeySourceStatus;
  readonly fetcher: GuardedFetcher;
  /** For problems at this IdP that only the operator can fix. */
  readonly log?: Log;
  /** Login state shared with other processes on the same ports; undefined: there are none. */
  readonly shared?: SharedLogins | undefined;
}

/** An Idp that lives until no policy uses it any more. */
export interface IdpConnection extends Idp {
  /** Ends fetches and timers. */
  close(): void;
}

/** The options of a connection. Policies with equal options share a connection, so the options hold only what concerns the IdP. */
export interface IdpConnectionOptions {
  /** The same for the same connection, in every process that has the configuration. */
  readonly id?: string;
  readonly issuer: string;
  /** Empty: discovered. */
  readonly metadataUrl: string;
  /** From the policy: the identity provider has no metadata, and nothing is discovered. */
  readonly endpoints?: IdpEndpoints | undefined;
  readonly keys: IdpKeyOrigin;
  /** From the policy; used when the IdP's answers set no cache duration. */
  readonly cacheDurationMs: number;
  /** PEM; undefined: the system's roots. */
  readonly ca: string | undefined;
  readonly allowInsecureHttp: boolean;
  readonly preset: ProviderPreset;
  readonly flow: 'Auto' | FlowChoice['flow'];
  readonly registration: 'Forward' | 'Shared';
  /** A registration endpoint set by the policy; empty: the discovered one. */
  readonly registrationEndpoint: string;
  /** The policy adds scopes or parameters to authorization requests, which requires the broker. Default false. */
  readonly addsToRequests?: boolean;
  readonly clockSkewMs: number;
  readonly requiredClaims: readonly RequiredClaim[];
  /** The policies that currently use this connection, for the log: namespace/name. */
  readonly describeUsers: () => string;
  readonly fetcher: GuardedFetcher;
  readonly log: Log;
}

/** The endpoints of an identity provider without metadata. */
export interface IdpEndpoints {
  readonly authorization: string;
  readonly token: string;
  readonly userinfo: string;
}

/** Where keys come from: set by the policy, or the jwks_uri of the metadata. */
type IdpKeyOrigin = KeyOrigin | { readonly kind: 'discovered' };

/** Connects: fetches metadata and keys at once and keeps them fresh. Implemented by connect-idp.ts. */
export type ConnectIdp = (options: IdpConnectionOptions) => IdpConnection;
