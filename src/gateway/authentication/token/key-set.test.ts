import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Algorithm } from './algorithms.ts';
import { readKeySet } from './key-set.ts';
import { createTestKey } from '../../../../test/kit/test-issuer.ts';

const rsa = createTestKey('RS256').publicJwk;
const ec = createTestKey('ES256').publicJwk;
const rsaFamily: readonly Algorithm[] = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];

/** The algorithms of the one key in the set, or why it is not used. */
function readOne(key: unknown): string[] | string {
  // A good key beside it: one that is not used must not spoil the set.
  const read = readKeySet({ keys: [key, { ...ec, kid: 'good' }] });
  assert.ok(read.ok);
  assert.equal(read.keySet.keys.at(-1)?.id, 'good');
  return read.keySet.keys.length === 2 ? [...read.keySet.keys[0]!.algorithms] : (read.keySet.ignored[0]?.why ?? '');
}

describe('the key decides the algorithm', () => {
  test('an RSA key without alg serves the whole family', () => assert.deepEqual(readOne(rsa), rsaFamily));

  for (const alg of rsaFamily) {
    test(`an RSA key with alg ${alg} serves only that`, () => assert.deepEqual(readOne({ ...rsa, alg }), [alg]));
  }

  for (const alg of ['ES256', 'ES384', 'ES512'] as const) {
    test(`the curve of ${alg} serves only that`, () => assert.deepEqual(readOne(createTestKey(alg).publicJwk), [alg]));
  }

  test('Edwards curves serve EdDSA and their own name', () => {
    const key = createTestKey('Ed25519').publicJwk;
    assert.deepEqual(readOne(key), ['EdDSA', 'Ed25519']);
    assert.deepEqual(readOne({ ...key, alg: 'EdDSA' }), ['EdDSA']);
    assert.deepEqual(readOne({ ...key, alg: 'Ed25519' }), ['Ed25519']);
    assert.deepEqual(readOne(createTestKey('Ed448').publicJwk), ['EdDSA', 'Ed448']);
  });

  test('use and key_ops that allow verifying change nothing', () => {
    assert.deepEqual(readOne({ ...ec, use: 'sig', key_ops: ['sign', 'verify'], ext: true, x5c: ['x'] }), ['ES256']);
  });
});

