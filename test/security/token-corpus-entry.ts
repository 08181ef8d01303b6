// What an entry of the token corpus is.
import type { Reason } from '../../src/gateway/http/reasons.ts';

/** Under which policy a token is judged. */
export type CorpusPolicy =
  /** The issuer with all its keys. */
  | 'several-keys'
  /** The issuer with one key that has no name. */
  | 'lone-key'
  /** All keys; the claim tenant.id must be acme. */
  | 'required-claim'
  /** All keys; the scope tickets:read is needed. */
  | 'required-scope';

/** A token that must be refused, and for this reason. */
export interface HostileToken {
  /** How it is made; unique in the corpus. */
  readonly name: string;
  readonly token: string;
  readonly reason: Reason;
  /** Default: several-keys. */
  readonly policy?: CorpusPolicy;
  /** Only at the very moment of the corpus: a second later it could be a good token. */
  readonly isMomentary?: boolean;
}

/** A token that looks odd and is right all the same. */
export interface AcceptableToken {
  readonly name: string;
  readonly token: string;
  /** What allows it. */
  readonly why: string;
  readonly policy?: CorpusPolicy;
}
