// What the Kubernetes source shows while some of the cluster cannot be followed, or comes late: never a route without the policy that was made before it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../kit/manual-clock.ts';
import type { KubernetesObject } from '../../src/kubernetes/client.ts';
import { resourceTypes } from '../../src/kubernetes/resource-type.ts';
import { startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import { make, startSource, untilEqual, untilSynced } from './kubernetes-source-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

test('policies that are not served any more stay in force, and nothing else moves until they are', async (context) => {
  const cluster = await startFakeApiServer(context);
  cluster.put(make.route('a'));
  cluster.put(make.policy('a'));
  const source = startSource(context, cluster);
  await untilEqual(source, cluster);
  const before = source.resources.get();
  cluster.stopServing('ProxyPolicy');
  await waitFor(() => source.sync.get().isHeld);
  const asked = cluster.requests.length;
  cluster.put(make.route('b'));
  await waitFor(() => source.findStatus('HTTPRoute', 'default', 'b') !== undefined);
  await waitFor(() => cluster.requests.length > asked + 10);
  assert.equal(source.resources.get(), before);
  assert.equal(before.proxyPolicies.length, 1);
  const { synced, isHeld, reasons } = source.sync.get();
  assert.deepEqual([synced, isHeld], [true, true]);
  assert.deepEqual(reasons, [
    'the API server no longer serves proxypolicies.gateway.proxy; the last known objects stay in use',
  ]);
  cluster.install(resourceTypes.ProxyPolicy);
  await untilEqual(source, cluster);
  await waitFor(() => !source.sync.get().isHeld && source.sync.get().reasons.length === 0);
});

for (const kind of ['ProxyPolicy', 'ReferenceGrant', 'Namespace', 'Secret'] as const) {
  test(`while ${kind} cannot be followed nothing new is shown`, async (context) => {
    const cluster = await startFakeApiServer(context);
    cluster.put(make.route('a'));
    cluster.put(make.policy('a'));
    const source = startSource(context, cluster);
    await untilEqual(source, cluster);
    const before = source.resources.get();
    const seen: string[] = [];
    source.resources.subscribe(({ httpRoutes, proxyPolicies }) =>
      seen.push(`${httpRoutes.length} ${proxyPolicies.length}`),
    );
    const stops = (['list', 'watch'] as const).map((verb) =>
      cluster.inject({ verb, kind, times: Infinity, fault: { type: 'status', code: 403, message: 'no' } }),
    );
    cluster.watches.drop(kind);
    cluster.put(make.policy('b'));
    cluster.put(make.route('b'));
    await waitFor(() => source.findStatus('HTTPRoute', 'default', 'b') !== undefined && source.sync.get().isHeld);
    const asked = cluster.requests.length;
    await waitFor(() => cluster.requests.length > asked + 10);
    assert.equal(source.resources.get(), before);
    assert.match(source.sync.get().reasons.join(), /no$/);
    assert.equal(source.sync.get().synced, true);
    for (const stop of stops) stop();
    await untilEqual(source, cluster);
    assert.deepEqual(seen, ['2 2']);
    await waitFor(() => !source.sync.get().isHeld);
  });
}

test('between two watches of policies no new route is shown', async (context) => {
  const cluster = await startFakeApiServer(context);
  const clock = createManualClock();
  const source = startSource(context, cluster, { clock, timing: { settleMs: 20 } });
  await untilSynced(source, clock);
  const seen: string[] = [];
  source.resources.subscribe(({ httpRoutes, proxyPolicies }) =>
    seen.push(`${httpRoutes.length} ${proxyPolicies.length}`),
  );
  const hold = Promise.withResolvers<void>();
  cluster.inject({ verb: 'watch', kind: 'ProxyPolicy', fault: { type: 'wait', until: hold.promise } });
  const asked = cluster.requests.length;
  cluster.watches.end('ProxyPolicy');
  await waitFor(() =>
    cluster.requests.slice(asked).some(({ verb, kind }) => verb === 'watch' && kind === 'ProxyPolicy'),
  );
  cluster.put(make.policy('a'));
  cluster.put(make.route('a'));
  await waitFor(() => source.findStatus('HTTPRoute', 'default', 'a') !== undefined);
  await clock.advance(100);
  assert.deepEqual(seen, []);
  assert.equal(source.sync.get().isHeld, false, 'that is no reason to worry');
  hold.resolve();
  // What came before the watch was open has waited for long; what comes over it needs a moment.
  await waitFor(() => source.findStatus('ProxyPolicy', 'default', 'a') !== undefined);
  await clock.advance(40);
  assert.deepEqual(seen, ['1 1']);
});

test('a policy that was made before a route is shown before it, also when its watch is slower', async (context) => {
  const cluster = await startFakeApiServer(context);
  const clock = createManualClock();
  const source = startSource(context, cluster, { clock, timing: { settleMs: 20 } });
  await untilSynced(source, clock);
  const seen: string[] = [];
  source.resources.subscribe(({ httpRoutes, proxyPolicies }) =>
    seen.push(`${httpRoutes.length} ${proxyPolicies.length}`),
  );
  const find = (kind: string): unknown => source.findStatus(kind, 'default', 'a');
  cluster.watches.silence('ProxyPolicy');
  const policy = cluster.put(make.policy('a'));
  cluster.put(make.route('a'));
  await waitFor(() => find('HTTPRoute') !== undefined);
  await clock.advance(19);
  assert.deepEqual(seen, []);
  cluster.watches.writeRaw(`${JSON.stringify({ type: 'ADDED', object: policy })}\n`, 'ProxyPolicy');
  await waitFor(() => find('ProxyPolicy') !== undefined);
  await clock.advance(1);
  assert.deepEqual(seen, ['1 1']);

  cluster.watches.silence('HTTPRoute');
  const route = cluster.find('HTTPRoute', 'default/a')!;
  cluster.delete('HTTPRoute', 'default/a');
  cluster.delete('ProxyPolicy', 'default/a');
  const version = (add: number): object => ({ resourceVersion: String(Number(route.metadata.resourceVersion) + add) });
  const tellDeleted = (kind: string, object: KubernetesObject, add: number): void => {
    const metadata = { ...object.metadata, ...version(add) };
    cluster.watches.writeRaw(`${JSON.stringify({ type: 'DELETED', object: { ...object, metadata } })}\n`, kind);
  };
  tellDeleted('ProxyPolicy', policy, 2);
  await waitFor(() => find('ProxyPolicy') === undefined);
  await clock.advance(19);
  tellDeleted('HTTPRoute', route, 1);
  await waitFor(() => find('HTTPRoute') === undefined);
  await clock.advance(1);
  assert.deepEqual(seen, ['1 1', '0 0']);
});
