// What JWT authentication found out about a request that it let in.
import type { RawHeaders } from '../../listen/exchange.ts';
import type { VerifiedToken } from '../../token/verified-token.ts';
import { formatClaimHeaders } from '../mcp-authentication/claims-to-headers.ts';
import type { JwtAuthenticationConfig } from './jwt-authentication-config.ts';

/** What the step found out, for those after it. */
export interface JwtAdmission {
  readonly config: JwtAuthenticationConfig;
  /** Undefined: Optional or Permissive let a request without a valid token through. */
  readonly token: VerifiedToken | undefined;
  /** The token itself, with `token`. */
  readonly text: string | undefined;
  /** Lower-case names with '-': dropped under any spelling before forwarding. */
  readonly removedHeaders: ReadonlySet<string>;
  /** Added after the removal. */
  readonly addedHeaders: RawHeaders;
  /** Cookie to take out of the Cookie headers before forwarding. */
  readonly removedCookie: string | undefined;
  /** Query parameter to take out before forwarding. */
  readonly removedQueryParameter: string | undefined;
}

/** The admission of a request with this token, or without one. A token goes on only when it was verified and the policy wants it to. */
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

/** The same for every request with the token. */
function listClaims({ message, claimsOfTokens }: JwtAuthenticationConfig, token: VerifiedToken): RawHeaders {
  if (message.claimsToHeaders.length === 0) return noHeaders;
  let headers = claimsOfTokens.get(token);
  if (headers === undefined) {
    headers = formatClaimHeaders(token.claims, message.claimsToHeaders);
    claimsOfTokens.set(token, headers);
  }
  return headers;
}
