// The Kubernetes source and a real API server: what it shows of a cluster, and that it goes on through namespaces, kinds and history that come and go.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import type { Resources } from '../../src/api/resources.ts';
import { silentLog } from '../../src/base/log.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { connectKubernetes } from '../../src/kubernetes/connect.ts';
import {
  type KubernetesSource,
  type KubernetesSourceOptions,
  startKubernetesSource,
} from '../../src/sources/kubernetes/kubernetes-source.ts';
import type { Cluster } from './cluster.ts';
import {
  createGateway,
  createGrant,
  createNamespace,
  createPolicy,
  createRoute,
  toService,
} from './cluster-resources.ts';
import { claimNamespace } from './file-namespace.ts';
import { clearInstallation, installationNamespace } from './installed-controller.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const home = claimNamespace('kubernetes-source');
let cluster: Cluster;
let client: KubernetesClient;

before(async () => {
  cluster = await joinCluster({ furtherNamespaces: ['one', 'two'] });
  // Nobody else may look after what is written here.
  await clearInstallation(cluster);
  client = await connectKubernetes({
    log: silentLog,
    env: {},
    kubeconfig: cluster.access.kubeconfigFile,
    name: 'mcp-gateway-controller',
  });
});
after(async () => {
  await client?.close();
  await leaveCluster();
});

/** Starts a source as the controller does. It stops with the test. */
function startSource(t: TestContext, options: Partial<KubernetesSourceOptions> = {}): KubernetesSource {
  const source = startKubernetesSource({
    client,
    log: silentLog,
    namespaceSelectors: [],
    installationNamespace,
    ...options,
  });
  t.after(() => source.stop());
  return source;
}

/** Waits until what a source shows is as wanted, and it has nothing to complain about. */
async function waitUntil(
  source: KubernetesSource,
  what: string,
  isAsWanted: (resources: Resources) => boolean,
): Promise<Resources> {
  await cluster.waitFor(
    () => {
      const { synced, reasons } = source.sync.get();
      return synced && reasons.length === 0 && isAsWanted(source.resources.get());
    },
    { what, timeoutMs: 30_000, intervalMs: 5, describe: () => JSON.stringify(source.sync.get()) },
  );
  return source.resources.get();
}

type Named = { readonly metadata: { readonly namespace: string; readonly name: string } };
const listNames = (list: readonly Named[]): readonly string[] =>
  list.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
const isShown =
  (kind: 'gateways' | 'httpRoutes' | 'proxyPolicies' | 'referenceGrants', ...names: readonly string[]) =>
  (resources: Resources): boolean =>
    JSON.stringify(listNames(resources[kind])) === JSON.stringify(names);

const createRules = (name: string, expression: string, namespace = home): object =>
  createPolicy(
    name,
    { kind: 'HTTPRoute', name },
    { traffic: { authorization: { action: 'Allow', policy: { matchExpressions: [expression] } } } },
    namespace,
  );

test('what is there, a change, and a deletion', async (t) => {
  await cluster.apply([
    createGateway('web'),
    createRoute('a', { to: toService('echo') }),
    createRoute('b', { to: toService('echo') }),
    createRules('a', 'request.method == "GET"'),
  ]);
  const source = startSource(t);
  const first = await waitUntil(
    source,
    'everything is shown at first',
    isShown('httpRoutes', `${home}/a`, `${home}/b`),
  );
  assert.deepEqual(listNames(first.gateways), [`${home}/web`]);
  assert.deepEqual(listNames(first.proxyPolicies), [`${home}/a`]);
  assert.deepEqual(first.invalid, []);
  // What the API server itself makes is read as well.
  assert.ok(listNames(first.services).includes('default/kubernetes'));
  assert.ok(first.namespaces.some(({ metadata }) => metadata.name === 'kube-system'));
  assert.equal(source.sync.get().counts['HTTPRoute'], 2);

  await cluster.api.patch(locateResource({ kind: 'HTTPRoute', name: 'b' }), {
    spec: { hostnames: ['b.example.com'] },
  });
  const second = await waitUntil(source, 'the change is shown', ({ httpRoutes }) =>
    Boolean(httpRoutes[1]?.spec.hostnames?.includes('b.example.com')),
  );
  assert.equal(second.httpRoutes[1]?.metadata.generation, 2);
  assert.equal(second.httpRoutes[0], first.httpRoutes[0], 'the other route is the same object');
  assert.equal(second.gateways, first.gateways);

  await cluster.api.delete(locateResource({ kind: 'HTTPRoute', name: 'a' }));
  const third = await waitUntil(source, 'the deletion is shown', isShown('httpRoutes', `${home}/b`));
  assert.equal(third.proxyPolicies, first.proxyPolicies);
});

