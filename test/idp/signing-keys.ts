// Keys of a test identity provider (RFC 7517): the one that signs now, and all that are published.
import { randomUUID } from 'node:crypto';
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { takeRsaKeys } from '../kit/rsa-keys.ts';

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
  const marks = { kid, alg, use: 'sig' };
  const { privateJwk, publicJwk } = await makeKeys(alg);
  const privateKey = (await importJWK({ ...privateJwk, ...marks }, alg)) as CryptoKey;
  return { kid, alg, privateKey, privateJwk: { ...privateJwk, ...marks }, publicJwk: { ...publicJwk, ...marks } };
}

async function makeKeys(alg: string): Promise<{ readonly privateJwk: JWK; readonly publicJwk: JWK }> {
  if (/^(?:RS|PS)/.test(alg)) {
    const { privateKey, publicKey } = takeRsaKeys();
    return { privateJwk: privateKey.export({ format: 'jwk' }), publicJwk: publicKey.export({ format: 'jwk' }) };
  }
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateJwk: await exportJWK(privateKey), publicJwk: await exportJWK(publicKey) };
}
