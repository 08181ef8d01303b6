// The Kubernetes source without selectors: what it shows, when, and that it tells no more than changed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyResources, type Resources } from '../../src/api/resources.ts';
import { createLog } from '../../src/base/log.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { resourceTypes } from '../../src/kubernetes/resource-type.ts';
import { listWatchedKinds } from '../../src/sources/kubernetes/watched-kinds.ts';
import { startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import {
  expectResources,
  make,
  quickTiming,
  startSource,
  untilEqual,
  untilSynced,
} from './kubernetes-source-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const watchedKinds = listWatchedKinds([]);

test('every kind is read, sorted, and follows', async (context) => {
  const cluster = await startFakeApiServer(context);
  const objects = [
    make.namespace('default'),
    make.gatewayClass('proxy'),
    make.gateway('web'),
    make.route('b'),
    make.route('a', 'z'),
    make.route('a', 'a-b'),
    make.route('a', 'a'),
    make.policy('p'),
    make.parameters('fast'),
    make.service('shop'),
    make.secret('s'),
    make.configMap('ca'),
    make.grant('g'),
    { kind: 'EndpointSlice', metadata: { name: 'e' }, addressType: 'IPv4', endpoints: null, ports: null },
    {
      kind: 'ProxyBackend',
      metadata: { name: 'tickets' },
      spec: { mcp: { targets: [{ name: 't', static: { host: 'tickets.example.com', port: 80 } }] } },
    },
  ];
  for (const object of objects) cluster.put(object);
  const source = startSource(context, cluster);
  assert.equal(source.resources.get(), emptyResources);
  assert.equal(source.namespaces.get(), undefined);
  await untilEqual(source, cluster);
  const { invalid, unreadableSecretNamespaces, ...lists } = source.resources.get();
  assert.deepEqual([invalid, unreadableSecretNamespaces], [[], []]);
  // Those of extensions are in kubernetes-source-inference.test.ts.
  const { inferencePools: _pools, pods: _pods, ...ordinary } = lists;
  for (const [name, list] of Object.entries(ordinary)) assert.ok(list.length > 0, name);
  assert.deepEqual(
    lists.httpRoutes.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    ['a/a', 'a-b/a', 'default/b', 'z/a'],
  );
  const { synced, reasons, counts } = source.sync.get();
  assert.deepEqual({ synced, reasons }, { synced: true, reasons: [] });
  assert.equal(counts['HTTPRoute'], 4);
  assert.equal(Object.keys(counts).length, watchedKinds.length);

  cluster.delete('HTTPRoute', 'z/a');
  cluster.put(make.route('b', 'default', 'b.example.com'));
  cluster.put(make.secret('t'));
  await untilEqual(source, cluster);
});

test('Namespaces are read as metadata only; Secrets of Helm, ServiceAccounts and registries not at all', async (context) => {
  const cluster = await startFakeApiServer(context);
  cluster.put(make.namespace('default', { team: 'x' }));
  for (const type of ['Opaque', 'kubernetes.io/tls', 'helm.sh/release.v1', 'kubernetes.io/service-account-token'])
    cluster.put(make.secret(type.replaceAll(/[^a-z]/gi, '').toLowerCase(), 'default', type));
  const source = startSource(context, cluster);
  await untilEqual(source, cluster);
  assert.deepEqual(
    source.resources.get().secrets.map(({ type }) => type),
    ['kubernetes.io/tls', 'Opaque'],
  );
  assert.equal(source.resources.get().namespaces[0]?.metadata.labels['team'], 'x');
  for (const { kind, verb, headers } of cluster.requests)
    if (verb === 'list' || verb === 'watch')
      assert.equal(String(headers['accept']).includes('PartialObjectMetadata'), kind === 'Namespace', String(kind));
});

test('nothing is shown before everything is known', async (context) => {
  const cluster = await startFakeApiServer(context);
  cluster.put(make.route('a'));
  cluster.put(make.policy('a'));
  const hold = Promise.withResolvers<void>();
  cluster.inject({ verb: 'list', kind: 'ProxyPolicy', fault: { type: 'wait', until: hold.promise } });
  const source = startSource(context, cluster);
  const seen: Resources[] = [];
  source.resources.subscribe((resources) => seen.push(resources));
  await waitFor(() => source.sync.get().reasons.join() === 'still reading: ProxyPolicy');
  assert.equal(source.sync.get().synced, false);
  assert.equal(source.resources.get(), emptyResources);
  hold.resolve();
  await untilEqual(source, cluster);
  assert.equal(seen.length, 1);
});

test('many changes are told together', async (context) => {
  const cluster = await startFakeApiServer(context);
  const clock = createManualClock();
  const source = startSource(context, cluster, { clock, timing: {} });
  let told = 0;
  source.resources.subscribe(() => (told += 1));
  await waitFor(() => cluster.watches.count() === watchedKinds.length);
  await untilSynced(source, clock);
  for (let index = 0; index < 200; index += 1) cluster.put(make.route(`r${index}`));
  await waitFor(() => source.findStatus('HTTPRoute', 'default', 'r199') !== undefined);
  assert.equal(told, 0);
  // The first has waited long enough before the others, which wait for what may have been made before them.
  await clock.advance(30);
  assert.equal(told, 2);
  assert.equal(source.resources.get().httpRoutes.length, 200);
  assert.equal(source.sync.get().counts['HTTPRoute'], 200);
});

test('what did not change is the same object: resources, lists, everything', async (context) => {
  const cluster = await startFakeApiServer(context);
  for (const name of ['a', 'b']) cluster.put(make.route(name));
  cluster.put(make.gateway('web'));
  const source = startSource(context, cluster);
  await untilEqual(source, cluster);
  const before = source.resources.get();
  cluster.put(make.route('b', 'default', 'b.example.com'));
  await untilEqual(source, cluster);
  const after = source.resources.get();
  assert.notEqual(after, before);
  assert.equal(after.gateways, before.gateways);
  assert.equal(after.invalid, before.invalid);
  assert.equal(after.httpRoutes[0], before.httpRoutes[0]);
  assert.notEqual(after.httpRoutes[1], before.httpRoutes[1]);

  // A relist brings every object again.
  cluster.expireHistory('event');
  cluster.watches.drop();
  cluster.put(make.gateway('other'));
  await untilEqual(source, cluster);
  assert.equal(source.resources.get().httpRoutes, after.httpRoutes);
});

test('a write of the status changes no resources, and is told by itself', async (context) => {
  const cluster = await startFakeApiServer(context);
  cluster.put(make.gateway('web'));
  cluster.put(make.service('web'));
  cluster.put(make.secret('s'));
  const source = startSource(context, cluster);
  await untilEqual(source, cluster);
  const before = source.resources.get();
  const written: string[] = [];
  const end = source.onStatusChange((...object) => written.push(object.join(' ')));
  assert.equal(source.findStatus('Gateway', 'default', 'web')?.status, undefined);

  cluster.change('Secret', 'default/s', (secret) => {
    secret.metadata['finalizers'] = ['example.com/x'];
  });
  const client = cluster.connect('somebody');
  const gateway = await client.get(resourceTypes.Gateway, { namespace: 'default', name: 'web' });
  const status = { addresses: [{ type: 'IPAddress', value: '192.0.2.1' }] };
  const stored = await client.replaceStatus(resourceTypes.Gateway, { ...gateway, status });
  cluster.change('Service', 'default/web', (service) => {
    service['status'] = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };
  });
  await waitFor(() => written.length === 2);
  assert.deepEqual(written.toSorted(), ['Gateway default web', 'Service default web']);
  assert.equal(source.resources.get(), before);
  assert.deepEqual(source.findStatus('Gateway', 'default', 'web'), {
    uid: stored.metadata.uid,
    resourceVersion: stored.metadata.resourceVersion,
    generation: 1,
    status,
  });
  assert.deepEqual(source.findStatus('Service', 'default', 'web')?.status, {
    loadBalancer: { ingress: [{ ip: '192.0.2.1' }] },
  });
  assert.equal(source.findStatus('Gateway', 'default', 'none'), undefined);
  assert.equal(source.findStatus('Pod', 'default', 'web'), undefined);

  end();
  cluster.change('Gateway', 'default/web', (object) => {
    object['status'] = {};
  });
  cluster.put(make.route('later'));
  await untilEqual(source, cluster);
  assert.equal(written.length, 2);
});