test('a status that is written changes no resources, and is told', async (t) => {
  const source = startSource(t);
  const shown = await waitUntil(source, 'the Gateway is shown', isShown('gateways', `${home}/web`));
  const told: string[] = [];
  source.onStatusChange((...object) => told.push(object.join(' ')));
  const path = `${locateResource({ kind: 'Gateway', name: 'web' })}/status`;
  await cluster.api.patch(path, { status: { addresses: [{ type: 'IPAddress', value: '192.0.2.1' }] } });
  await cluster.waitFor(() => told.includes(`Gateway ${home} web`), { what: 'the status is told', intervalMs: 5 });
  assert.match(JSON.stringify(source.findStatus('Gateway', home, 'web')?.status), /"192\.0\.2\.1"/);
  assert.equal(source.resources.get(), shown);
});

test('an object that is made anew under its name is told, although it is as it was: it has no status yet', async (t) => {
  const source = startSource(t);
  const object = createRules('again', 'request.method == "GET"');
  const path = locateResource({ kind: 'ProxyPolicy', name: 'again' });
  await cluster.apply(object);
  await cluster.api.patch(`${path}/status`, { status: { ancestors: [] } });
  await waitUntil(source, 'it is shown', ({ proxyPolicies }) => listNames(proxyPolicies).includes(`${home}/again`));
  const { uid } = (await cluster.api.get(path)).metadata;
  const told: (string | undefined)[] = [];
  source.onStatusChange((kind, namespace, name) => {
    if (name === 'again') told.push(source.findStatus(kind, namespace, name)?.uid);
  });
  await cluster.api.delete(path);
  await cluster.apply(object);
  await cluster.waitFor(() => told.some((other) => other !== undefined && other !== uid), {
    what: 'the new one is told',
    intervalMs: 5,
  });
  await cluster.delete(object);
});

test('what the API server takes and nobody can use is shown as invalid, until it is mended', async (t) => {
  const source = startSource(t);
  await cluster.apply(createRules('broken', 'request.method =='));
  const { invalid, proxyPolicies } = await waitUntil(
    source,
    'it is shown as invalid',
    (resources) => resources.invalid.length > 0,
  );
  assert.deepEqual(
    invalid.map(({ kind, namespace, name }) => ({ kind, namespace, name })),
    [{ kind: 'ProxyPolicy', namespace: home, name: 'broken' }],
  );
  assert.match(JSON.stringify(invalid[0]!.problems), /matchExpressions/);
  assert.ok(!listNames(proxyPolicies).includes(`${home}/broken`));

  await cluster.apply(createRules('broken', 'request.method == "GET"'));
  await waitUntil(
    source,
    'it is shown as valid',
    (resources) => resources.invalid.length === 0 && listNames(resources.proxyPolicies).includes(`${home}/broken`),
  );
});

test('namespaces come into the selectors and leave them', async (t) => {
  await cluster.apply([
    createNamespace('one', { team: 'blue' }),
    createNamespace('two', { team: 'red' }),
    createNamespace(installationNamespace),
  ]);
  await cluster.apply([
    createRoute('r', { namespace: 'one', to: toService('echo') }),
    createRoute('r', { namespace: 'two', to: toService('echo') }),
    createRules('r', 'request.method == "GET"', 'two'),
  ]);
  const source = startSource(t, { namespaceSelectors: [{ matchLabels: { team: 'blue' } }] });
  const first = await waitUntil(source, 'the selected namespace is shown', isShown('httpRoutes', 'one/r'));
  assert.deepEqual([...(source.namespaces.get() ?? [])], ['one']);
  assert.deepEqual(
    first.namespaces.map(({ metadata }) => metadata.name),
    ['one'],
  );
  const unprotected: unknown[] = [];
  source.resources.subscribe((resources) => {
    const hasRoute = listNames(resources.httpRoutes).includes('two/r');
    if (hasRoute && !listNames(resources.proxyPolicies).includes('two/r')) unprotected.push(resources);
  });
  const label = (name: string, team: string | null): Promise<unknown> =>
    cluster.api.patch(locateResource({ kind: 'Namespace', name }), { metadata: { labels: { team } } });

  await label('two', 'blue');
  const both = await waitUntil(source, 'the other one is shown too', isShown('httpRoutes', 'one/r', 'two/r'));
  assert.deepEqual(listNames(both.proxyPolicies), ['two/r']);
  assert.deepEqual(unprotected, [], 'never its route without the policy');

  await label('one', null);
  const left = await waitUntil(source, 'the first one is not shown any more', isShown('httpRoutes', 'two/r'));
  assert.deepEqual([...(source.namespaces.get() ?? [])], ['two']);
  // What happens in it is no business of ours, and what happens in the other is.
  await cluster.apply([
    createRoute('later', { namespace: 'one', to: toService('echo') }),
    createRoute('later', { namespace: 'two', to: toService('echo') }),
  ]);
  const last = await waitUntil(source, 'the new route is shown', isShown('httpRoutes', 'two/later', 'two/r'));
  assert.equal(last.proxyPolicies, left.proxyPolicies);
});

