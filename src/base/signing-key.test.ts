import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { describe, test } from 'node:test';
import { createSigningKey, formatSigningKey, parseSigningKey, readSigningKey } from './signing-key.ts';

describe('a signing key', () => {
  test('signs ES256, and is the same after it was written and read', () => {
    const made = createSigningKey();
    const key = readSigningKey(made.privateKey)!;
    const signature = sign('sha256', Buffer.from('text'), { key, dsaEncoding: 'ieee-p1363' });
    assert.equal(signature.length, 64);
    const publicKey = createPublicKey(key);
    assert.ok(verify('sha256', Buffer.from('text'), { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature));
    const read = parseSigningKey(formatSigningKey(made))!;
    assert.equal(read.kid, made.kid);
    assert.deepEqual(Buffer.from(read.privateKey), Buffer.from(made.privateKey));
    assert.equal(formatSigningKey(made), key.export({ format: 'pem', type: 'pkcs8' }), 'as openssl writes it');
  });

  test('has the thumbprint of its public key as its kid, so no two have the same', () => {
    const kids = Array.from({ length: 8 }, () => createSigningKey().kid);
    assert.equal(new Set(kids).size, 8);
    for (const kid of kids) assert.match(kid, /^[\w-]{43}$/);
  });

  test('that is none for ES256 is refused', () => {
    const others = [
      generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey,
      generateKeyPairSync('ed25519').privateKey,
    ];
    for (const key of others) {
      assert.equal(readSigningKey(key.export({ format: 'der', type: 'pkcs8' })), undefined);
      assert.equal(parseSigningKey(key.export({ format: 'pem', type: 'pkcs8' })), undefined);
    }
    const publicPem = createPublicKey(readSigningKey(createSigningKey().privateKey)!).export({
      format: 'pem',
      type: 'spki',
    });
    assert.equal(parseSigningKey(publicPem), undefined);
    for (const text of ['', 'nonsense', formatSigningKey(createSigningKey()).slice(0, 100)])
      assert.equal(parseSigningKey(text), undefined);
    assert.equal(readSigningKey(new Uint8Array()), undefined);
    assert.equal(readSigningKey(createSigningKey().privateKey.slice(0, 50)), undefined);
  });
});
