// Makes tokens byte by byte, for tests of tokens that no library would make. Signs with node:crypto, which knows nothing of JOSE.
import { constants, createHmac, type KeyObject, sign } from 'node:crypto';
import { type Algorithm, algorithms } from '../../src/gateway/authentication/token/algorithms.ts';
import { encodePart } from './test-issuer.ts';

/** Makes the signature over what it is given. */
export type Signer = (signingInput: string) => Buffer;

/** What a token is made of. Text and bytes are taken as they are, anything else as JSON. */
export interface TokenParts {
  readonly header: unknown;
  readonly claims: unknown;
  readonly signer: Signer;
}

/** Puts a token together and signs it. */
export function forgeToken({ header, claims, signer }: TokenParts): string {
  const input = `${encodePart(header)}.${encodePart(claims)}`;
  return `${input}.${signer(input).toString('base64url')}`;
}

/** Signs as the algorithm says, or with another hash or salt. */
export function signAs(
  algorithm: Algorithm,
  key: KeyObject,
  changes: { readonly hash?: string; readonly saltLength?: number } = {},
): Signer {
  const definition = algorithms[algorithm];
  const hash = changes.hash ?? definition.hash;
  return (input) =>
    sign(hash, Buffer.from(input), {
      key,
      dsaEncoding: 'ieee-p1363',
      ...('padding' in definition
        ? { padding: definition.padding, saltLength: changes.saltLength ?? constants.RSA_PSS_SALTLEN_DIGEST }
        : {}),
    });
}

/** HMAC with whatever an attacker takes for the secret. */
export function signWithSecret(hash: 'sha256' | 'sha384' | 'sha512', secret: string | Buffer): Signer {
  return (input) => createHmac(hash, secret).update(input).digest();
}

/** The same signature whatever is signed. */
export function signWithBytes(bytes: Uint8Array): Signer {
  return () => Buffer.from(bytes);
}