test('a kind that is not installed yet is nothing to wait for, and is read when it comes', async (t) => {
  await cluster.kubectl(['delete', 'crd', 'referencegrants.gateway.networking.k8s.io']);
  const source = startSource(t);
  await waitUntil(source, 'the rest is shown', isShown('referenceGrants'));
  const [file] = globSync(join(cluster.gatewayApiFolder, 'crds', '*referencegrants*'));
  await cluster.apply(await readFile(file!, 'utf8'));
  const from = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'one' };
  await cluster.waitFor(() => cluster.apply(createGrant('services', 'two', from, 'Service')).then(() => true), {
    what: 'the API server serves the kind',
  });
  await waitUntil(source, 'the grant is shown', isShown('referenceGrants', 'two/services'));
  await cluster.api.delete(locateResource({ kind: 'ReferenceGrant', name: 'services', namespace: 'two' }));
  await waitUntil(source, 'its deletion is shown', isShown('referenceGrants'));
});

test('what happened while nobody watched is found by a list, when the API server has forgotten it', async (t) => {
  const relists: string[] = [];
  const atGate = new Set<string>();
  let open: () => void = () => {};
  let gate = Promise.resolve();
  // Watches that are to be opened wait at the gate.
  const gated: KubernetesClient = {
    ...client,
    async *watch(type, ...call) {
      atGate.add(type.kind);
      await gate;
      atGate.delete(type.kind);
      yield* client.watch(type, ...call);
    },
  };
  t.after(() => open());
  const source = startSource(t, { client: gated, onRelist: (kind, reason) => relists.push(`${kind} ${reason}`) });
  await cluster.apply([createRules('stays', 'true'), createRules('goes', 'true')]);
  const names = [`${home}/a`, `${home}/broken`, `${home}/goes`, `${home}/stays`, 'two/r'];
  const shown = await waitUntil(source, 'the policies are shown', isShown('proxyPolicies', ...names));
  assert.equal(relists.length, 0, relists.join());

  ({ promise: gate, resolve: open } = Promise.withResolvers<void>());
  await cluster.restartComponent('apiserver', 'SIGKILL');
  await cluster.waitFor(() => atGate.has('ProxyPolicy'), { what: 'policies are not watched any more', intervalMs: 5 });
  await cluster.api.delete(locateResource({ kind: 'ProxyPolicy', name: 'goes' }));
  await cluster.apply(createRules('comes', 'true'));
  await cluster.compactHistory();
  await cluster.restartComponent('apiserver');
  assert.equal(source.resources.get(), shown, 'it stays as last seen');

  open();
  const after410 = [`${home}/a`, `${home}/broken`, `${home}/comes`, `${home}/stays`, 'two/r'];
  const found = await waitUntil(source, 'what is there now is shown', isShown('proxyPolicies', ...after410));
  assert.ok(relists.includes('ProxyPolicy expired'), relists.join());
  assert.equal(found.httpRoutes, shown.httpRoutes, 'what did not change is the same object');

  await cluster.api.delete(locateResource({ kind: 'ProxyPolicy', name: 'comes' }));
  const left = after410.filter((name) => name !== `${home}/comes`);
  await waitUntil(source, 'what happens from now on is shown', isShown('proxyPolicies', ...left));
});