describe('keys that are not used, each without spoiling the others', () => {
  const { x, y, crv, ...rest } = ec;
  for (const [name, key, why] of [
    ['no object', 'key', /not a JSON object/],
    ['null', null, /not a JSON object/],
    ['no kty', { ...ec, kty: undefined }, /kty/],
    ['unknown kty', { ...ec, kty: 'AKP' }, /kty/],
    ['kty in another case', { ...ec, kty: 'ec' }, /kty/],
    ['symmetric', { kty: 'oct', k: 'c2VjcmV0', kid: 'a' }, /symmetric/],
    ['symmetric for HS256', { kty: 'oct', k: 'c2VjcmV0', alg: 'HS256' }, /symmetric/],
    ['private material', createTestKey('ES256').privateKey.export({ format: 'jwk' }), /private/],
    ['private RSA material', createTestKey('RS256').privateKey.export({ format: 'jwk' }), /private/],
    ['for encryption by use', { ...rsa, use: 'enc' }, /use/],
    ['use of another type', { ...rsa, use: ['sig'] }, /use/],
    ['for encryption by key_ops', { ...rsa, key_ops: ['encrypt', 'wrapKey'] }, /key_ops/],
    ['key_ops without verify', { ...rsa, key_ops: ['sign'] }, /key_ops/],
    ['key_ops of another type', { ...rsa, key_ops: 'verify' }, /key_ops/],
    ['for encryption by alg', { ...rsa, alg: 'RSA-OAEP-256' }, /alg/],
    ['alg HS256 on an RSA key', { ...rsa, alg: 'HS256' }, /alg/],
    ['alg none', { ...rsa, alg: 'none' }, /alg/],
    ['alg of another type', { ...rsa, alg: 1 }, /alg/],
    ['alg of another kty', { ...rsa, alg: 'ES256' }, /does not fit/],
    ['alg of another curve', { ...ec, alg: 'ES384' }, /does not fit/],
    ['kid of another type', { ...ec, kid: 7 }, /kid/],
    ['curve without algorithm', { ...ec, crv: 'secp256k1' }, /curve/],
    ['curve that is no curve', { ...ec, crv: 'rsa' }, /curve/],
    ['curve for encryption', { kty: 'OKP', crv: 'X25519', x: 'AAAA' }, /curve/],
    ['no curve', { ...rest, x, y }, /curve/],
    ['no y', { ...rest, crv, x }, /cannot be read/],
    ['a point that is not on the curve', { ...ec, y: x }, /cannot be read/],
    ['numbers instead of text', { ...ec, x: 1, y: 2 }, /cannot be read/],
    ['no modulus', { kty: 'RSA', e: 'AQAB' }, /cannot be read|short/],
    ['exponent 1', { ...rsa, e: 'AQ' }, /exponent|cannot be read/],
    ['even exponent', { ...rsa, e: 'BA' }, /exponent|cannot be read/],
    ['Ed25519 neutral point', { kty: 'OKP', crv: 'Ed25519', x: `AQ${'A'.repeat(41)}` }, /small order/],
    ['Ed25519 key that is too short', { kty: 'OKP', crv: 'Ed25519', x: 'AAAA' }, /cannot be read/],
  ] as const) {
    test(name, () => assert.match(String(readOne(key)), why));
  }

  test('RSA below 2048 bits', () => {
    const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
    assert.match(String(readOne(short)), /too short: 1024/);
  });

  test('RSA beyond all measure', () => {
    const pem = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' });
    for (const bytes of [2_049, 4_000, 20_000]) {
      const n = Buffer.alloc(bytes, 0xff).toString('base64url');
      assert.equal(readOne({ kty: 'RSA', n, e: 'AQAB' }), 'is too long: more than 16384 bits');
      // OpenSSL keeps errors by thread.
      assert.equal(createPrivateKey(pem).asymmetricKeyType, 'ed25519', 'a good key is read as ever');
    }
    assert.deepEqual(
      readOne({ kty: 'RSA', n: Buffer.alloc(2_048, 0xff).toString('base64url'), e: 'AQAB' }),
      rsaFamily,
      'the longest',
    );
  });

  test('what is not used is reported without key material', () => {
    const read = readKeySet({ keys: [{ kty: 'oct', k: 'c2VjcmV0', kid: 'shared' }, ec] });
    assert.ok(read.ok);
    assert.deepEqual(
      read.keySet.ignored.map(({ index, id }) => [index, id]),
      [[0, 'shared']],
    );
    assert.doesNotMatch(JSON.stringify(read.keySet.ignored), /c2VjcmV0/);
  });
});

describe('the set', () => {
  test('sets that are none', () => {
    for (const [document, problem] of [
      [{}, 'has no list of keys'],
      [{ keys: {} }, 'has no list of keys'],
      [{ keys: null }, 'has no list of keys'],
      [{ keys: [] }, 'is empty'],
      [{ keys: [{ kty: 'oct', k: 'AA' }] }, 'has no key that verifies signatures'],
    ] as const) {
      const read = readKeySet(document);
      assert.equal(read.ok ? 'ok' : read.problem, problem);
    }
  });

  test('the number of keys is bounded', () => {
    const read = readKeySet({ keys: Array.from({ length: 1_000 }, (_, index) => ({ ...ec, kid: String(index) })) });
    assert.ok(read.ok);
    assert.equal(read.keySet.keys.length, 256);
    assert.equal(read.keySet.ignored.length, 1);
  });

  test('the fingerprint follows the usable keys and nothing else', () => {
    const fingerprint = (keys: readonly unknown[]): string => {
      const read = readKeySet({ keys });
      assert.ok(read.ok);
      return read.keySet.fingerprint;
    };
    const one = { ...ec, kid: 'a' };
    const two = { ...rsa, kid: 'b' };
    const original = fingerprint([one, two]);
    assert.equal(fingerprint([two, { ...one, x5t: 'x' }, { kty: 'oct', k: 'AA' }]), original);
    assert.notEqual(fingerprint([one]), original);
    assert.notEqual(fingerprint([{ ...one, kid: 'c' }, two]), original);
    assert.notEqual(fingerprint([one, { ...two, alg: 'RS256' }]), original);
    assert.notEqual(fingerprint([{ ...createTestKey('ES256').publicJwk, kid: 'a' }, two]), original);
  });
});
