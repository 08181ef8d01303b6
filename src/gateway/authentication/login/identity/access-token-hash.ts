// `at_hash` of an ID token (OpenID Connect Core 3.1.3.6): the left half of a hash of the access token, by the algorithm of the ID token.
import { createHash } from 'node:crypto';
import { type Algorithm, algorithms } from '../../token/algorithms.ts';

/** In base64url. */
export function hashAccessToken(accessToken: string, algorithm: Algorithm): string {
  const hash = createDigest(algorithm).update(accessToken, 'latin1').digest();
  return hash.subarray(0, hash.length / 2).toString('base64url');
}

/** EdDSA names no hash: the one inside the signature is taken (RFC 8032 5). */
function createDigest(algorithm: Algorithm): ReturnType<typeof createHash> {
  const { hash } = algorithms[algorithm];
  if (hash !== null) return createHash(hash);
  return algorithm === 'Ed448' ? createHash('shake256', { outputLength: 114 }) : createHash('sha512');
}
