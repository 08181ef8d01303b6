// Hostile tokens: games with `alg`, and secrets that are public.
import { createPublicKey, type KeyObject } from 'node:crypto';
import { type Algorithm, algorithms } from '../../src/gateway/authentication/token/algorithms.ts';
import { forgeToken, signAs, signWithBytes, signWithSecret } from '../kit/forge-token.ts';
import { encodePart } from '../kit/test-issuer.ts';
import type { HostileToken } from './token-corpus-entry.ts';
import { forgeLike, goodClaims, keys, loneKey, publishedSecret, served, severalKeys } from './token-corpus-issuer.ts';

const hashes = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' } as const;
const unsigned = signWithBytes(Buffer.alloc(0));

export function createAlgorithmTokens(nowSeconds: number): HostileToken[] {
  return [
    ...createUnsignedTokens(nowSeconds),
    ...createHmacTokens(nowSeconds),
    ...createOddAlgorithms(nowSeconds),
    ...createConfusedTokens(nowSeconds),
    ...createWrongHashes(nowSeconds),
  ];
}

function createUnsignedTokens(nowSeconds: number): HostileToken[] {
  const spellings = ['none', 'None', 'NONE', 'nOnE', 'none ', ' none', 'none\u0000', 'n\u03bfne', ''];
  return spellings.flatMap((alg): HostileToken[] => {
    const header = { alg, kid: 'ec' };
    const reason = 'token_unsupported_algorithm';
    const spelled = JSON.stringify(alg);
    return [
      { name: `alg ${spelled}, no signature`, token: forgeLike(nowSeconds, { header, signer: unsigned }), reason },
      { name: `alg ${spelled}, a good signature of the key`, token: forgeLike(nowSeconds, { header }), reason },
      {
        name: `alg ${spelled}, no signature and no kid`,
        token: forgeLike(nowSeconds, { header: { alg }, signer: unsigned }),
        reason,
        policy: 'lone-key',
      },
    ];
  });
}

