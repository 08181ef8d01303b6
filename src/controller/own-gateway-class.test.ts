// The GatewayClass `proxy`: made, mended, and left alone when it is somebody else's.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { controllerName } from '../api/gateway-class.ts';
import { parseResource } from '../api/parse-resource.ts';
import { emptyResources, type Resources } from '../api/resources.ts';
import { silentLog } from '../base/log.ts';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { ApiError, ApiUnreachableError, type KubernetesObject } from '../kubernetes/client.ts';
import type { EventRecord } from '../kubernetes/events.ts';
import { type ClassParametersReference, GatewayClassKeeper } from './own-gateway-class.ts';

const reference = { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'defaults', namespace: 'proxy-system' };
const description = 'Gateways that put OAuth 2.0 in front of MCP servers';

function createFixture(parameters?: ClassParametersReference) {
  const clock = createManualClock();
  const applied: { object: KubernetesObject; force: boolean }[] = [];
  const events: EventRecord[] = [];
  let failure: Error | undefined;
  const keeper = new GatewayClassKeeper({
    client: {
      apply: async (_type, object, options) => {
        if (failure !== undefined) throw failure;
        applied.push({ object, force: options?.force ?? false });
        return { ...object, metadata: { ...object.metadata, uid: object.metadata.uid ?? 'made' } };
      },
    },
    log: silentLog,
    events: { record: (event) => void events.push(event) },
    clock,
    random: () => 0,
    parameters,
  });
  return { clock, applied, events, keeper, setFailure: (error: Error | undefined) => (failure = error) };
}

function withClass(spec: object, uid = 'u1'): Resources {
  const raw = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'proxy', uid },
    spec: { controllerName, description, ...spec },
  };
  const parsed = parseResource(raw, { origin: 'kubernetes' });
  // What the schema does not take is in the list of invalid resources, and still ours or not.
  return parsed.ok && parsed.kind === 'GatewayClass'
    ? { ...emptyResources, gatewayClasses: [parsed.resource] }
    : { ...emptyResources, invalid: [{ kind: 'GatewayClass', namespace: '', name: 'proxy', raw, problems: [] }] };
}

describe('the GatewayClass', () => {
  test('is made by the leader when it is not there, without force, and again when it was deleted', async () => {
    const { keeper, applied, clock } = createFixture(reference);
    keeper.look(emptyResources);
    await clock.advance(0);
    assert.equal(applied.length, 0);
    keeper.start();
    await clock.advance(0);
    assert.equal(applied.length, 1);
    assert.equal(applied[0]!.force, false);
    assert.deepEqual(applied[0]!.object['spec'], { controllerName, description, parametersRef: reference });
    keeper.look(emptyResources);
    await clock.advance(0);
    assert.equal(applied.length, 1, 'what was read before it was made is old');
    keeper.look(withClass({ parametersRef: reference }, 'made'));
    await clock.advance(0);
    assert.equal(applied.length, 1);
    keeper.look(emptyResources);
    await clock.advance(0);
    assert.equal(applied.length, 2);
    await clock.advance(5_000);
    assert.equal(applied.length, 3, 'it was deleted before it was seen');
  });

  test('of ours is written once in a term, so that what an earlier version said is taken back, and not again', async () => {
    const { keeper, applied, clock } = createFixture();
    keeper.start();
    keeper.look(withClass({ parametersRef: reference }));
    await clock.advance(0);
    assert.deepEqual(
      applied.map(({ object, force }) => [object.metadata.uid, force, object['spec']]),
      [['u1', true, { controllerName, description }]],
    );
    keeper.look(withClass({ parametersRef: reference }));
    await clock.advance(0);
    assert.equal(applied.length, 1, 'what somebody else has set stays');
  });

  test('that somebody changed is mended', async () => {
    const { keeper, applied, clock } = createFixture(reference);
    keeper.start();
    keeper.look(withClass({ parametersRef: reference }));
    await clock.advance(0);
    keeper.look(withClass({ parametersRef: { ...reference, name: 'other' } }));
    await clock.advance(0);
    keeper.look(withClass({ parametersRef: reference, description: 'mine' }));
    await clock.advance(0);
    assert.equal(applied.length, 3);
  });

  test('of another controller is never written, and that is told once', async () => {
    const { keeper, applied, events, clock } = createFixture(reference);
    keeper.start();
    for (let times = 0; times < 3; times += 1) keeper.look(withClass({ controllerName: 'example.com/other' }));
    await clock.advance(60_000);
    assert.deepEqual(applied, []);
    assert.equal(events.length, 1);
    assert.deepEqual(
      [events[0]!.reason, events[0]!.subject.kind, events[0]!.subject.uid],
      ['NotOwned', 'GatewayClass', 'u1'],
    );
    assert.match(events[0]!.note, /belongs to example\.com\/other/);
    keeper.look(emptyResources);
    await clock.advance(0);
    assert.equal(applied.length, 1, 'when it is gone, ours is made');
  });

  test('that somebody else made in this moment is not taken over', async () => {
    const { keeper, applied, setFailure, clock } = createFixture();
    setFailure(new ApiError('conflict', { code: 409, reason: 'Conflict', message: '', retryAfterSeconds: undefined }));
    keeper.start();
    keeper.look(emptyResources);
    await clock.advance(0);
    keeper.look(withClass({ controllerName: 'example.com/other' }));
    setFailure(undefined);
    await clock.advance(60_000);
    assert.deepEqual(applied, []);
  });

  test('is tried again when the API server was away, and not by one that leads no more', async () => {
    const { keeper, applied, setFailure, clock } = createFixture();
    setFailure(new ApiUnreachableError('away'));
    keeper.start();
    keeper.look(emptyResources);
    await clock.advance(0);
    await clock.advance(2_000);
    setFailure(undefined);
    await clock.advance(2_000);
    assert.equal(applied.length, 1);
    await keeper.stop();
    keeper.look(emptyResources);
    await clock.advance(0);
    assert.equal(applied.length, 1);
  });
});
