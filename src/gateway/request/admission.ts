// The result of authentication for a request that it let in. The forwarder applies it.
import type { Sealer } from '../../base/sealed.ts';
import type { VerifiedToken } from '../authentication/token/verified-token.ts';
import type { JwtAuthenticationConfig } from '../config/jwt-authentication-config.ts';
import type { ProtectedResource } from '../config/protected-resource.ts';
import type { RawHeaders } from '../http/exchange.ts';

/** The common part of all authentications. */
interface Admission {
  /** Undefined: Optional or Permissive let a request without a valid token through. */
  readonly token: VerifiedToken | undefined;
  /** The encoded token; set together with `token`. */
  readonly text: string | undefined;
  /** Lower-case names with '-'. Client headers with these names in any spelling (case, '_' for '-') are dropped, from mirrors too. */
  readonly removedHeaders: ReadonlySet<string>;
  /** Added after the removal: claims as headers, and the token where it is forwarded. Filters of the route run later. */
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

/** The owner of a session: sealed into the Mcp-Session-Id that the client sees. */
export interface SessionIdentity {
  readonly sealer: Sealer;
  readonly issuer: string;
  readonly subject: string;
  /** Key of the backend. */
  readonly backend: string;
}
