// What authentication found out about a request that it let in.
import type { RawHeaders } from '../http/exchange.ts';
import type { JwtAuthenticationConfig } from '../config/jwt-authentication-config.ts';
import type { VerifiedToken } from '../authentication/token/verified-token.ts';

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
