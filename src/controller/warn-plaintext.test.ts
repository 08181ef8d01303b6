import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Watchable } from '../base/watchable.ts';
import type { KubernetesClient, ObjectName } from '../kubernetes/client.ts';
import type { EventRecord } from '../kubernetes/events.ts';
import type { Leadership } from '../kubernetes/leader-election.ts';
import { warnOfPlaintext } from './warn-plaintext.ts';

const follower: Leadership = { role: 'follower', leader: undefined };

function start(first: Leadership, get: KubernetesClient['get']) {
  const leadership = new Watchable<Leadership>(first);
  const told: EventRecord[] = [];
  warnOfPlaintext({
    client: { get },
    events: { record: (record) => void told.push(record) },
    leadership,
    installationNamespace: 'proxy-system',
    serviceName: 'proxy',
  });
  return { leadership, told };
}

const found: KubernetesClient['get'] = async (_type, { namespace, name }: ObjectName) => ({
  metadata: { name, ...(namespace !== undefined && { namespace }), uid: 'u1' },
});

describe('xDS without TLS', () => {
  test('is told by the leader, beside the Service', async () => {
    const { told } = start({ role: 'leader' }, found);
    await setImmediate();
    assert.equal(told.length, 1);
    const [{ subject, type, reason, note } = assert.fail()] = told;
    assert.deepEqual(subject, {
      apiVersion: 'v1',
      kind: 'Service',
      namespace: 'proxy-system',
      name: 'proxy',
      uid: 'u1',
    });
    assert.deepEqual([type, reason], ['Warning', 'PlaintextXds']);
    assert.match(note, /controller\.xds\.tls\.enabled/);
  });

  test('is told once, however often the replica leads', async () => {
    const { leadership, told } = start(follower, found);
    await setImmediate();
    assert.equal(told.length, 0, 'who follows is silent');
    for (const next of [{ role: 'leader' }, follower, { role: 'leader' }] as const) {
      leadership.set(next);
      await setImmediate();
    }
    assert.equal(told.length, 1);
  });

  test('is told also when the Service cannot be read', async () => {
    const { told } = start({ role: 'leader' }, () => Promise.reject(new Error('forbidden')));
    await setImmediate();
    assert.deepEqual([told.length, told[0]?.subject.uid], [1, undefined]);
  });
});
