// Finds the key of a token in the issuer's set (RFC 7515 4.1.4, RFC 7517 4.5).
import type { CompactToken } from './compact-token.ts';
import type { KeySet, VerificationKey } from './key-set.ts';

type KeySelection =
  /** Nearly always one; several only when an issuer gave the same `kid` to several keys. */
  | { readonly kind: 'found'; readonly keys: readonly VerificationKey[] }
  /** The key that the token names does not serve the algorithm that it names. */
  | { readonly kind: 'wrong_algorithm' }
  /** The token names no key, and several could be meant. */
  | { readonly kind: 'ambiguous' }
  | { readonly kind: 'unknown' };

/** Limits the verifications that one token can cause. */
const maxCandidates = 4;

/** Picks by `kid` and algorithm. When the token or the key has no `kid`, a single candidate is used. */
export function selectKey(token: Pick<CompactToken, 'algorithm' | 'keyId'>, { keys }: KeySet): KeySelection {
  const { algorithm, keyId } = token;
  const named = keyId === undefined ? [] : keys.filter(({ id }) => id === keyId);
  if (named.length > 0) {
    const serving = named.filter((key) => key.algorithms.has(algorithm));
    if (serving.length === 0) return { kind: 'wrong_algorithm' };
    return { kind: 'found', keys: serving.slice(0, maxCandidates) };
  }
  const candidates = keys.filter(
    (key) => key.algorithms.has(algorithm) && (keyId === undefined || key.id === undefined),
  );
  if (candidates.length === 1) return { kind: 'found', keys: candidates };
  return { kind: candidates.length === 0 ? 'unknown' : 'ambiguous' };
}
