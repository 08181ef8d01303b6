// The verdict about a token. One engine serves MCP authentication and JWT authentication (RFC 7519, RFC 8725, RFC 9068).
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
  /** Cached by describe-caller.ts: the same for every request with the token. */
  caller?: Caller | undefined;
}

/** A caller, by name. */
export interface Caller {
  readonly subject: string | undefined;
  readonly issuer: string;
  /** The OAuth client: `client_id` (RFC 9068), or `azp` where the provider calls it so. */
  readonly clientId: string | undefined;
  /** The members of an access line, cached by access-line.ts. */
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

/** Audiences of which a token must have one. An empty list accepts no token; `any` accepts every audience, or none. */
export type AcceptedAudiences = readonly string[] | 'any';

/** Judges tokens of one issuer. Answers synchronously when it can: for cached tokens, and for obviously invalid ones. */
export interface TokenValidator {
  /** `read`: the same token, when the caller has already parsed it. */
  validate(token: string, audiences: AcceptedAudiences, read?: CompactToken): TokenVerdict | Promise<TokenVerdict>;
  /** The verdict from the cache; undefined on a cache miss. Absent: the validator has no cache. */
  recall?(token: string, audiences: AcceptedAudiences): TokenVerdict | Promise<TokenVerdict> | undefined;
}
