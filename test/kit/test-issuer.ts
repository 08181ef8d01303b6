// An issuer for tests: real keys, and tokens that can be wrong in every way.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CompactSign, importJWK, type JWK } from 'jose';
import type { Algorithm } from '../../src/gateway/authentication/token/algorithms.ts';
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

/** Whoever issues tokens: a name and one key, and nothing that answers. */
export interface TestIssuer {
  readonly issuer: string;
  readonly audience: string;
  readonly kid: string;
  /** The key that signs now. */
  readonly key: TestKey;
  /** All that are published, as JSON. */
  readonly jwks: string;
  /** Claims of a token that is fine, but for the changes; undefined takes one out. */
  readonly claims: (changes?: object) => Record<string, unknown>;
  /** A token that is fine, but for the changes. */
  readonly sign: (claims?: object, header?: object) => Promise<string>;
  /** From now on another key signs and is published, the old one no more. */
  rotate(kid: string): void;
}

export interface TestIssuerOptions {
  readonly audience?: string;
  readonly algorithm?: Algorithm;
  readonly kid?: string;
  /** Members of its JWKs beside `kid`: `alg` and `use` are there only when told. */
  readonly jwk?: JsonObject;
}

/** Makes one. */
export function createIssuer(
  issuer: string,
  { audience = 'api', algorithm = 'RS256', kid = 'one', jwk = {} }: TestIssuerOptions = {},
): TestIssuer {
  const makeKey = (name: string) => ({ kid: name, key: createTestKey(algorithm, { ...jwk, kid: name }) });
  let current = makeKey(kid);
  const claims: TestIssuer['claims'] = (changes = {}) => ({
    iss: issuer,
    sub: 'alice',
    aud: audience,
    iat: nowSeconds() - 60,
    exp: nowSeconds() + 3_600,
    ...changes,
  });
  return {
    issuer,
    audience,
    get kid() {
      return current.kid;
    },
    get key() {
      return current.key;
    },
    get jwks() {
      return JSON.stringify({ keys: [current.key.publicJwk] });
    },
    claims,
    sign: (changes, header = {}) =>
      signWithJose(current.key, { alg: algorithm, kid: current.kid, typ: 'at+jwt', ...header }, claims(changes)),
    rotate(next) {
      current = makeKey(next);
    },
  };
}

/** An entry of `providers` in a policy, with the keys in it. */
export function providerOf(name: string, { issuer, audience, jwks }: TestIssuer, rest: object = {}): object {
  return { name, issuer, audiences: [audience], jwks: { inline: jwks }, ...rest };
}

/** Now, as tokens say it. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}

/** base64url of JSON, or of text or bytes as they are. */
export function encodePart(value: unknown): string {
  const bytes = typeof value === 'string' || Buffer.isBuffer(value) ? Buffer.from(value) : JSON.stringify(value);
  return Buffer.from(bytes).toString('base64url');
}
