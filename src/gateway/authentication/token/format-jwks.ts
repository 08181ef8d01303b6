// The public keys of issued tokens as a key set (RFC 7517). Members are chosen one by one: nothing private can get in.
import type { KeyObject } from 'node:crypto';

/** A public key for ES256 in a key set. */
interface PublishedKey {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly kid: string;
  readonly alg: 'ES256';
  readonly use: 'sig';
}

/** The key set of signing keys. */
export function formatJwks({
  keys,
}: {
  readonly keys: readonly { readonly kid: string; readonly publicKey: KeyObject }[];
}): { readonly keys: readonly PublishedKey[] } {
  return {
    keys: keys.map(({ kid, publicKey }) => {
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
      return { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' };
    }),
  };
}
