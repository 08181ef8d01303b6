// What authentication found out about a request that it let in. Whoever forwards the request goes by it.
import type { Sealer } from '../../base/sealed.ts';
import type { VerifiedToken } from '../authentication/token/verified-token.ts';
import type { JwtAuthenticationConfig } from '../config/jwt-authentication-config.ts';
import type { ProtectedResource } from '../config/protected-resource.ts';
import type { RawHeaders } from '../http/exchange.ts';

/** What every authentication says. */
export interface Admission {
  /** Undefined: Optional or Permissive let a request without a valid token through. */
  readonly token: VerifiedToken | undefined;
  /** The token itself, with `token`. */
  readonly text: string | undefined;
  /** Lower-case names with '-': what the client sent under any spelling of them (case, '_' for '-') is dropped, from mirrors too. */
  readonly removedHeaders: ReadonlySet<string>;
  /** Added after the removal: claims as headers, and the token again where it is forwarded. Filters of the route come later. */
  readonly addedHeaders: RawHeaders;
}

/** Of the route's JWT authentication. */
export interface JwtAdmission extends Admission {
  readonly config: JwtAuthenticationConfig;
  /** Cookie to take out of the Cookie headers before forwarding. */
  readonly removedCookie: string | undefined;
  /** Query parameter to take out before forwarding. */
  readonly removedQueryParameter: string | undefined;
}

/** Of the backend's MCP authentication. */
export interface McpAdmission extends Admission {
  /** Where a challenge points to. */
  readonly resource: ProtectedResource;
  /** Undefined: sessions are not bound. */
  readonly session: SessionIdentity | undefined;
}

/** Whose session it is: the Mcp-Session-Id that the client sees is sealed together with this. */
export interface SessionIdentity {
  readonly sealer: Sealer;
  readonly issuer: string;
  readonly subject: string;
  /** Key of the backend. */
  readonly backend: string;
}
