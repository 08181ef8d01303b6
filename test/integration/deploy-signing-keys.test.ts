// Signing keys of Gateways: made once, rotated when somebody asks and every gateway has the new key, gone with the Gateway. What they have in common with seal keys,
// deploy-seal-keys.test.ts tests in full.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { keepSigningKeyMs } from '../../src/base/signing-key.ts';
import { nameSigningKeySecret } from '../../src/deploy/deployed-names.ts';
import type { KeyOwner } from '../../src/deploy/key-owner.ts';
import { type KeptSigningKeys, rotateAfterMs } from '../../src/deploy/plan-signing-keys.ts';
import { type SigningKeyKeeper, startSigningKeyKeeper } from '../../src/deploy/signing-key-keeper.ts';
import { isRotationRequested, readSigningKeyObject } from '../../src/deploy/signing-key-secret.ts';
import type { KubernetesObject } from '../../src/kubernetes/client.ts';
import { createManualClock, type ManualClock } from '../kit/manual-clock.ts';
import { waitFor } from '../kit/wait-for.ts';
import { quick } from './deploy-fixture.ts';
import { type FakeApiServer, startFakeApiServer } from './fake-api-server/fake-api-server.ts';

const installationNamespace = 'proxy-system';
const secretName = `${installationNamespace}/${nameSigningKeySecret('team', 'web')}`;

interface Stage {
  readonly cluster: FakeApiServer;
  readonly web: KeyOwner;
  readonly clock: ManualClock;
  readonly startKeeper: () => SigningKeyKeeper;
  readonly findSecret: () => KubernetesObject | undefined;
  readonly readKeys: () => KeptSigningKeys | undefined;
  readonly ask: () => void;
}

async function createStage(context: TestContext): Promise<Stage> {
  const cluster = await startFakeApiServer(context);
  const clock = createManualClock();
  const { metadata } = cluster.put({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'web', namespace: 'team' },
    spec: {},
  });
  const findSecret = (): KubernetesObject | undefined => cluster.find('Secret', secretName);
  return {
    cluster,
    clock,
    web: { namespace: 'team', name: 'web', uid: metadata.uid! },
    startKeeper() {
      const keeper = startSigningKeyKeeper({
        client: cluster.connect(),
        log: silentLog,
        installationNamespace,
        clock,
        watchTiming: quick,
      });
      context.after(() => keeper.stop());
      return keeper;
    },
    findSecret,
    readKeys() {
      const secret = findSecret();
      const read = secret && readSigningKeyObject(secret);
      if (read === undefined) return undefined;
      assert.ok(read.ok);
      return read.keys;
    },
    ask: () =>
      void cluster.change(
        'Secret',
        secretName,
        ({ metadata: { annotations } }) => void (annotations!['gateway.proxy/rotate-signing-key'] = 'now'),
      ),
  };
}

/** Every gateway has these keys. */
function acknowledge(keeper: SigningKeyKeeper, { current, next, previous }: KeptSigningKeys): void {
  const kids = [current, next, previous].flatMap((key) => key?.kid ?? []);
  keeper.setAcknowledged(new Map([['team/web', { kids, active: current.kid }]]));
}

test('are made once; who asks gets a new one, which signs when every gateway has it, and the old one goes in time', async (context) => {
  const { web, clock, startKeeper, findSecret, readKeys, ask } = await createStage(context);
  const keeper = startKeeper();
  keeper.reconcile([web]);
  await waitFor('the first key', () => readKeys() !== undefined);
  const first = readKeys()!;
  assert.deepEqual([first.next, first.previous], [undefined, undefined]);
  acknowledge(keeper, first);

  ask();
  await waitFor('the next key', () => readKeys()?.next !== undefined);
  const prepared = readKeys()!;
  assert.equal(prepared.current.kid, first.current.kid);
  assert.equal(isRotationRequested(findSecret()!), false, 'the wish is granted once');
  // An answer to the configuration before, or of some gateways only: nothing happens.
  acknowledge(keeper, { ...first, currentSince: 0 });
  keeper.setAcknowledged(new Map());
  await clock.advance(3_600_000);
  assert.deepEqual(readKeys(), prepared);

  acknowledge(keeper, prepared);
  await waitFor('it signs', () => readKeys()?.current.kid === prepared.next!.kid);
  const switched = readKeys()!;
  assert.deepEqual([switched.previous?.kid, switched.previousUntil], [first.current.kid, undefined]);
  acknowledge(keeper, switched);
  await waitFor('the end of the old one is known', () => readKeys()?.previousUntil !== undefined);
  const until = readKeys()!.previousUntil!;
  assert.equal(until, clock.now() + keepSigningKeyMs);
  await waitFor('it is gone', async () => {
    await clock.advance(3_600_000);
    return readKeys()?.previous === undefined;
  });
  assert.ok(clock.now() >= until);
  assert.equal(readKeys()?.current.kid, switched.current.kid);
});

test('a leader that follows goes on with the rotation where it stands', async (context) => {
  const { web, startKeeper, readKeys, ask } = await createStage(context);
  const first = startKeeper();
  first.reconcile([web]);
  await waitFor('the first key', () => readKeys() !== undefined);
  ask();
  await waitFor('the next key', () => readKeys()?.next !== undefined);
  const prepared = readKeys()!;
  await first.stop();
  const second = startKeeper();
  second.reconcile([web]);
  acknowledge(second, prepared);
  await waitFor('it signs', () => readKeys()?.current.kid === prepared.next!.kid);
});

test('a key that is 90 days old is replaced unasked', async (context) => {
  const { web, clock, startKeeper, readKeys } = await createStage(context);
  const keeper = startKeeper();
  keeper.reconcile([web]);
  await waitFor('the first key', () => readKeys() !== undefined);
  const made = clock.now();
  clock.leap(rotateAfterMs - 2 * 3_600_000);
  await clock.advance(3_600_000);
  assert.equal(readKeys()?.next, undefined);
  await waitFor('the next key', async () => {
    await clock.advance(3_600_000);
    return readKeys()?.next !== undefined;
  });
  assert.ok(clock.now() >= made + rotateAfterMs);
});

test('a Secret that cannot be read is left to people, one that they delete is made anew, and it goes with its Gateway', async (context) => {
  const { cluster, web, startKeeper, findSecret, readKeys, ask } = await createStage(context);
  const keeper = startKeeper();
  keeper.reconcile([web]);
  await waitFor('the first key', () => readKeys() !== undefined);
  const { kid } = readKeys()!.current;
  cluster.change('Secret', secretName, (secret) => void (secret['data'] = { current: 'AAAA' }));
  ask();
  const broken = findSecret();
  await waitFor('it was seen', () => cluster.requests.some(({ verb, kind }) => verb === 'watch' && kind === 'Secret'));
  assert.equal(findSecret(), broken);
  cluster.delete('Secret', secretName);
  await waitFor('a new key', () => findSecret() !== undefined && readKeys()?.current.kid !== kid);
  cluster.delete('Gateway', 'team/web');
  keeper.reconcile([]);
  await waitFor('the keys are gone', () => findSecret() === undefined);
});

test('failures are tried again, and what somebody else changed in between is not overwritten', async (context) => {
  const { cluster, web, clock, startKeeper, readKeys, ask } = await createStage(context);
  const keeper = startKeeper();
  keeper.reconcile([web]);
  await waitFor('the first key', () => readKeys() !== undefined);
  cluster.inject({ verb: 'update', kind: 'Secret', fault: { type: 'drop' } });
  ask();
  await waitFor('the next key', async () => {
    await clock.advance(1_000);
    return readKeys()?.next !== undefined;
  });
});
