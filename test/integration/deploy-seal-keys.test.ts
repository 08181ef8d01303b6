// Seal keys: made once, kept while the Gateway exists, gone when it is gone for sure.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { parseResource } from '../../src/api/parse-resource.ts';
import { silentLog } from '../../src/base/log.ts';
import { nameSealKeySecret } from '../../src/deploy/deployed-names.ts';
import type { KeyKeeper } from '../../src/deploy/key-keeper.ts';
import type { KeyOwner } from '../../src/deploy/key-owner.ts';
import { startSealKeyKeeper } from '../../src/deploy/seal-key-keeper.ts';
import { readSealKeys } from '../../src/deploy/seal-key-secret.ts';
import type { KubernetesObject } from '../../src/kubernetes/client.ts';
import { quick } from './deploy-fixture.ts';
import { type FakeApiServer, startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

const installationNamespace = 'proxy-system';

function startKeeper(context: TestContext, cluster: FakeApiServer): KeyKeeper {
  const keeper = startSealKeyKeeper({
    client: cluster.connect(),
    log: silentLog,
    installationNamespace,
    watchTiming: quick,
  });
  context.after(() => keeper.stop());
  return keeper;
}

function makeGateway(cluster: FakeApiServer, name: string): KeyOwner {
  const { metadata } = cluster.put({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name, namespace: 'team' },
    spec: {},
  });
  return { namespace: 'team', name, uid: metadata.uid! };
}

function findSecret(cluster: FakeApiServer, { namespace, name }: KeyOwner): KubernetesObject | undefined {
  return cluster.find('Secret', `${installationNamespace}/${nameSealKeySecret(namespace, name)}`);
}

test('keys are made once, and stay the same through restarts', async (context) => {
  const cluster = await startFakeApiServer(context);
  const [web, other] = [makeGateway(cluster, 'web'), makeGateway(cluster, 'other')];
  const first = startKeeper(context, cluster);
  first.reconcile([web]);
  await waitFor('keys', () => findSecret(cluster, web) !== undefined);
  const secret = findSecret(cluster, web)!;
  assert.equal(secret.metadata.labels?.['gateway.proxy/seal-keys'], 'true');
  const parsed = parseResource(secret, { origin: 'kubernetes' });
  assert.ok(parsed.ok && parsed.kind === 'Secret');
  const keys = readSealKeys(parsed.resource);
  assert.ok(keys.ok);
  assert.deepEqual(
    keys.keys.map((key) => key.length),
    [32],
  );
  first.reconcile([web]);
  await first.stop();
  const second = startKeeper(context, cluster);
  second.reconcile([web, other]);
  await waitFor('keys of the other', () => findSecret(cluster, other) !== undefined);
  assert.deepEqual(findSecret(cluster, web), secret);
  assert.notDeepEqual(findSecret(cluster, other)?.['data'], secret['data']);
});

test('two leaders at once end up with the same keys', async (context) => {
  const cluster = await startFakeApiServer(context);
  const web = makeGateway(cluster, 'web');
  const keepers = [startKeeper(context, cluster), startKeeper(context, cluster)];
  for (const keeper of keepers) keeper.reconcile([web]);
  await waitFor('both have tried', () => findSecret(cluster, web) !== undefined);
  const { uid } = findSecret(cluster, web)!.metadata;
  const other = makeGateway(cluster, 'other');
  for (const keeper of keepers) keeper.reconcile([web, other]);
  await waitFor('keys of the other', () => findSecret(cluster, other) !== undefined);
  assert.equal(findSecret(cluster, web)?.metadata.uid, uid);
  assert.equal(cluster.list('Secret').length, 2);
});

