// Events: one for each thing to tell, counted when it is told again, and never in the way.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLog } from '../base/log.ts';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { ApiError, type KubernetesObject } from './client.ts';
import { createEventRecorder, type EventRecord } from './events.ts';

function createFixture(options: { hang?: boolean } = {}) {
  const clock = createManualClock();
  const created: KubernetesObject[] = [];
  const patched: { name: string; patch: { series: { count: number; lastObservedTime: string } } }[] = [];
  let failure: Error | undefined;
  const lines: string[] = [];
  const recorder = createEventRecorder({
    client: {
      create: async (_type, object, signal) => {
        if (options.hang === true)
          return new Promise((_resolve, reject) =>
            signal!.addEventListener('abort', () => reject(new Error('aborted'))),
          );
        if (failure !== undefined) throw failure;
        created.push(object);
        return object;
      },
      mergePatch: async (_type, { name }, patch) => {
        patched.push({ name, patch: patch as { series: { count: number; lastObservedTime: string } } });
        return { metadata: { name } };
      },
    },
    log: { ...silentLog, warn: (_fields, message) => void lines.push(message) },
    clock,
    controller: 'gateway.proxy/controller',
    instance: 'proxy-0',
  });
  return { clock, created, patched, lines, recorder, setFailure: (error: Error | undefined) => (failure = error) };
}

const rejected: EventRecord = {
  subject: { apiVersion: 'gateway.proxy/v1alpha1', kind: 'ProxyPolicy', namespace: 'team', name: 'login', uid: 'u1' },
  type: 'Warning',
  reason: 'Rejected',
  action: 'Program',
  note: 'the gateway says no',
};

describe('events', () => {
  test('an Event has what the API server asks for', async () => {
    const { recorder, created, clock } = createFixture();
    recorder.record(rejected);
    await clock.advance(0);
    const [event] = created;
    assert.match(event!.metadata.name, /^login\.[0-9a-f]{16}$/);
    assert.equal(event!.metadata.namespace, 'team');
    assert.equal(event!['eventTime'], '2026-01-01T00:00:00.000000Z');
    assert.deepEqual(event!['regarding'], rejected.subject);
    assert.deepEqual(
      ['type', 'reason', 'action', 'note', 'reportingController', 'reportingInstance'].map((field) => event![field]),
      ['Warning', 'Rejected', 'Program', 'the gateway says no', 'gateway.proxy/controller', 'proxy-0'],
    );
  });

  test('the same again is counted, and the count written once a minute and at the end', async () => {
    const { recorder, created, patched, clock } = createFixture();
    for (let second = 0; second < 150; second += 1) {
      recorder.record(rejected);
      await clock.advance(1_000);
    }
    assert.equal(created.length, 1);
    assert.deepEqual(
      patched.map(({ patch }) => patch.series.count),
      [61, 121],
    );
    await recorder.stop();
    assert.equal(patched.at(-1)!.patch.series.count, 150);
    assert.equal(patched.at(-1)!.name, created[0]!.metadata.name);
  });

  test('after a silence it is a new Event with another name', async () => {
    const { recorder, created, clock } = createFixture();
    recorder.record(rejected);
    await clock.advance(6 * 60_000);
    recorder.record(rejected);
    await clock.advance(0);
    assert.equal(created.length, 2);
    assert.notEqual(created[0]!.metadata.name, created[1]!.metadata.name);
  });

  test('an object has a budget, others have theirs', async () => {
    const { recorder, created, clock } = createFixture();
    for (let index = 0; index < 40; index += 1) {
      recorder.record({ ...rejected, note: `reason ${index}` });
      await clock.advance(0);
    }
    assert.equal(created.length, 25);
    recorder.record({ ...rejected, subject: { ...rejected.subject, name: 'other' } });
    await clock.advance(5 * 60_000);
    assert.equal(created.length, 26);
    recorder.record({ ...rejected, note: 'one more after five minutes' });
    recorder.record({ ...rejected, note: 'and not another' });
    await clock.advance(0);
    assert.equal(created.length, 27);
  });

  test('kinds without a namespace have theirs in default', async () => {
    const { recorder, created, clock } = createFixture();
    recorder.record({ ...rejected, subject: { apiVersion: 'v1', kind: 'GatewayClass', name: 'proxy' } });
    await clock.advance(0);
    assert.equal(created[0]!.metadata.namespace, 'default');
  });

  test('long notes are cut to the bytes that the API server takes, names to a valid name', async () => {
    const { recorder, created, clock } = createFixture();
    for (const note of ['x'.repeat(3_000), '\u{1F600}'.repeat(600), `${'x'.repeat(1_020)}\u{1F600}\u{1F600}`])
      recorder.record({ ...rejected, subject: { ...rejected.subject, name: `a${'.b'.repeat(126)}` }, note });
    await clock.advance(0);
    assert.equal(created.length, 3);
    for (const { metadata, note } of created) {
      assert.ok(Buffer.byteLength(note as string) <= 1_024);
      assert.ok((note as string).isWellFormed() && (note as string).endsWith('...'));
      assert.match(metadata.name, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
      assert.ok(metadata.name.length <= 253);
    }
  });

  test('an API server that does not answer holds nobody up, and stopping ends it', async () => {
    const { recorder, clock, lines } = createFixture({ hang: true });
    for (let index = 0; index < 10_000; index += 1)
      recorder.record({ ...rejected, subject: { ...rejected.subject, name: `p${index}` } });
    const stopped = recorder.stop();
    await clock.advance(1_000);
    await stopped;
    assert.deepEqual(lines, []);
  });

  test('a failure is said once', async () => {
    const { recorder, clock, lines, setFailure } = createFixture();
    setFailure(new Error('events.events.k8s.io is forbidden'));
    for (let index = 0; index < 5; index += 1) {
      recorder.record({ ...rejected, note: `reason ${index}` });
      await clock.advance(0);
    }
    assert.deepEqual(lines, ['an event could not be written']);
  });

  test('an Event in a namespace that is being deleted is dropped without a warning', async () => {
    const { recorder, clock, lines, setFailure } = createFixture();
    const status = { code: 403, reason: 'Forbidden', message: 'no', retryAfterSeconds: undefined };
    setFailure(new ApiError('is being terminated', { ...status, isNamespaceTerminating: true }));
    recorder.record(rejected);
    await clock.advance(0);
    assert.deepEqual(lines, []);
    setFailure(new ApiError('may not', status));
    recorder.record({ ...rejected, note: 'another reason' });
    await clock.advance(0);
    assert.deepEqual(lines, ['an event could not be written']);
  });
});
