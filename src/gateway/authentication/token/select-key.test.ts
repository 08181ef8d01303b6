import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type KeySet, readKeySet } from './key-set.ts';
import { selectKey } from './select-key.ts';
import { createTestKey } from '../../../../test/kit/test-issuer.ts';

const ec = createTestKey('ES256').publicJwk;
const otherEc = createTestKey('ES256').publicJwk;
const rsa = createTestKey('RS256').publicJwk;

function select(keys: readonly object[], token: Parameters<typeof selectKey>[0]): unknown {
  const read = readKeySet({ keys });
  assert.ok(read.ok);
  const keySet: KeySet = read.keySet;
  const selection = selectKey(token, keySet);
  return selection.kind === 'found' ? selection.keys.map((key) => keySet.keys.indexOf(key)) : selection.kind;
}

describe('finding the key of a token', () => {
  const named = { ...ec, kid: 'a' };
  const other = { ...otherEc, kid: 'b' };

  test('by kid', () => {
    assert.deepEqual(select([named, other], { algorithm: 'ES256', keyId: 'b' }), [1]);
    assert.equal(select([named, other], { algorithm: 'ES256', keyId: 'c' }), 'unknown');
    assert.equal(select([named, other], { algorithm: 'ES256', keyId: 'A' }), 'unknown');
    assert.equal(select([named, other], { algorithm: 'ES256', keyId: '' }), 'unknown');
  });

  test('the key that is named must serve the algorithm', () => {
    assert.equal(select([named, { ...rsa, kid: 'r' }], { algorithm: 'RS256', keyId: 'a' }), 'wrong_algorithm');
    assert.equal(select([{ ...rsa, kid: 'r', alg: 'RS256' }], { algorithm: 'PS256', keyId: 'r' }), 'wrong_algorithm');
  });

  test('a token without kid: only when one key can be meant', () => {
    assert.deepEqual(select([named, { ...rsa, kid: 'r' }], { algorithm: 'ES256', keyId: undefined }), [0]);
    assert.equal(select([named, other], { algorithm: 'ES256', keyId: undefined }), 'ambiguous');
    assert.equal(select([named, other], { algorithm: 'ES384', keyId: undefined }), 'unknown');
  });

  test('a key without kid: when it is the only candidate', () => {
    assert.deepEqual(select([ec], { algorithm: 'ES256', keyId: 'x' }), [0]);
    assert.deepEqual(select([ec], { algorithm: 'ES256', keyId: undefined }), [0]);
    assert.deepEqual(select([other, ec], { algorithm: 'ES256', keyId: 'x' }), [1]);
    assert.deepEqual(select([other, ec], { algorithm: 'ES256', keyId: 'b' }), [0]);
    assert.equal(select([other, ec], { algorithm: 'ES256', keyId: undefined }), 'ambiguous');
    assert.equal(select([ec, otherEc], { algorithm: 'ES256', keyId: 'x' }), 'ambiguous');
  });

  test('one kid on several keys: those that serve the algorithm, not more than four', () => {
    assert.deepEqual(select([named, { ...rsa, kid: 'a' }], { algorithm: 'RS256', keyId: 'a' }), [1]);
    assert.deepEqual(select([named, { ...other, kid: 'a' }], { algorithm: 'ES256', keyId: 'a' }), [0, 1]);
    const many = Array.from({ length: 9 }, () => named);
    assert.deepEqual(select(many, { algorithm: 'ES256', keyId: 'a' }), [0, 1, 2, 3]);
  });
});