test('keys go when the Gateway is gone, and not when it is merely not seen', async (context) => {
  const cluster = await startFakeApiServer(context);
  const [web, hidden] = [makeGateway(cluster, 'web'), makeGateway(cluster, 'hidden')];
  const keeper = startKeeper(context, cluster);
  keeper.reconcile([web, hidden]);
  await waitFor('keys', () => findSecret(cluster, web) !== undefined && findSecret(cluster, hidden) !== undefined);
  cluster.delete('Gateway', 'team/web');
  keeper.reconcile([]);
  await waitFor('the keys are gone', () => findSecret(cluster, web) === undefined);
  await waitFor('the hidden one was asked for', () =>
    cluster.requests.some(({ verb, kind, name }) => verb === 'get' && kind === 'Gateway' && name === 'hidden'),
  );
  assert.ok(findSecret(cluster, hidden) !== undefined);
});

test('keys go when only the name of the Gateway is still there', async (context) => {
  const cluster = await startFakeApiServer(context);
  const web = makeGateway(cluster, 'web');
  const keeper = startKeeper(context, cluster);
  keeper.reconcile([web]);
  await waitFor('keys', () => findSecret(cluster, web) !== undefined);
  cluster.delete('Gateway', 'team/web');
  makeGateway(cluster, 'web');
  keeper.reconcile([]);
  await waitFor('the keys are gone', () => findSecret(cluster, web) === undefined);
});

test('nothing is removed before it is known which Gateways there are', async (context) => {
  const cluster = await startFakeApiServer(context);
  const web = makeGateway(cluster, 'web');
  const first = startKeeper(context, cluster);
  first.reconcile([web]);
  await waitFor('keys', () => findSecret(cluster, web) !== undefined);
  await first.stop();
  cluster.delete('Gateway', 'team/web');
  const second = startKeeper(context, cluster);
  await waitFor(
    'it watches',
    () => cluster.requests.filter(({ verb, kind }) => verb === 'watch' && kind === 'Secret').length >= 2,
  );
  cluster.change(
    'Secret',
    `${installationNamespace}/${nameSealKeySecret('team', 'web')}`,
    ({ metadata }) => void (metadata.annotations!['note'] = 'a'),
  );
  assert.ok(findSecret(cluster, web) !== undefined);
  second.reconcile([]);
  await waitFor('now it is', () => findSecret(cluster, web) === undefined);
});

test('a Gateway of the same name that was made anew gets keys of its own', async (context) => {
  const cluster = await startFakeApiServer(context);
  const web = makeGateway(cluster, 'web');
  const keeper = startKeeper(context, cluster);
  keeper.reconcile([web]);
  await waitFor('keys', () => findSecret(cluster, web) !== undefined);
  const before = findSecret(cluster, web)!;
  cluster.delete('Gateway', 'team/web');
  const again = makeGateway(cluster, 'web');
  keeper.reconcile([again]);
  await waitFor('other keys', () => {
    const secret = findSecret(cluster, again);
    return secret !== undefined && secret.metadata.uid !== before.metadata.uid;
  });
  assert.notDeepEqual(findSecret(cluster, again)?.['data'], before['data']);
});

test('keys that were rotated are left alone, and those that somebody deletes are made anew', async (context) => {
  const cluster = await startFakeApiServer(context);
  const web = makeGateway(cluster, 'web');
  const keeper = startKeeper(context, cluster);
  keeper.reconcile([web]);
  await waitFor('keys', () => findSecret(cluster, web) !== undefined);
  const name = `${installationNamespace}/${nameSealKeySecret('team', 'web')}`;
  cluster.change('Secret', name, (secret) => {
    secret['data'] = { current: Buffer.alloc(32, 1).toString('base64'), previous: secret['data'].current };
  });
  const rotated = findSecret(cluster, web);
  const other = makeGateway(cluster, 'other');
  keeper.reconcile([web, other]);
  await waitFor('keys of the other', () => findSecret(cluster, other) !== undefined);
  assert.equal(findSecret(cluster, web), rotated);
  cluster.delete('Secret', name);
  await waitFor('new keys', () => findSecret(cluster, web) !== undefined);
});

test('failures are tried again', async (context) => {
  const cluster = await startFakeApiServer(context);
  cluster.inject({ verb: 'create', kind: 'Secret', fault: { type: 'drop' } });
  const web = makeGateway(cluster, 'web');
  startKeeper(context, cluster).reconcile([web]);
  await waitFor('keys', () => findSecret(cluster, web) !== undefined);
});