/** CVE-2015-9235, CVE-2016-5431 and their many heirs: what everybody can read is taken for the secret. */
function createHmacTokens(nowSeconds: number): HostileToken[] {
  const tokens: HostileToken[] = [];
  const add = (what: string, kid: string | undefined, secret: string | Buffer): void => {
    for (const [alg, hash] of Object.entries(hashes)) {
      const token = forgeLike(nowSeconds, { header: { alg, kid }, signer: signWithSecret(hash, secret) });
      const policy = kid === undefined ? 'lone-key' : 'several-keys';
      tokens.push({ name: `${alg} with ${what} as the secret`, token, reason: 'token_unsupported_algorithm', policy });
    }
  };
  for (const [kid, key] of [
    ['rsa', keys.rsa],
    ['rs256', keys.rs256],
    [undefined, loneKey],
  ] as const) {
    const label = kid ?? 'the key without a name';
    for (const [form, secret] of Object.entries(listRsaForms(createPublicKey({ key: key.publicJwk, format: 'jwk' })))) {
      add(`${label} in ${form}`, kid, secret);
    }
    add(`${label} as JWK`, kid, JSON.stringify(key.publicJwk));
    add(`n of ${label} as text`, kid, key.publicJwk.n!);
    add(`n of ${label} as bytes`, kid, Buffer.from(key.publicJwk.n!, 'base64url'));
  }
  for (const kid of ['ec', 'ec384', 'ec521'] as const) {
    const { publicJwk } = keys[kid];
    const key = createPublicKey({ key: publicJwk, format: 'jwk' });
    add(`${kid} in PEM`, kid, key.export({ type: 'spki', format: 'pem' }));
    add(`${kid} in DER`, kid, key.export({ type: 'spki', format: 'der' }));
    add(`${kid} as JWK`, kid, JSON.stringify(publicJwk));
    add(
      `the point of ${kid}`,
      kid,
      key.export({ type: 'spki', format: 'der' }).subarray(-2 * coordinateBytes[kid] - 1),
    );
  }
  add('the bytes of ed', 'ed', Buffer.from(keys.ed.publicJwk.x!, 'base64url'));
  add(
    'ed in PEM',
    'ed',
    createPublicKey({ key: keys.ed.publicJwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' }),
  );
  add('the whole key set', 'ec', JSON.stringify({ keys: severalKeys }));
  add('nothing', 'ec', '');
  add('the kid', 'ec', 'ec');
  add('a secret of the set', 'oct', publishedSecret);
  return tokens;
}

const coordinateBytes = { ec: 32, ec384: 48, ec521: 66 } as const;

function listRsaForms(key: KeyObject): Record<string, string | Buffer> {
  const spki = key.export({ type: 'spki', format: 'pem' });
  const pkcs1 = key.export({ type: 'pkcs1', format: 'pem' });
  return {
    'SPKI PEM': spki,
    'SPKI PEM without the last line end': spki.trimEnd(),
    'SPKI PEM with CRLF': spki.replaceAll('\n', '\r\n'),
    'PKCS1 PEM': pkcs1,
    'PKCS1 PEM without the last line end': pkcs1.trimEnd(),
    'SPKI DER': key.export({ type: 'spki', format: 'der' }),
    'PKCS1 DER': key.export({ type: 'pkcs1', format: 'der' }),
  };
}

function createOddAlgorithms(nowSeconds: number): HostileToken[] {
  const names: unknown[] = [
    'es256',
    'Es256',
    'ES256 ',
    'ES256\u0000',
    'ES256K',
    'ES256K-R',
    'ES1',
    'RS1',
    'RS128',
    'SHA256withECDSA',
    'RSA-OAEP',
    'RSA1_5',
    'dir',
    'A128KW',
    'A256GCM',
    'PBES2-HS256+A128KW',
    'ECDH-ES',
    'ML-DSA-44',
    'EdDSA\n',
    'ed25519',
    'Ed25519ph',
    'toString',
    'constructor',
    'hasOwnProperty',
    '__proto__',
    'ES256,none',
    'E\u200bS256',
    null,
    true,
    0,
    256,
    ['ES256'],
    ['none', 'ES256'],
    { alg: 'ES256' },
    {},
    [],
  ];
  const missing: [string, object][] = [
    ['no alg', { kid: 'ec' }],
    ['ALG in place of alg', { ALG: 'ES256', kid: 'ec' }],
    ['Alg in place of alg', { Alg: 'ES256', kid: 'ec' }],
    ['alg with a space behind it', { 'alg ': 'ES256', kid: 'ec' }],
    ['alg in an object', { header: { alg: 'ES256' }, kid: 'ec' }],
    ['an empty header', {}],
  ];
  return [...names.map((alg): [string, object] => [`alg ${JSON.stringify(alg)}`, { alg, kid: 'ec' }]), ...missing].map(
    ([name, header]) => ({
      name: `${name}, a good signature of the key`,
      token: forgeLike(nowSeconds, { header }),
      reason: 'token_unsupported_algorithm',
    }),
  );
}

/** A good token whose header names every other algorithm in turn; and the same, signed again over the changed header. */
function createConfusedTokens(nowSeconds: number): HostileToken[] {
  const tokens: HostileToken[] = [];
  for (const kid of Object.keys(keys) as (keyof typeof keys)[]) {
    const own: readonly Algorithm[] = served[kid];
    const real = own[0]!;
    const signer = signAs(real, keys[kid].privateKey);
    const claims = goodClaims(nowSeconds);
    const good = forgeToken({ header: { alg: real, kid }, claims, signer });
    for (const alg of Object.keys(algorithms) as Algorithm[]) {
      if (alg === real) continue;
      const header = { alg, kid };
      const reason = own.includes(alg) ? 'token_bad_signature' : 'token_unsupported_algorithm';
      const changed = `${encodePart(header)}${good.slice(good.indexOf('.'))}`;
      tokens.push({ name: `a token of ${kid} with ${real}, its alg changed to ${alg}`, token: changed, reason });
      // The two names of one algorithm: signed again it is a good token.
      if (isSameAlgorithm(real, alg, own)) continue;
      const signedAgain = forgeToken({ header, claims, signer });
      tokens.push({ name: `alg ${alg}, but ${kid} signed with ${real}`, token: signedAgain, reason });
    }
  }
  return tokens;
}

function isSameAlgorithm(one: Algorithm, other: Algorithm, own: readonly Algorithm[]): boolean {
  return own.includes(other) && algorithms[one].hash === null && algorithms[other].hash === null;
}

function createWrongHashes(nowSeconds: number): HostileToken[] {
  const cases: [Algorithm, keyof typeof keys, { hash?: string; saltLength?: number }][] = [
    ['RS256', 'rsa', { hash: 'sha1' }],
    ['RS256', 'rsa', { hash: 'md5' }],
    ['RS256', 'rsa', { hash: 'sha512' }],
    ['RS256', 'rsa', { hash: 'sha3-256' }],
    ['PS256', 'rsa', { hash: 'sha1' }],
    ['PS256', 'rsa', { hash: 'sha384' }],
    ['PS256', 'rsa', { saltLength: 0 }],
    ['PS256', 'rsa', { saltLength: 20 }],
    ['PS256', 'rsa', { saltLength: 31 }],
    ['PS256', 'rsa', { saltLength: 33 }],
    ['PS256', 'rsa', { saltLength: 222 }],
    ['PS384', 'rsa', { saltLength: 32 }],
    ['PS512', 'rsa', { saltLength: 0 }],
    ['ES256', 'ec', { hash: 'sha1' }],
    ['ES256', 'ec', { hash: 'sha384' }],
    ['ES384', 'ec384', { hash: 'sha256' }],
    ['ES512', 'ec521', { hash: 'sha256' }],
  ];
  return cases.map(([alg, kid, changes]) => ({
    name: `${alg} with ${Object.entries(changes).join(' ').replaceAll(',', ' ')}`,
    token: forgeLike(nowSeconds, { header: { alg, kid }, signer: signAs(alg, keys[kid].privateKey, changes) }),
    reason: 'token_bad_signature',
  }));
}
