// Hostile tokens: signatures that prove nothing, and other spellings of signatures that do.
import { sign } from 'node:crypto';
import type { Algorithm } from '../../src/gateway/authentication/token/algorithms.ts';
import { forgeToken, signAs, type Signer, signWithBytes } from '../kit/forge-token.ts';
import { encodePart } from '../kit/test-issuer.ts';
import type { AcceptableToken, HostileToken } from './token-corpus-entry.ts';
import { forgeLike, goodClaims, keys } from './token-corpus-issuer.ts';
import { oddPaddings, signPadded } from './token-corpus-pkcs1.ts';

/** Orders of the groups: FIPS 186-4 D.1.2, RFC 8032. */
const orders = {
  ec: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  ec384: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  ec521:
    0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
} as const;
const ed25519Order = 2n ** 252n + 27742317777372353535851937790883648493n;
const ecAlgorithms = { ec: 'ES256', ec384: 'ES384', ec521: 'ES512' } as const;
const coordinateBytes = { ec: 32, ec384: 48, ec521: 66 } as const;

export function createSignatureTokens(nowSeconds: number): HostileToken[] {
  return [
    ...createChangedSignatures(nowSeconds),
    ...createEcdsaTokens(nowSeconds),
    ...createRsaTokens(nowSeconds),
    ...createEdwardsTokens(nowSeconds),
    ...createMovedSignatures(nowSeconds),
  ].map(([name, token]) => ({ name, token, reason: 'token_bad_signature' }));
}

type SignatureCase = [name: string, token: string];

/** The same changes to a good signature of each family. */
function createChangedSignatures(nowSeconds: number): SignatureCase[] {
  const families: [Algorithm, keyof typeof keys][] = [
    ['RS256', 'rsa'],
    ['PS256', 'rsa'],
    ['ES256', 'ec'],
    ['ES384', 'ec384'],
    ['ES512', 'ec521'],
    ['Ed25519', 'ed'],
    ['Ed448', 'ed448'],
  ];
  const changes: Record<string, (signature: Buffer) => Uint8Array> = {
    empty: () => Buffer.alloc(0),
    'one zero byte': () => Buffer.alloc(1),
    'zeros of its length': ({ length }) => Buffer.alloc(length),
    'ones of its length': ({ length }) => Buffer.alloc(length, 0xff),
    'cut by its last byte': (signature) => signature.subarray(0, -1),
    'cut by its first byte': (signature) => signature.subarray(1),
    'cut to the half': (signature) => signature.subarray(0, signature.length >> 1),
    'a zero behind': (signature) => Buffer.concat([signature, Buffer.alloc(1)]),
    'a zero in front': (signature) => Buffer.concat([Buffer.alloc(1), signature]),
    'one behind the other': (signature) => Buffer.concat([signature, signature]),
    backwards: (signature) => signature.toReversed(),
    'halves exchanged': (signature) =>
      Buffer.concat([signature.subarray(signature.length >> 1), signature.subarray(0, signature.length >> 1)]),
    'its first bit flipped': (signature) => flipBit(signature, 0, 0x80),
    'its last bit flipped': (signature) => flipBit(signature, signature.length - 1, 0x01),
    'as hex text': (signature) => Buffer.from(signature.toString('hex')),
    'as base64 text': (signature) => Buffer.from(signature.toString('base64')),
  };
  return families.flatMap(([alg, kid]) => {
    const signer = signAs(alg, keys[kid].privateKey);
    return Object.entries(changes).map(([name, change]): SignatureCase => [
      `${alg} signature: ${name}`,
      forgeLike(nowSeconds, { header: { alg, kid }, signer: (input) => Buffer.from(change(signer(input))) }),
    ]);
  });
}

