// An issuer for tests: real keys, and tokens that can be wrong in every way.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CompactSign, importJWK, type JWK } from 'jose';
import type { Algorithm } from '../../src/gateway/token/algorithms.ts';
import type { JsonObject } from '../../src/base/json-object.ts';
import { takeRsaKeys } from './rsa-keys.ts';

export interface TestKey {
  readonly publicJwk: JWK;
  readonly privateKey: KeyObject;
}

/** Makes a key for an algorithm. `kid` and `alg` are in the JWK only when given. */
export function createTestKey(algorithm: Algorithm, members: JsonObject = {}): TestKey {
  const { publicKey, privateKey } = generateKeys(algorithm);
  return { publicJwk: { ...publicKey.export({ format: 'jwk' }), ...members }, privateKey };
}

function generateKeys(algorithm: Algorithm): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  switch (algorithm) {
    case 'ES256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' });
    case 'ES384':
      return generateKeyPairSync('ec', { namedCurve: 'P-384' });
    case 'ES512':
      return generateKeyPairSync('ec', { namedCurve: 'P-521' });
    case 'EdDSA':
    case 'Ed25519':
      return generateKeyPairSync('ed25519');
    case 'Ed448':
      return generateKeyPairSync('ed448');
    default:
      return takeRsaKeys();
  }
}

/** Signs with jose, an implementation that is not ours. */
export async function signWithJose(
  key: TestKey,
  header: JsonObject & { alg: string },
  claims: unknown,
): Promise<string> {
  const jwk = key.privateKey.export({ format: 'jwk' });
  const imported = await importJWK({ ...jwk, alg: header.alg }, header.alg);
  return new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader(header).sign(imported);
}

/** base64url of JSON, or of text or bytes as they are. */
export function encodePart(value: unknown): string {
  const bytes = typeof value === 'string' || Buffer.isBuffer(value) ? Buffer.from(value) : JSON.stringify(value);
  return Buffer.from(bytes).toString('base64url');
}
