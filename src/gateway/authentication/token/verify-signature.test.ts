import assert from 'node:assert/strict';
import { constants, generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { readKeySet } from './key-set.ts';
import { verifySignature } from './verify-signature.ts';

// One signature in 256 begins with a zero byte. Without it, it is the same number, and OpenSSL takes it where the padding is PSS.
for (const [algorithm, padding] of [
  ['RS256', constants.RSA_PKCS1_PADDING],
  ['PS256', constants.RSA_PKCS1_PSS_PADDING],
] as const)
  test(`${algorithm}: a signature without its leading zero is none, nor is one with a zero more`, () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const read = readKeySet({ keys: [publicKey.export({ format: 'jwk' })] });
    assert.ok(read.ok);
    const key = read.keySet.keys[0]!;
    const judge = (signingInput: string, signature: Uint8Array): boolean =>
      verifySignature({ algorithm, signingInput, signature: Buffer.from(signature) }, key);
    for (let attempt = 0; ; attempt += 1) {
      const text = `header.payload-${attempt}`;
      const signature = sign('sha256', Buffer.from(text), {
        key: privateKey,
        padding,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      });
      assert.equal(judge(text, signature), true);
      assert.equal(judge(text, Buffer.concat([Buffer.alloc(1), signature])), false);
      if (signature[0] !== 0) continue;
      assert.equal(judge(text, signature.subarray(1)), false);
      return;
    }
  });
