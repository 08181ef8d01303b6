// The accepted signature algorithms of tokens (RFC 7518, RFC 8037, RFC 9864), and the keys that each requires. No `none`, no HMAC.
import { constants } from 'node:crypto';

export const algorithms = {
  RS256: { keyType: 'rsa', hash: 'sha256' },
  RS384: { keyType: 'rsa', hash: 'sha384' },
  RS512: { keyType: 'rsa', hash: 'sha512' },
  PS256: { keyType: 'rsa', hash: 'sha256', padding: constants.RSA_PKCS1_PSS_PADDING },
  PS384: { keyType: 'rsa', hash: 'sha384', padding: constants.RSA_PKCS1_PSS_PADDING },
  PS512: { keyType: 'rsa', hash: 'sha512', padding: constants.RSA_PKCS1_PSS_PADDING },
  ES256: { keyType: 'P-256', hash: 'sha256', signatureLength: 64 },
  ES384: { keyType: 'P-384', hash: 'sha384', signatureLength: 96 },
  ES512: { keyType: 'P-521', hash: 'sha512', signatureLength: 132 },
  EdDSA: { keyType: 'Edwards', hash: null },
  Ed25519: { keyType: 'Ed25519', hash: null, signatureLength: 64 },
  Ed448: { keyType: 'Ed448', hash: null, signatureLength: 114 },
} as const satisfies Record<string, AlgorithmDefinition>;

interface AlgorithmDefinition {
  readonly keyType: string;
  /** Null: the algorithm hashes by itself. */
  readonly hash: string | null;
  readonly padding?: number;
  readonly signatureLength?: number;
}

export type Algorithm = keyof typeof algorithms;

/** Whether an `alg` is accepted. Names are case-sensitive. */
export function isAlgorithm(name: unknown): name is Algorithm {
  return typeof name === 'string' && Object.hasOwn(algorithms, name);
}