test('a change of the spec has a fresh generation, and is told after the resources', async (context) => {
  const cluster = await startFakeApiServer(context);
  cluster.put(make.gatewayClass('proxy'));
  cluster.put(make.route('a'));
  const source = startSource(context, cluster);
  await untilEqual(source, cluster);
  const order: string[] = [];
  source.resources.subscribe(({ httpRoutes }) => order.push(`generation ${httpRoutes[0]?.metadata.generation}`));
  source.onStatusChange((kind, namespace, name) => order.push(`${kind} ${namespace}/${name}`));
  cluster.put(make.route('a', 'default', 'b.example.com'));
  await waitFor(() => order.length === 2);
  assert.deepEqual(order, ['generation 2', 'HTTPRoute default/a']);
  assert.equal(source.findStatus('HTTPRoute', 'default', 'a')?.generation, 2);
  assert.ok(source.findStatus('GatewayClass', '', 'proxy'));
});

test('what does not validate is invalid at once, and well again when it is repaired', async (context) => {
  const cluster = await startFakeApiServer(context);
  const good = make.policy('p');
  cluster.put(good);
  const source = startSource(context, cluster);
  await untilEqual(source, cluster);
  assert.equal(source.resources.get().proxyPolicies.length, 1);
  cluster.put({ ...good, spec: { ...good.spec, traffic: { authorization: { policy: { matchExpressions: ['('] } } } } });
  await untilEqual(source, cluster);
  const { proxyPolicies, invalid } = source.resources.get();
  assert.deepEqual(proxyPolicies, []);
  assert.equal(invalid[0]?.name, 'p');
  assert.deepEqual(invalid[0].problems[0]?.path.slice(0, 3), ['spec', 'traffic', 'authorization']);
  assert.ok(source.findStatus('ProxyPolicy', 'default', 'p'), 'its status can be written');
  assert.equal(source.sync.get().counts['ProxyPolicy'], 1);
  cluster.put(good);
  await untilEqual(source, cluster);
  assert.equal(source.resources.get().invalid.length, 0);
});

