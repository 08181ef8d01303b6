// secretsInNamespaces: Secrets are asked for in the named namespaces and in the installation namespace only, and a namespace that may not be read holds nobody else up.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { KubernetesSource, KubernetesSourceOptions } from '../../src/sources/kubernetes/kubernetes-source.ts';
import { type FakeApiServer, startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import { installationNamespace, make, startSource } from './kubernetes-source-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const forbidden = { type: 'status', code: 403, message: 'no rights' } as const;

/** Namespaces `a`, `b` and `c` with a Secret and a route each, of which `a` and `b` are named. */
async function start(
  context: TestContext,
  options: Partial<KubernetesSourceOptions> = {},
): Promise<{ cluster: FakeApiServer; source: KubernetesSource }> {
  const cluster = await startFakeApiServer(context);
  for (const name of ['a', 'b', 'c', installationNamespace]) {
    cluster.put(make.namespace(name, { team: name }));
    cluster.put(make.secret('s', name));
    cluster.put(make.route('r', name));
  }
  const source = startSource(context, cluster, { secretsInNamespaces: ['a', 'b'], ...options });
  return { cluster, source };
}

const listSecrets = (source: KubernetesSource): readonly string[] =>
  source.resources.get().secrets.map(({ metadata }) => metadata.namespace);
const listUnreadable = (source: KubernetesSource): readonly string[] =>
  source.resources.get().unreadableSecretNamespaces;
const listRoutes = (source: KubernetesSource): readonly string[] =>
  source.resources.get().httpRoutes.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
const listPlaces = (cluster: FakeApiServer): readonly string[] =>
  [
    ...new Set(cluster.requests.filter(({ kind }) => kind === 'Secret').map(({ namespace }) => String(namespace))),
  ].toSorted();

test('Secrets are asked for in these namespaces only, and everything else everywhere', async (context) => {
  const { cluster, source } = await start(context);
  await waitFor(() => source.sync.get().synced);
  assert.deepEqual(listSecrets(source), ['a', 'b', installationNamespace]);
  assert.deepEqual(listUnreadable(source), ['c']);
  assert.deepEqual(listRoutes(source), ['a/r', 'b/r', 'c/r', `${installationNamespace}/r`]);
  assert.deepEqual(listPlaces(cluster), ['a', 'b', installationNamespace]);
  cluster.put(make.secret('later', 'b'));
  await waitFor(() => source.resources.get().secrets.length === 4);
  cluster.put(make.namespace('d'));
  await waitFor(() => listUnreadable(source).includes('d'));
  const before = source.resources.get();
  cluster.put(make.secret('elsewhere', 'c'));
  cluster.put(make.route('last'));
  await waitFor(() => source.resources.get() !== before);
  assert.equal(source.resources.get().secrets, before.secrets);
  assert.equal(source.resources.get().unreadableSecretNamespaces, before.unreadableSecretNamespaces);
});

test('without named namespaces, all are asked for at once, and none is unreadable', async (context) => {
  const { cluster, source } = await start(context, { secretsInNamespaces: [] });
  await waitFor(() => source.sync.get().synced);
  assert.deepEqual([listSecrets(source).length, listUnreadable(source)], [4, []]);
  assert.deepEqual(listPlaces(cluster), ['undefined']);
});

test('a namespace that may not be read is told as such, holds nobody up, and is read once it may be', async (context) => {
  const cluster = await startFakeApiServer(context);
  for (const name of ['a', 'b']) {
    cluster.put(make.namespace(name));
    cluster.put(make.secret('s', name));
  }
  const allow = cluster.inject({ kind: 'Secret', namespace: 'b', times: Infinity, fault: forbidden });
  const source = startSource(context, cluster, { secretsInNamespaces: ['a', 'b'] });
  await waitFor(() => source.sync.get().synced);
  assert.deepEqual([listSecrets(source), listUnreadable(source)], [['a'], ['b']]);
  cluster.put(make.route('new', 'a'));
  await waitFor(() => listRoutes(source).includes('a/new'));
  assert.equal(source.sync.get().isHeld, false);
  allow();
  await waitFor(() => listSecrets(source).includes('b'));
  assert.deepEqual(listUnreadable(source), []);
});

test('a right that is taken away later leaves the Secrets as last seen, and holds nobody up', async (context) => {
  const { cluster, source } = await start(context);
  await waitFor(() => source.sync.get().synced);
  const allow = cluster.inject({ kind: 'Secret', namespace: 'b', times: Infinity, fault: forbidden });
  cluster.watches.end('Secret');
  cluster.put(make.secret('unseen', 'b'));
  cluster.put(make.route('new', 'a'));
  await waitFor(() => listRoutes(source).includes('a/new'));
  assert.deepEqual(listSecrets(source), ['a', 'b', installationNamespace]);
  allow();
  await waitFor(() => listSecrets(source).length === 4);
});

test('the right to read our own Secrets is needed', async (context) => {
  const { cluster, source } = await start(context);
  await waitFor(() => source.sync.get().synced);
  cluster.inject({ kind: 'Secret', namespace: installationNamespace, times: Infinity, fault: forbidden });
  cluster.watches.end('Secret');
  await waitFor(() => source.sync.get().isHeld);
  assert.match(source.sync.get().reasons.join(), /secrets/);
});

test('a namespace that is being deleted is left, and one of its name that comes later is read', async (context) => {
  const { cluster, source } = await start(context);
  await waitFor(() => source.sync.get().synced);
  const { metadata, ...rest } = make.namespace('b');
  const dying = { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  cluster.put({ ...rest, metadata: { ...dying, finalizers: ['example.com/slow'] } });
  // Its roles go first.
  const allow = cluster.inject({ kind: 'Secret', namespace: 'b', times: Infinity, fault: forbidden });
  await waitFor(() => !listSecrets(source).includes('b'));
  cluster.delete('Secret', 'b/s');
  cluster.put({ ...rest, metadata: dying });
  cluster.put(make.route('new', 'a'));
  await waitFor(() => listRoutes(source).includes('a/new'));
  allow();
  cluster.put(make.namespace('b'));
  cluster.put(make.secret('again', 'b'));
  await waitFor(() => listSecrets(source).includes('b'));
});

test('selectors count as well: Secrets of a named namespace are shown only while it is selected', async (context) => {
  const namespaceSelectors = [{ matchExpressions: [{ key: 'team', operator: 'In' as const, values: ['a', 'c'] }] }];
  const { cluster, source } = await start(context, { namespaceSelectors });
  await waitFor(() => source.sync.get().synced);
  assert.deepEqual(listSecrets(source), ['a', installationNamespace]);
  cluster.put(make.namespace('b', { team: 'c' }));
  await waitFor(() => listSecrets(source).includes('b'));
  cluster.put(make.namespace('a', { team: 'x' }));
  await waitFor(() => !listSecrets(source).includes('a'));
  assert.deepEqual(listSecrets(source), ['b', installationNamespace]);
});

test('stop leaves nothing open', async (context) => {
  const { cluster, source } = await start(context);
  await waitFor(() => source.sync.get().synced);
  await source.stop();
  await waitFor(() => cluster.watches.count() === 0);
});
