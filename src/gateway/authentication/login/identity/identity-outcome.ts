// The outcome of asking an identity provider who somebody is.
import type { Reason } from '../../../http/reasons.ts';
import type { PersonIdentity } from '../../../config/token-issuer.ts';

/** Why nobody is known. `detail` is for the operator, and never has a token in it. */
export type IdentityFailure =
  | { readonly kind: 'refused'; readonly reason: Reason; readonly detail: string }
  /** The identity provider cannot answer now: the login or the session may still be good. */
  | { readonly kind: 'unavailable'; readonly detail: string; readonly retryAfterSeconds: number };

export type IdentityOutcome = { readonly kind: 'person'; readonly person: PersonIdentity } | IdentityFailure;

/** What the identity provider says cannot be trusted. */
export function refuseIdentity(detail: string): IdentityFailure {
  return { kind: 'refused', reason: 'identity_invalid', detail };
}

/** The identity provider cannot answer now. */
export function deferIdentity(detail: string, retryAfterSeconds: number): IdentityFailure {
  return { kind: 'unavailable', detail, retryAfterSeconds };
}
