// What `token inspect` found out, as data. The JSON form is this, and documented in docs/explain.md. The token itself is in no part of it.
import type { AuthenticationKind } from '../../ir/policy-kinds.ts';

/** Everything about one token. */
export interface TokenReport {
  /** jwt: signed, in three parts. opaque: nothing can be read from it. encrypted: a JWE. malformed: it pretends to be one of these. */
  readonly form: 'jwt' | 'opaque' | 'encrypted' | 'malformed';
  /** Characters. */
  readonly length: number;
  /** Null when it cannot be decoded. */
  readonly header: Readonly<Record<string, unknown>> | null;
  readonly claims: Readonly<Record<string, unknown>> | null;
  /** Claims that are times. */
  readonly times: readonly TokenTime[];
  /** Of a token that a gateway issued (flow: Issuer), as its sub says: whom it is about; null for others. */
  readonly issuedFor: {
    readonly kind: 'person' | 'client' | 'assertion';
    /** Issuer of the identity provider. */
    readonly idp: string;
    /** What the identity provider calls them. */
    readonly subject: string;
  } | null;
  /** Why no gateway would take it, whatever the policy; null when its form is right. */
  readonly refusal: TokenProblem | null;
  /** What may be wrong with it. */
  readonly warnings: readonly string[];
  /** One per issuer of a policy; null without -f. */
  readonly providers: readonly ProviderVerdict[] | null;
}

/** A claim that is a time. */
export interface TokenTime {
  readonly claim: string;
  /** RFC 3339. */
  readonly time: string;
  /** "in 5 min", "3 h ago". */
  readonly distance: string;
}

/** A check that fails. */
export interface TokenProblem {
  /** The claim or part that is looked at. */
  readonly check: string;
  /** As in answers, logs and metrics. */
  readonly reason: string;
  readonly text: string;
}

/** What one issuer of one policy would say. */
export interface ProviderVerdict {
  readonly field: AuthenticationKind;
  /** namespace/name */
  readonly policy: string;
  /** The name of a JWT provider; empty for MCP authentication. */
  readonly provider: string;
  readonly issuer: string;
  /** The gateway issues the tokens itself (flow: Issuer). */
  readonly isOwn: boolean;
  readonly accepted: boolean;
  /** Another provider of the same policy has the issuer of the token: this one has nothing to do with it. */
  readonly notItsIssuer: boolean;
  /** What the gateway would answer if this were the only one; null when it takes the token. */
  readonly first: TokenProblem | null;
  /** All checks that fail, in the order of the gateway. */
  readonly failed: readonly TokenProblem[];
  /** verified, wrong, or why it was not checked. */
  readonly signature: 'verified' | 'wrong' | 'unchecked';
  /** Completes "the keys are". */
  readonly keys: string;
  readonly notes: readonly string[];
}
