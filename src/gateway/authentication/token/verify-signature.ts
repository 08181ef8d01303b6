// Verifies a signature with a key that was chosen before (RFC 7518 section 3, RFC 8037).
import { constants, verify } from 'node:crypto';
import { algorithms } from './algorithms.ts';
import type { VerificationKey } from './key-set.ts';
import type { CompactToken } from './compact-token.ts';

/** Whether the key made the signature. False also for a key that does not serve the algorithm. */
export function verifySignature(
  token: Pick<CompactToken, 'algorithm' | 'signingInput' | 'signature'>,
  { key, algorithms: served, signatureLength }: VerificationKey,
): boolean {
  const { algorithm, signature } = token;
  if (!served.has(algorithm)) return false;
  const definition = algorithms[algorithm];
  // RSA: as long as the modulus. OpenSSL accepts a signature without its leading zeros, so the length is always checked first.
  const length = 'signatureLength' in definition ? definition.signatureLength : signatureLength;
  if (length === undefined && definition.keyType === 'rsa') return false;
  if (length !== undefined && signature.length !== length) return false;
  const options = {
    key,
    // JWS has the two numbers side by side, not in DER (RFC 7518 3.4).
    dsaEncoding: 'ieee-p1363' as const,
    ...('padding' in definition
      ? { padding: definition.padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      : definition.keyType === 'rsa'
        ? { padding: constants.RSA_PKCS1_PADDING }
        : {}),
  };
  try {
    return verify(definition.hash, Buffer.from(token.signingInput, 'latin1'), options, signature);
  } catch {
    return false;
  }
}
