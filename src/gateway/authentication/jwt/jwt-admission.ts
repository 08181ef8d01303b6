// The result of JWT authentication for a request that it admitted.
import type { JwtAdmission } from '../../request/admission.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { VerifiedToken } from '../token/verified-token.ts';
import { formatClaimHeaders } from '../claims-to-headers.ts';
import type { JwtAuthenticationConfig } from '../../config/jwt-authentication-config.ts';

/** The admission of a request with or without a token. Only a verified token is forwarded, and only when the policy says so. */
export function createAdmission(
  config: JwtAuthenticationConfig,
  token: VerifiedToken | undefined,
  text: string | undefined,
): JwtAdmission {
  const { location } = config;
  const isForwarded = token !== undefined && config.message.forwardToken;
  return {
    config,
    token,
    text,
    removedHeaders: isForwarded ? config.claimHeaders : config.withheldHeaders,
    addedHeaders: token === undefined ? noHeaders : listClaims(config, token),
    removedCookie: !isForwarded && location.kind === 'cookie' ? location.name : undefined,
    removedQueryParameter: !isForwarded && location.kind === 'queryParameter' ? location.name : undefined,
  };
}

const noHeaders: RawHeaders = [];

/** Cached per token. */
function listClaims({ message, claimsOfTokens }: JwtAuthenticationConfig, token: VerifiedToken): RawHeaders {
  if (message.claimsToHeaders.length === 0) return noHeaders;
  let headers = claimsOfTokens.get(token);
  if (headers === undefined) {
    headers = formatClaimHeaders(token.claims, message.claimsToHeaders);
    claimsOfTokens.set(token, headers);
  }
  return headers;
}
