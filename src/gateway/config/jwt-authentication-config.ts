// JWT authentication as the request path uses it: compiled when the configuration changes.
import type { JwtAuthentication, JwtProvider } from '../../ir/gen/config_pb.ts';
import type { TokenLocation } from '../authentication/token/find-token.ts';
import type { KeyHealth } from '../authentication/token/key-health.ts';
import type { KeySourceStatus } from '../authentication/token/key-source.ts';
import type { AcceptedAudiences, TokenValidator, VerifiedToken } from '../authentication/token/verified-token.ts';

/** One ProxyPolicy's JWT authentication. */
export interface JwtAuthenticationConfig {
  /** namespace/name of the ProxyPolicy. */
  readonly source: string;
  readonly message: JwtAuthentication;
  readonly location: TokenLocation;
  /** By issuer, exactly. */
  readonly providers: ReadonlyMap<string, JwtProviderConfig>;
  /** Headers that clients must not send: those of claimsToHeaders, in lower case with '-'. */
  readonly claimHeaders: ReadonlySet<string>;
  /** The same and the header of the token: not forwarded unless the token is. */
  readonly withheldHeaders: ReadonlySet<string>;
  /** Claims as headers (name, value, name, value) of cached tokens. */
  readonly claimsOfTokens: WeakMap<VerifiedToken, readonly string[]>;
}

/** An issuer whose tokens are accepted. */
export interface JwtProviderConfig {
  readonly message: JwtProvider;
  readonly audiences: AcceptedAudiences;
  readonly validator: TokenValidator;
  /** Whether keys are loaded. Tokens of a provider without keys get 503; tokens of the others are validated. */
  readonly hasKeys: boolean;
  readonly keyHealth: KeyHealth;
  /** For the admin output. */
  readonly describeKeys: () => KeySourceStatus;
}
