// Keys that access tokens of the gateway's own are signed with: ES256, so all of them are on the curve P-256. Their kid is the thumbprint of the public key
// (RFC 7638): two keys never have the same one, and it says nothing about when or where a key was made.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** A signing key as it is kept and sent. */
export interface SigningKeyMaterial {
  readonly kid: string;
  /** PKCS #8, DER. */
  readonly privateKey: Uint8Array;
}

/**
 * How long a key stays published after another one has begun to sign: tokens live at most 24 hours (`tokens.lifetime`), and clocks may differ.
 */
export const keepSigningKeyMs = 25 * 3_600_000;

/** A new key, from the operating system's generator. */
export function createSigningKey(): SigningKeyMaterial {
  return describeKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
}

/** Reads a key in DER; undefined: it is no private key, or none for ES256. */
export function readSigningKey(pkcs8: Uint8Array): KeyObject | undefined {
  return readKey(() => createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' }));
}

/** Reads a key in PEM; undefined: it is no private key, or none for ES256. */
export function parseSigningKey(pem: string): SigningKeyMaterial | undefined {
  const key = readKey(() => createPrivateKey({ key: pem, format: 'pem' }));
  return key && describeKey(key);
}

/** The key in PEM (PKCS #8). */
export function formatSigningKey({ privateKey }: SigningKeyMaterial): string {
  const base64 = Buffer.from(privateKey).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${base64.replace(/.{64}(?=.)/g, '$&\n')}\n-----END PRIVATE KEY-----\n`;
}

function readKey(read: () => KeyObject): KeyObject | undefined {
  try {
    const key = read();
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
  } catch {
    return undefined;
  }
}

function describeKey(key: KeyObject): SigningKeyMaterial {
  const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' });
  // These members in this order, and no spaces: that is what RFC 7638 digests.
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
  return { kid, privateKey: key.export({ format: 'der', type: 'pkcs8' }) };
}
