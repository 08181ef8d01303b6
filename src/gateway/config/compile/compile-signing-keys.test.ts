import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { createSigningKey, type SigningKeyMaterial } from '../../../base/signing-key.ts';
import { type Secret, SecretSchema } from '../../../ir/gen/config_pb.ts';
import { createSigningKeysMessage } from '../../../ir/signing-keys.ts';
import { formatJwks } from '../../authentication/token/format-jwks.ts';
import { readSigningKeys } from './compile-signing-keys.ts';
import { PolicyError } from './policy-error.ts';

const [first, second] = [createSigningKey(), createSigningKey()];
const readMessage = (message: Secret) => readSigningKeys(new Map([[message.key, message]]));
const read = (keys: readonly SigningKeyMaterial[], active: string) =>
  readMessage(createSigningKeysMessage(keys, active));

describe('signing keys of a configuration', () => {
  test('all of them are accepted, one signs', () => {
    const keys = read([first, second], second.kid)!;
    assert.deepEqual(
      keys.keys.map(({ kid }) => kid),
      [first.kid, second.kid],
    );
    assert.equal(keys.active, keys.keys[1]);
    assert.deepEqual(
      keys.keys.map(({ privateKey, publicKey }) => [privateKey.type, publicKey.type]),
      [
        ['private', 'public'],
        ['private', 'public'],
      ],
    );
  });

  test('none may sign yet; there are none', () => {
    assert.equal(read([first], '')?.active, undefined);
    assert.equal(readSigningKeys(new Map()), undefined);
  });

  test('key objects are made once per message', () => {
    const message = createSigningKeysMessage([first], first.kid);
    assert.equal(readMessage(message), readMessage(message));
  });

  const wrong: readonly [name: string, message: Secret, problem: RegExp][] = [
    ['no key at all', createSigningKeysMessage([], ''), /has none in it/],
    ['another kind of message', create(SecretSchema, { key: 'SigningKeys' }), /has none in it/],
    [
      'bytes that are no key',
      createSigningKeysMessage([first, { kid: 'x', privateKey: new Uint8Array(8) }], first.kid),
      /the signing key x is no private key for ES256/,
    ],
    ['a key without a kid', createSigningKeysMessage([{ ...first, kid: '' }], ''), /has no kid/],
    ['a kid twice', createSigningKeysMessage([first, { ...second, kid: first.kid }], first.kid), /two signing keys/],
    ['an active key that is not there', createSigningKeysMessage([first], second.kid), /is to sign, and is not there/],
  ];
  for (const [name, message, problem] of wrong)
    test(`${name}: closed, and no key is shown`, () => {
      assert.throws(
        () => readMessage(message),
        (error) => error instanceof PolicyError && problem.test(error.message),
      );
      // Nothing is remembered of a failure.
      assert.throws(() => readMessage(message), PolicyError);
    });
});

test('the published key set has public members only', () => {
  const keys = read([first, second], first.kid)!;
  const { keys: published } = formatJwks(keys);
  assert.deepEqual(
    published.map((key) => Object.keys(key).toSorted()),
    Array.from({ length: 2 }, () => ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']),
  );
  assert.deepEqual(
    published.map(({ kid, alg, use, kty, crv }) => [kid, alg, use, kty, crv]),
    [first, second].map(({ kid }) => [kid, 'ES256', 'sig', 'EC', 'P-256']),
  );
  const { d, x } = keys.keys[0]!.privateKey.export({ format: 'jwk' });
  assert.equal(published[0]!.x, x);
  assert.ok(!JSON.stringify(published).includes(d!));
});
