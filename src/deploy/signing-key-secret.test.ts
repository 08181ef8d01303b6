// The Secret with signing keys: what is in it, whose it is, and what a bad edit of it says.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseResource } from '../api/parse-resource.ts';
import { createSigningKey, formatSigningKey } from '../base/signing-key.ts';
import type { KubernetesObject } from '../kubernetes/client.ts';
import { takeStep } from './plan-signing-keys.ts';
import {
  isRotationRequested,
  readSigningKeyObject,
  readSigningKeyOwner,
  readSigningKeySecret,
  renderSigningKeySecret,
  replaceSigningKeys,
} from './signing-key-secret.ts';

const owner = { namespace: 'team', name: 'web', uid: 'u' };
const now = Date.UTC(2026, 0, 1);
const secret = renderSigningKeySecret(owner, 'proxy-system', now);

/** Both readers say the same. */
function read(object: KubernetesObject) {
  const parsed = parseResource(object, { origin: 'kubernetes' });
  assert.ok(parsed.ok && parsed.kind === 'Secret', JSON.stringify(parsed));
  const keys = readSigningKeySecret(parsed.resource);
  assert.deepEqual(keys, readSigningKeyObject(object));
  return keys;
}

function expectKeys(object: KubernetesObject) {
  const keys = read(object);
  assert.ok(keys.ok, JSON.stringify(keys));
  return keys.keys;
}

function change(entries: Readonly<Record<string, string | undefined>>): KubernetesObject {
  const data = { ...(secret['data'] as Record<string, string>) };
  for (const [entry, text] of Object.entries(entries))
    if (text === undefined) delete data[entry];
    else data[entry] = Buffer.from(text).toString('base64');
  return { ...secret, data };
}

test('a rendered Secret has one key that signs at once, and says whose it is', () => {
  assert.equal(secret.metadata.namespace, 'proxy-system');
  assert.match(secret.metadata.name, /^proxy-sign-[0-9a-f]{32}$/);
  assert.deepEqual(readSigningKeyOwner(secret), owner);
  assert.equal(readSigningKeyOwner({ ...secret, metadata: { ...secret.metadata, name: 'other' } }), undefined);
  const { current, ...others } = expectKeys(secret);
  assert.deepEqual(others, { currentSince: now, next: undefined, previous: undefined, previousUntil: undefined });
  assert.notEqual(expectKeys(renderSigningKeySecret(owner, 'proxy-system', now)).current.kid, current.kid);
});

test('every state is written and read, on top of the object that was seen', () => {
  const seen: KubernetesObject = {
    ...secret,
    metadata: {
      ...secret.metadata,
      uid: 's',
      resourceVersion: '7',
      managedFields: [],
      annotations: { ...secret.metadata.annotations, 'gateway.proxy/rotate-signing-key': 'please' },
    },
  };
  assert.ok(isRotationRequested(seen));
  let object = seen;
  for (const step of ['prepare', 'switch', 'retire', 'forget'] as const) {
    const keys = takeStep(expectKeys(object), step, now + 1000);
    object = replaceSigningKeys(object, keys, { isAnswered: step === 'switch' });
    assert.deepEqual(expectKeys(object), keys);
    assert.deepEqual([object.metadata.uid, object.metadata.resourceVersion], ['s', '7']);
    assert.equal(isRotationRequested(object), step === 'prepare');
    assert.deepEqual(readSigningKeyOwner(object), owner);
  }
});

describe('a bad edit: nothing of it is used, and no key is shown', () => {
  const pem = formatSigningKey(createSigningKey());
  const current = formatSigningKey(expectKeys(secret).current);
  const bad: readonly [Readonly<Record<string, string | undefined>>, RegExp][] = [
    [
      { current: undefined },
      /^Secret proxy-system\/proxy-sign-\w+ has no key under current\. Correct it, or delete it/,
    ],
    [{ current: 'x' }, /has no key for ES256 under current/],
    [{ next: pem.slice(0, 60) }, /has no key for ES256 under next/],
    [{ previous: current }, /has the same key twice: previous/],
  ];
  for (const [entries, problem] of bad)
    test(Object.keys(entries).join(), () => {
      const result = read(change(entries));
      assert.ok(!result.ok);
      assert.match(result.problem, problem);
      assert.ok(!result.problem.includes(pem.slice(30, 50)));
    });

  test('a time that cannot be read is none', () => {
    assert.equal(expectKeys(change({ 'current-since': 'yesterday' })).currentSince, undefined);
    assert.equal(expectKeys(change({ 'current-since': undefined })).currentSince, undefined);
  });
});
