// JWT authentication as the request path uses it: compiled when the configuration changes.
import type { JwtAuthentication, JwtProvider } from '../../../ir/gen/config_pb.ts';
import type { TokenValidator } from '../../token/verified-token.ts';

/** One ProxyPolicy's JWT authentication. */
export interface JwtAuthenticationConfig {
  /** namespace/name of the ProxyPolicy. */
  readonly source: string;
  readonly message: JwtAuthentication;
  /** By issuer, exactly. */
  readonly providers: ReadonlyMap<string, JwtProviderConfig>;
  /** Names in lower case with '-' of what clients must not send themselves: the headers of claimsToHeaders. */
  readonly claimHeaders: ReadonlySet<string>;
}

/** An issuer whose tokens are accepted. */
export interface JwtProviderConfig {
  readonly message: JwtProvider;
  readonly validator: TokenValidator;
  /** Whether keys are there; tokens of a provider without keys get 503, those of the others are judged. */
  readonly hasKeys: boolean;
}