/** CVE-2022-21449 (psychic signatures) and its neighbours, and DER where JWS has two numbers (RFC 7518 3.4). */
function createEcdsaTokens(nowSeconds: number): SignatureCase[] {
  return (Object.keys(ecAlgorithms) as (keyof typeof ecAlgorithms)[]).flatMap((kid) => {
    const alg = ecAlgorithms[kid];
    const bytes = coordinateBytes[kid];
    const order = orders[kid];
    const { privateKey } = keys[kid];
    const forge = (signer: Signer): string => forgeLike(nowSeconds, { header: { alg, kid }, signer });
    const numbers = (r: bigint, s: bigint): string =>
      forge(signWithBytes(Buffer.concat([toBytes(r, bytes), toBytes(s, bytes)])));
    const der = (input: string): Buffer => sign(`sha${alg.slice(2)}`, Buffer.from(input), privateKey);
    const split = (input: string): [bigint, bigint] => {
      const signature = signAs(alg, privateKey)(input);
      return [toNumber(signature.subarray(0, bytes)), toNumber(signature.subarray(bytes))];
    };
    return [
      [`${alg} with r = s = 1`, numbers(1n, 1n)],
      [`${alg} with r = 0`, numbers(0n, 1n)],
      [`${alg} with s = 0`, numbers(1n, 0n)],
      [`${alg} with r = s = n`, numbers(order, order)],
      [`${alg} with r = n, s = 1`, numbers(order, 1n)],
      [`${alg} with r = 1, s = n`, numbers(1n, order)],
      [`${alg} with r = s = n - 1`, numbers(order - 1n, order - 1n)],
      [`${alg} with r = s = n + 1`, numbers(order + 1n, order + 1n)],
      [`${alg} in DER`, forge(der)],
      [
        `${alg} in DER, cut or filled to the right length`,
        forge((input) => Buffer.concat([der(input), Buffer.alloc(bytes)]).subarray(0, 2 * bytes)),
      ],
      [
        `${alg} with r and s one byte longer each`,
        forge((input) => {
          const [r, s] = split(input);
          return Buffer.concat([toBytes(r, bytes + 1), toBytes(s, bytes + 1)]);
        }),
      ],
      [
        `${alg} with s and r exchanged`,
        forge((input) => {
          const [r, s] = split(input);
          return Buffer.concat([toBytes(s, bytes), toBytes(r, bytes)]);
        }),
      ],
      [
        `${alg} with r of one token and s of another`,
        forge((input) => {
          const [r] = split(input);
          const [, s] = split(`${input}x`);
          return Buffer.concat([toBytes(r, bytes), toBytes(s, bytes)]);
        }),
      ],
    ] satisfies SignatureCase[];
  });
}

function createRsaTokens(nowSeconds: number): SignatureCase[] {
  const { privateKey, publicJwk } = keys.rsa;
  const modulus = toNumber(Buffer.from(publicJwk.n!, 'base64url'));
  const forge = (alg: string, signer: Signer): string => forgeLike(nowSeconds, { header: { alg, kid: 'rsa' }, signer });
  const rs256 = signAs('RS256', privateKey);
  const fixed: [string, bigint, number][] = [
    ['1', 1n, 256],
    ['n - 1', modulus - 1n, 256],
    ['n', modulus, 256],
    ['n + 1', modulus + 1n, 256],
  ];
  return [
    ...Object.entries(oddPaddings).map(([name, pad]): SignatureCase => [
      `RS256 with odd padding: ${name}`,
      forge('RS256', signPadded(privateKey, pad)),
    ]),
    ...(['RS256', 'PS256'] as const).flatMap((alg) =>
      fixed.map(([name, value, length]): SignatureCase => [
        `${alg} with the number ${name}`,
        forge(alg, signWithBytes(toBytes(value, length))),
      ]),
    ),
    ['RS256 with n added', forge('RS256', (input) => toBytes(toNumber(rs256(input)) + modulus, 257))],
    ['RS256 without the zero that it begins with', forgeWithoutLeadingZero(nowSeconds)],
    ['RS256 with ten zeros in front', forge('RS256', (input) => Buffer.concat([Buffer.alloc(10), rs256(input)]))],
    ['RS256 negated', forge('RS256', (input) => toBytes(modulus - toNumber(rs256(input)), 256))],
  ];
}

/** RFC 8032 5.1.7: S below L, points as they are spelled. */
function createEdwardsTokens(nowSeconds: number): SignatureCase[] {
  const signer = signAs('Ed25519', keys.ed.privateKey);
  const forge = (change: (signature: Buffer) => Uint8Array): string =>
    forgeLike(nowSeconds, {
      header: { alg: 'EdDSA', kid: 'ed' },
      signer: (input) => Buffer.from(change(signer(input))),
    });
  const withS =
    (change: (s: bigint) => bigint) =>
    (signature: Buffer): Buffer => {
      const s = toNumber(signature.subarray(32).toReversed());
      return Buffer.concat([signature.subarray(0, 32), toBytes(change(s), 32).toReversed()]);
    };
  const publicBytes = Buffer.from(keys.ed.publicJwk.x!, 'base64url');
  const smallOrder: Record<string, string> = {
    'the neutral point': `01${'00'.repeat(31)}`,
    'the point of order 2': `ec${'ff'.repeat(30)}7f`,
    'a point of order 4': '00'.repeat(32),
    'a point of order 8': 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    'the neutral point, not reduced': `ee${'ff'.repeat(30)}7f`,
  };
  return [
    ['EdDSA with S + L', forge(withS((s) => s + ed25519Order))],
    ['EdDSA with S + 2L', forge(withS((s) => s + 2n * ed25519Order))],
    ['EdDSA with S = 0', forge(withS(() => 0n))],
    ['EdDSA with S = L', forge(withS(() => ed25519Order))],
    ['EdDSA with S negated', forge(withS((s) => ed25519Order - s))],
    ['EdDSA with the highest bit of S', forge((signature) => flipBit(signature, 63, 0x80))],
    ['EdDSA with the sign of R changed', forge((signature) => flipBit(signature, 31, 0x80))],
    ['EdDSA with the public key for R', forge((signature) => Buffer.concat([publicBytes, signature.subarray(32)]))],
    ['EdDSA with the public key for R and S = 0', forge(() => Buffer.concat([publicBytes, Buffer.alloc(32)]))],
    ...Object.entries(smallOrder).flatMap(([name, hex]): SignatureCase[] => [
      [`EdDSA with ${name} for R and S = 0`, forge(() => Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(32)]))],
      [
        `EdDSA with ${name} for R`,
        forge((signature) => Buffer.concat([Buffer.from(hex, 'hex'), signature.subarray(32)])),
      ],
    ]),
  ];
}