test('without Gateway API and our CRDs the source is synced with what there is, and says what to install', async (context) => {
  const without = watchedKinds
    .filter(({ installedBy }) => installedBy !== 'kubernetes')
    .map(({ kind }): string => kind);
  const cluster = await startFakeApiServer(context, { without });
  cluster.put(make.service('shop'));
  const source = startSource(context, cluster);
  await untilEqual(source, cluster);
  assert.deepEqual(source.sync.get().reasons, [
    'not installed: GatewayClass, Gateway, HTTPRoute; install the CRDs of Gateway API (https://gateway-api.sigs.k8s.io)',
    'not installed: GatewayParameters, ProxyBackend, ProxyPolicy; install the chart proxy-crds',
  ]);
  for (const kind of without) cluster.install(watchedKinds.find((watched) => watched.kind === kind)!.type);
  await waitFor(() => source.sync.get().reasons.length === 0 && cluster.watches.count() === watchedKinds.length);
  // Those that were installed between a look for v1 and one for v1beta1 move on.
  cluster.watches.end();
  cluster.put(make.route('a'));
  cluster.put(make.policy('a'));
  await untilEqual(source, cluster);
});

test('a route is never shown without its policy because one CRD was found before the other', async (context) => {
  const clock = createManualClock();
  const cluster = await startFakeApiServer(context, { without: ['HTTPRoute', 'ProxyPolicy'] });
  const source = startSource(context, cluster, { clock, timing: { settleMs: 1 }, random: () => 0 });
  const seen: string[] = [];
  source.resources.subscribe(({ httpRoutes, proxyPolicies }) =>
    seen.push(`${httpRoutes.length} ${proxyPolicies.length}`),
  );
  await waitFor(() => clock.pendingDelays().filter((delay) => delay === 1_000).length === 2);
  await clock.advance(1_000);
  // Both are looked for every five seconds.
  await waitFor(() => clock.pendingDelays().filter((delay) => delay > 4_000 && delay <= 5_000).length === 2);
  await clock.advance(1);
  await waitFor(() => source.sync.get().synced);

  cluster.install(resourceTypes.ProxyPolicy);
  cluster.install(resourceTypes.HTTPRoute);
  cluster.put(make.route('a'));
  cluster.put(make.policy('a'));
  const hold = Promise.withResolvers<void>();
  cluster.inject({ verb: 'list', kind: 'ProxyPolicy', times: Infinity, fault: { type: 'wait', until: hold.promise } });
  await clock.advance(5_000);
  await waitFor(() => source.findStatus('HTTPRoute', 'default', 'a') !== undefined);
  await clock.advance(100);
  assert.deepEqual(seen, []);
  hold.resolve();
  await waitFor(() => source.findStatus('ProxyPolicy', 'default', 'a') !== undefined);
  await waitFor(() => cluster.watches.count('ProxyPolicy') === 1);
  await clock.advance(100);
  assert.deepEqual(seen, ['1 1']);
});

