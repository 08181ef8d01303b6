// Keys of a test identity provider (RFC 7517): the one that signs now, and all that are published.
import { randomUUID } from 'node:crypto';
import { type CryptoKey, importJWK, type JWK } from 'jose';
import type { Algorithm } from '../../src/gateway/authentication/token/algorithms.ts';
import { createTestKey } from '../kit/test-issuer.ts';

/** A key pair. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly privateJwk: JWK;
  readonly publicJwk: JWK;
}

/** Makes a key pair for this algorithm. */
export async function createSigningKey(alg: Algorithm = 'RS256', kid: string = randomUUID()): Promise<SigningKey> {
  const marks = { kid, alg, use: 'sig' };
  const { publicJwk, privateKey: key } = createTestKey(alg, marks);
  const privateJwk = { ...key.export({ format: 'jwk' }), ...marks };
  return { kid, alg, privateKey: (await importJWK(privateJwk, alg)) as CryptoKey, privateJwk, publicJwk };
}