/** A good signature, of something else. */
function createMovedSignatures(nowSeconds: number): SignatureCase[] {
  const signer = signAs('ES256', keys.ec.privateKey);
  const claims = goodClaims(nowSeconds);
  const header = { alg: 'ES256', kid: 'ec' };
  const good = forgeToken({ header, claims, signer });
  const [headerPart, claimsPart, signature] = good.split('.') as [string, string, string];
  const over = (signed: string): string => `${headerPart}.${claimsPart}.${signer(signed).toString('base64url')}`;
  return [
    ['another sub under the same signature', `${headerPart}.${encodePart({ ...claims, sub: 'root' })}.${signature}`],
    ['another header under the same signature', `${encodePart({ ...header, typ: 'JWT' })}.${claimsPart}.${signature}`],
    [
      'a later exp under the same signature',
      `${headerPart}.${encodePart({ ...claims, exp: nowSeconds + 99_999 })}.${signature}`,
    ],
    ['one claim more under the same signature', `${headerPart}.${encodePart({ ...claims, admin: true })}.${signature}`],
    ['signed over the claims alone', over(claimsPart)],
    ['signed over the header alone', over(headerPart)],
    ['signed over header and claims without the dot', over(headerPart + claimsPart)],
    ['signed over header and claims as JSON', over(`${JSON.stringify(header)}.${JSON.stringify(claims)}`)],
    ['signed over header and claims with a dot behind', over(`${headerPart}.${claimsPart}.`)],
    ['signed over nothing', over('')],
    ['signed over the claims with padding', over(`${headerPart}.${claimsPart}=`)],
    ['signed over the claims in front of the header', over(`${claimsPart}.${headerPart}`)],
  ];
}

/** Signatures that are not unique: whoever has a good token can write it in a second way. Nobody gains anything by it. */
export function createAcceptableSignatures(nowSeconds: number): AcceptableToken[] {
  return (Object.keys(ecAlgorithms) as (keyof typeof ecAlgorithms)[]).flatMap((kid) => {
    const alg = ecAlgorithms[kid];
    const bytes = coordinateBytes[kid];
    const signer = signAs(alg, keys[kid].privateKey);
    const half =
      (wantsHigh: boolean) =>
      (input: string): Buffer => {
        const signature = signer(input);
        const s = toNumber(signature.subarray(bytes));
        const isHigh = s > orders[kid] / 2n;
        const chosen = isHigh === wantsHigh ? s : orders[kid] - s;
        return Buffer.concat([signature.subarray(0, bytes), toBytes(chosen, bytes)]);
      };
    const why = 'RFC 7518 3.4 asks for no low s: s and n - s are both signatures of who has the key';
    return [
      { name: `${alg} with a high s`, token: forgeLike(nowSeconds, { header: { alg, kid }, signer: half(true) }), why },
      { name: `${alg} with a low s`, token: forgeLike(nowSeconds, { header: { alg, kid }, signer: half(false) }), why },
    ];
  });
}

/** One in 256 signatures begins with a zero byte: the number is the same without it, the signature is not (RFC 8017 8.2.2). */
function forgeWithoutLeadingZero(nowSeconds: number): string {
  const signer = signAs('RS256', keys.rsa.privateKey);
  for (let jti = 0; ; jti += 1) {
    const input = `${encodePart({ alg: 'RS256', kid: 'rsa' })}.${encodePart({ ...goodClaims(nowSeconds), jti })}`;
    const signature = signer(input);
    if (signature[0] === 0) return `${input}.${signature.subarray(1).toString('base64url')}`;
  }
}

function flipBit(bytes: Buffer, at: number, mask: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at]! ^= mask;
  return changed;
}

function toBytes(value: bigint, length: number): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex');
}

function toNumber(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}
