// A token that has been judged. One engine serves MCP authentication and JWT authentication (RFC 7519, RFC 8725, RFC 9068).
import type { Reason } from '../../http/reasons.ts';
import type { CompactToken } from './compact-token.ts';

export interface VerifiedToken {
  readonly issuer: string;
  /** Undefined when the token has no `sub`. */
  readonly subject: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  /** From `scope` or `scp`; undefined when the token has neither. */
  readonly scopes: ReadonlySet<string> | undefined;
  readonly expiresAtMs: number;
  /** Who that is, once somebody has asked (describe-caller.ts): the same for every request with the token. */
  caller?: Caller | undefined;
}

/** A caller, by name. */
export interface Caller {
  readonly subject: string | undefined;
  readonly issuer: string;
  /** The OAuth client: `client_id` (RFC 9068), or `azp` where the provider calls it so. */
  readonly clientId: string | undefined;
  /** The members of an access line, once there was one (access-line.ts). */
  logged: string | undefined;
}

export type TokenVerdict = { readonly ok: true; readonly token: VerifiedToken } | TokenRefusal;

/** Why a token is not accepted. */
export interface TokenRefusal {
  readonly ok: false;
  readonly reason: Reason;
  /** Names the failed check for clients and operators; never the token. Plain words: it goes into a quoted header parameter. */
  readonly detail: string;
  /** For the operator's log only: what was found in the token instead. */
  readonly operatorDetail?: string;
  /** With `keys_unavailable`: when it is worth trying again. */
  readonly retryAfterSeconds?: number;
}

/** Audiences of which a token must have one. An empty list accepts no token; who takes any audience, or none, has to say so. */
export type AcceptedAudiences = readonly string[] | 'any';

/** Judges tokens against one issuer. Answers at once when it can: cached tokens, and tokens that are wrong on their face. */
export interface TokenValidator {
  /** `read`: the same token taken apart, for a caller that had to look into it before. */
  validate(token: string, audiences: AcceptedAudiences, read?: CompactToken): TokenVerdict | Promise<TokenVerdict>;
  /** The same for a text that was judged before, whatever it looks like; undefined: it was not, or that is forgotten. Absent: nothing is remembered. */
  recall?(token: string, audiences: AcceptedAudiences): TokenVerdict | Promise<TokenVerdict> | undefined;
}
