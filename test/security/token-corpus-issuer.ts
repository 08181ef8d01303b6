// The issuer whose tokens are attacked: its keys, those of a stranger, and what a good token of it looks like.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Algorithm } from '../../src/gateway/authentication/token/algorithms.ts';
import { forgeToken, signAs, type TokenParts } from '../kit/forge-token.ts';
import { createTestKey, type TestKey } from '../kit/test-issuer.ts';

export const issuer = 'https://idp.example.com';
export const audience = 'https://mcp.example.com/mcp';

/** The keys that the issuer signs with, by kid. */
export const keys = {
  rsa: createTestKey('RS256', { kid: 'rsa' }),
  rs256: createTestKey('RS256', { kid: 'rs256', alg: 'RS256', use: 'sig' }),
  ec: createTestKey('ES256', { kid: 'ec' }),
  ec384: createTestKey('ES384', { kid: 'ec384' }),
  ec521: createTestKey('ES512', { kid: 'ec521' }),
  ed: createTestKey('Ed25519', { kid: 'ed' }),
  ed448: createTestKey('Ed448', { kid: 'ed448' }),
} as const;

/** Which algorithms each of them serves, said here once more: the corpus does not ask the engine. */
export const served = {
  rsa: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  rs256: ['RS256'],
  ec: ['ES256'],
  ec384: ['ES384'],
  ec521: ['ES512'],
  ed: ['EdDSA', 'Ed25519'],
  ed448: ['EdDSA', 'Ed448'],
} as const satisfies Record<keyof typeof keys, readonly Algorithm[]>;

/** A key of somebody else, one of each kind. */
export const strangers = {
  rsa: createTestKey('RS256'),
  ec: createTestKey('ES256'),
  ec384: createTestKey('ES384'),
  ec521: createTestKey('ES512'),
  ed: createTestKey('Ed25519'),
  ed448: createTestKey('Ed448'),
} as const;

/** A key that the set holds, though nobody may be let in by it. */
export interface UnusableKey {
  readonly jwk: object;
  readonly why: string;
  /** Undefined where there is nothing to sign with; then the corpus brings a signature that would verify. */
  readonly privateKey: KeyObject | undefined;
  readonly algorithm: Algorithm;
}

const encryption = createTestKey('RS256');
const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
const secp256k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
const leaked = createTestKey('ES256');
const p224 = generateKeyPairSync('ec', { namedCurve: 'secp224r1' });

/** By kid. They are in the set beside the good ones. */
export const unusableKeys: Readonly<Record<string, UnusableKey>> = {
  'use-enc': unusable(encryption, { use: 'enc' }, 'is for encryption', 'RS256'),
  'use-odd': unusable(encryption, { use: 'SIG' }, 'says its use in another case', 'RS256'),
  'use-array': unusable(encryption, { use: ['sig'] }, 'has a use that is a list', 'RS256'),
  'ops-encrypt': unusable(encryption, { key_ops: ['encrypt', 'wrapKey'] }, 'may only encrypt', 'RS256'),
  'ops-sign': unusable(encryption, { key_ops: ['sign'] }, 'may sign but not verify', 'RS256'),
  'ops-empty': unusable(encryption, { key_ops: [] }, 'may do nothing', 'RS256'),
  'ops-text': unusable(encryption, { key_ops: 'verify' }, 'has key_ops that are no list', 'RS256'),
  'alg-oaep': unusable(encryption, { alg: 'RSA-OAEP-256' }, 'has an alg of encryption', 'RS256'),
  'alg-hs256': unusable(encryption, { alg: 'HS256' }, 'is an RSA key with alg HS256', 'RS256'),
  'alg-none': unusable(encryption, { alg: 'none' }, 'has alg none', 'RS256'),
  'alg-other-type': unusable(encryption, { alg: 'ES256' }, 'is an RSA key with alg ES256', 'RS256'),
  'alg-other-curve': unusable(leaked, { alg: 'ES384' }, 'is on P-256 with alg ES384', 'ES256'),
  'alg-number': unusable(encryption, { alg: 256 }, 'has an alg that is a number', 'RS256'),
  weak: unusable(fromPair(weak), {}, 'is an RSA key of 1024 bits', 'RS256'),
  secp256k1: unusable(fromPair(secp256k1), {}, 'is on the curve of Bitcoin', 'ES256'),
  p224: {
    // node exports no JWK of this curve: the coordinates are the last bytes of the key.
    jwk: { kty: 'EC', crv: 'P-224', x: coordinate(p224.publicKey, -56, -28), y: coordinate(p224.publicKey, -28) },
    why: 'is on P-224',
    privateKey: p224.privateKey,
    algorithm: 'ES256',
  },
  leaked: {
    jwk: leaked.privateKey.export({ format: 'jwk' }),
    why: 'is published with its private half',
    privateKey: leaked.privateKey,
    algorithm: 'ES256',
  },
  'exponent-one': {
    jwk: { ...encryption.publicJwk, e: 'AQ' },
    why: 'has the exponent 1: a signature is the padded hash itself',
    privateKey: undefined,
    algorithm: 'RS256',
  },
  'ed-identity': {
    jwk: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(`01${'00'.repeat(31)}`, 'hex').toString('base64url') },
    why: 'is the neutral point of Ed25519: one signature fits every message',
    privateKey: undefined,
    algorithm: 'EdDSA',
  },
  'ed448-identity': {
    jwk: { kty: 'OKP', crv: 'Ed448', x: Buffer.from(`01${'00'.repeat(56)}`, 'hex').toString('base64url') },
    why: 'is the neutral point of Ed448: one signature fits every message',
    privateKey: undefined,
    algorithm: 'EdDSA',
  },
};

/** A secret that somebody put into the set. */
export const publishedSecret = Buffer.alloc(64, 7);

/** What the issuer publishes. */
export const severalKeys: readonly object[] = [
  ...Object.values(keys).map(({ publicJwk }) => publicJwk),
  ...Object.entries(unusableKeys).map(([kid, { jwk }]) => ({ ...jwk, kid })),
  { kty: 'oct', k: publishedSecret.toString('base64url'), kid: 'oct' },
];

/** One key without a name: the only candidate, whatever a token calls its key. */
export const loneKey = createTestKey('RS256');

/** Claims of a good token, at a time. */
export function goodClaims(nowSeconds: number): Record<string, unknown> {
  return {
    iss: issuer,
    aud: audience,
    sub: 'alice',
    exp: nowSeconds + 3_600,
    iat: nowSeconds - 10,
    scope: 'tickets:read',
    tenant: { id: 'acme' },
  };
}

/** Header of a good token. */
export const goodHeader = { alg: 'ES256', kid: 'ec', typ: 'at+jwt' } as const;

/** A token that would be good, but for what is changed. */
export function forgeLike(nowSeconds: number, changes: Partial<TokenParts>): string {
  return forgeToken({
    header: goodHeader,
    claims: goodClaims(nowSeconds),
    signer: signAs('ES256', keys.ec.privateKey),
    ...changes,
  });
}

function unusable(key: TestKey, members: object, why: string, algorithm: Algorithm): UnusableKey {
  return { jwk: { ...key.publicJwk, ...members }, why, privateKey: key.privateKey, algorithm };
}

function fromPair(pair: { readonly publicKey: KeyObject; readonly privateKey: KeyObject }): TestKey {
  return { publicJwk: pair.publicKey.export({ format: 'jwk' }), privateKey: pair.privateKey };
}

function coordinate(key: KeyObject, from: number, to?: number): string {
  return key.export({ type: 'spki', format: 'der' }).subarray(from, to).toString('base64url');
}