test('when a CRD is deleted, its objects go as the server deletes them', async (context) => {
  const cluster = await startFakeApiServer(context);
  cluster.put(make.grant('g'));
  cluster.put(make.route('a'));
  const source = startSource(context, cluster);
  await untilEqual(source, cluster);
  cluster.uninstall('ReferenceGrant');
  await untilEqual(source, cluster);
  assert.deepEqual(source.resources.get().referenceGrants, []);
  await waitFor(() => source.sync.get().reasons.length === 0);
  cluster.uninstall('HTTPRoute');
  await untilEqual(source, cluster);
  await waitFor(() => source.sync.get().reasons.some((reason) => reason.startsWith('not installed: HTTPRoute')));
});

test('ReferenceGrants are read at the version that is served', async (context) => {
  const cluster = await startFakeApiServer(context, { without: ['ReferenceGrant'] });
  const type = watchedKinds.find(({ kind }) => kind === 'ReferenceGrant')!.type;
  cluster.install(type, ['v1beta1']);
  cluster.put(make.grant('g'));
  const source = startSource(context, cluster);
  await waitFor(() => source.resources.get().referenceGrants.length === 1);
  assert.equal(source.resources.get().referenceGrants[0]?.apiVersion, 'gateway.networking.k8s.io/v1beta1');
});

test('a kind that may not be read keeps the source from being synced, with the reason', async (context) => {
  const cluster = await startFakeApiServer(context);
  cluster.put(make.route('a'));
  const message = 'secrets is forbidden: User "x" cannot list resource "secrets"';
  const stop = cluster.inject({
    verb: 'list',
    kind: 'Secret',
    times: Infinity,
    fault: { type: 'status', code: 403, message },
  });
  const source = startSource(context, cluster);
  await waitFor(() => source.sync.get().reasons.join() === `cannot list secrets: ${message}`);
  assert.equal(source.sync.get().synced, false);
  assert.equal(source.resources.get(), emptyResources);
  stop();
  await untilEqual(source, cluster);
});

test('an API server that goes away leaves everything as it was, and is followed when it is back', async (context) => {
  const cluster = await startFakeApiServer(context);
  cluster.put(make.route('a'));
  cluster.put(make.policy('a'));
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => lines.push(line) } });
  const source = startSource(context, cluster, { log });
  await untilEqual(source, cluster);
  const before = source.resources.get();
  await cluster.goAway();
  await waitFor(() => source.sync.get().reasons.length > 0);
  assert.equal(source.sync.get().synced, true);
  assert.ok(source.sync.get().reasons.length <= 6);
  assert.equal(source.resources.get(), before);
  cluster.delete('ProxyPolicy', 'default/a');
  cluster.put(make.route('b'));
  await cluster.comeBack();
  await untilEqual(source, cluster);
  await waitFor(() => source.sync.get().reasons.length === 0);
  // However many list-watches there are.
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { level: string }).level),
    ['warn', 'info'],
  );
});

test('a listener that fails does not harm the others', async (context) => {
  const cluster = await startFakeApiServer(context);
  const source = startSource(context, cluster);
  source.resources.subscribe(() => {
    throw new Error('listener');
  });
  source.onStatusChange(() => {
    throw new Error('listener');
  });
  const seen: number[] = [];
  source.resources.subscribe(({ httpRoutes }) => seen.push(httpRoutes.length));
  const written: string[] = [];
  source.onStatusChange((_kind, _namespace, name) => written.push(name));
  await untilEqual(source, cluster);
  cluster.put(make.route('a'));
  await untilEqual(source, cluster);
  cluster.put(make.route('a', 'default', 'b.example.com'));
  await waitFor(() => written.includes('a') && seen.length >= 2);
});

test('stop leaves no connection open and tells nothing more', async (context) => {
  const cluster = await startFakeApiServer(context);
  const source = startSource(context, cluster);
  await untilEqual(source, cluster);
  let told = 0;
  source.resources.subscribe(() => (told += 1));
  source.sync.subscribe(() => (told += 1));
  cluster.put(make.route('a'));
  await source.stop();
  told = 0;
  cluster.put(make.route('b'));
  await waitFor(() => cluster.watches.count() === 0);
  assert.equal(told, 0);
  assert.notDeepEqual(source.resources.get(), expectResources(cluster));
});

test('an object of twenty thousand changes without sorting all of them', async (context) => {
  const cluster = await startFakeApiServer(context);
  for (let index = 0; index < 2_000; index += 1) cluster.put(make.configMap(`c${index}`));
  const source = startSource(context, cluster, { timing: quickTiming });
  await untilEqual(source, cluster);
  for (const name of ['a', 'c1500', 'zz']) cluster.put({ ...make.configMap(name), data: { 'ca.crt': 'new' } });
  cluster.delete('ConfigMap', 'default/c7');
  await untilEqual(source, cluster);
});
