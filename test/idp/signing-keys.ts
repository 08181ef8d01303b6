// Keys of a test identity provider (RFC 7517): the one that signs now, and all that are published.
import { randomUUID } from 'node:crypto';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK } from 'jose';

/** A key pair. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly privateJwk: JWK;
  readonly publicJwk: JWK;
}

/** Makes a key pair for this algorithm. */
export async function createSigningKey(alg = 'RS256', kid: string = randomUUID()): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const marks = { kid, alg, use: 'sig' };
  return {
    kid,
    alg,
    privateKey,
    privateJwk: { ...(await exportJWK(privateKey)), ...marks },
    publicJwk: { ...(await exportJWK(publicKey)), ...marks },
  };
}
