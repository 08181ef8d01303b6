// The Secret with seal keys: what is in it, whose it is, and what a bad edit of it says.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseResource } from '../api/parse-resource.ts';
import type { Secret } from '../api/secret.ts';
import type { KubernetesObject } from '../kubernetes/client.ts';
import { readSealKeyOwner, readSealKeys, renderSealKeySecret } from './seal-key-secret.ts';

const owner = { namespace: 'team', name: 'web', uid: 'u' };

function parse(raw: object): Secret {
  const parsed = parseResource(raw, { origin: 'kubernetes' });
  assert.ok(parsed.ok && parsed.kind === 'Secret', JSON.stringify(parsed));
  return parsed.resource;
}

test('a rendered Secret holds one key, and says whose it is', () => {
  const secret = renderSealKeySecret(owner, 'proxy-system');
  assert.equal(secret.metadata.namespace, 'proxy-system');
  assert.deepEqual(readSealKeyOwner(secret), owner);
  const keys = readSealKeys(parse(secret));
  assert.ok(keys.ok);
  assert.deepEqual(
    keys.keys.map((key) => key.length),
    [32],
  );
  assert.notDeepEqual(renderSealKeySecret(owner, 'proxy-system')['data'], secret['data']);
});

test("a Secret under another name, or without the annotations, is nobody's", () => {
  const secret = renderSealKeySecret(owner, 'proxy-system');
  const change = (metadata: object): KubernetesObject => ({ ...secret, metadata: { ...secret.metadata, ...metadata } });
  assert.equal(readSealKeyOwner(change({ name: 'other' })), undefined);
  assert.equal(readSealKeyOwner(change({ annotations: {} })), undefined);
  assert.equal(readSealKeyOwner(change({ annotations: { 'gateway.proxy/gateway': 'team/web' } })), undefined);
  assert.equal(
    readSealKeyOwner(change({ annotations: { 'gateway.proxy/gateway': 'a/b/c', 'gateway.proxy/gateway-uid': 'u' } })),
    undefined,
  );
});

describe('keys', () => {
  const read = (data: Record<string, Uint8Array>): unknown =>
    readSealKeys(
      parse({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 's', namespace: 'proxy-system' },
        data: Object.fromEntries(
          Object.entries(data).map(([entry, key]) => [entry, Buffer.from(key).toString('base64')]),
        ),
      }),
    );
  const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  test('the current one comes first', () => {
    assert.deepEqual(read({ previous: one, current: two }), { ok: true, keys: [two, one] });
    assert.deepEqual(read({ current: two }), { ok: true, keys: [two] });
  });
  test('bad ones are told, and never shown', () => {
    assert.deepEqual(read({}), { ok: false, problem: 'Secret proxy-system/s has no key under current' });
    assert.deepEqual(read({ current: Buffer.from('short') }), {
      ok: false,
      problem: 'Secret proxy-system/s has 5 bytes under current; a seal key has 32',
    });
    assert.deepEqual(read({ current: one, previous: Buffer.alloc(0) }), {
      ok: false,
      problem: 'Secret proxy-system/s has 0 bytes under previous; a seal key has 32',
    });
  });
});
