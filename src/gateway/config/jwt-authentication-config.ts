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
  /** Names in lower case with '-' of what clients must not send themselves: the headers of claimsToHeaders. */
  readonly claimHeaders: ReadonlySet<string>;
  /** The same, and the header that has the token: what does not go on when the token does not. */
  readonly withheldHeaders: ReadonlySet<string>;
  /** Claims as headers (name, value, name, value) of tokens that are remembered elsewhere. */
  readonly claimsOfTokens: WeakMap<VerifiedToken, readonly string[]>;
}

/** An issuer whose tokens are accepted. */
export interface JwtProviderConfig {
  readonly message: JwtProvider;
  readonly audiences: AcceptedAudiences;
  readonly validator: TokenValidator;
  /** Whether keys are there; tokens of a provider without keys get 503, those of the others are judged. */
  readonly hasKeys: boolean;
  readonly keyHealth: KeyHealth;
  /** For the admin output. */
  readonly describeKeys: () => KeySourceStatus;
}
