// What the authentication step says about a request to a protected backend. authenticate-request.ts decides, handle-request.ts acts on it.
import type { Sealer } from '../../../base/sealed.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { VerifiedToken } from '../token/verified-token.ts';
import type { PolicyDenial } from '../../request/policy-verdict.ts';
import type { ProtectedResource } from '../../config/protected-resource.ts';

/** A request whose backend is chosen and protected. `context.backend` is the key of that backend. */
export interface AuthenticationRequest {
  readonly context: RequestContext;
  readonly resource: ProtectedResource;
}

/** Whose session it is: the Mcp-Session-Id that the client sees is sealed together with this. */
export interface SessionIdentity {
  readonly sealer: Sealer;
  readonly issuer: string;
  readonly subject: string;
  /** Key of the backend. */
  readonly backend: string;
}

/** The request may go on to its backend. */
export interface AuthenticatedRequest {
  readonly kind: 'continue';
  /** Undefined: Optional or Permissive let a request without a valid token through. */
  readonly token: VerifiedToken | undefined;
  /** The token itself, with `token`. */
  readonly text: string | undefined;
  /** Lower-case names with '-': what the client sent under any spelling of them (case, '_' for '-') is dropped, from mirrors too. */
  readonly removedHeaders: ReadonlySet<string>;
  /** Added after the removal: claims as headers, and the token again where it is forwarded. Filters of the route come later. */
  readonly addedHeaders: RawHeaders;
  /** Belong on the answer, whoever makes it. */
  readonly responseHeaders: RawHeaders;
  /** Undefined: sessions are not bound. */
  readonly session: SessionIdentity | undefined;
}

/** The outcome of the step. */
export type AuthenticationVerdict =
  | AuthenticatedRequest
  /** Preflights that nobody answered before. */
  | { readonly kind: 'respond'; readonly status: number; readonly headers: RawHeaders; readonly body: string }
  /** With the challenge among its headers. */
  | PolicyDenial;
