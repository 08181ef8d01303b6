// List-watch against a server that misbehaves in every way that API servers and networks do.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import type { KubernetesObject } from '../../src/kubernetes/client.ts';
import {
  type ListWatch,
  type ListWatchOptions,
  type RelistReason,
  startListWatch,
  type SyncState,
} from '../../src/kubernetes/list-watch.ts';
import { resourceTypes } from '../../src/kubernetes/resource-type.ts';
import { type FakeApiServer, startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

const quick = { firstRetryMs: 1, maxRetryMs: 4, lookAgainMs: 2, confirmMs: 1 };

interface Followed {
  readonly cluster: FakeApiServer;
  readonly watch: ListWatch;
  /** By namespace/name, as told. */
  readonly objects: Map<string, KubernetesObject>;
  /** `+ default/a`, `- default/a`, in the order in which they were told. */
  readonly told: string[];
  readonly states: SyncState[];
  readonly relists: RelistReason[];
}

interface FollowOptions extends Partial<ListWatchOptions> {
  readonly cluster?: FakeApiServer;
}

async function follow(context: TestContext, options: FollowOptions = {}): Promise<Followed> {
  const cluster = options.cluster ?? (await startFakeApiServer(context));
  const objects = new Map<string, KubernetesObject>();
  const told: string[] = [];
  const states: SyncState[] = [];
  const relists: RelistReason[] = [];
  const watch = startListWatch({
    client: cluster.connect(),
    type: resourceTypes.ConfigMap,
    scope: {},
    log: silentLog,
    timing: quick,
    onChange(object) {
      objects.set(formatName(object), object);
      told.push(`+ ${formatName(object)}`);
    },
    onGone(object) {
      assert.ok(objects.has(formatName(object)), 'what was never there cannot go');
      assert.equal(object.metadata.uid, objects.get(formatName(object))?.metadata.uid);
      objects.delete(formatName(object));
      told.push(`- ${formatName(object)}`);
    },
    onState: (state) => states.push(state),
    onRelist: (reason) => relists.push(reason),
    ...options,
  });
  context.after(() => watch.stop());
  return { cluster, watch, objects, told, states, relists };
}

function formatName({ metadata }: KubernetesObject): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}

async function untilWatching({ cluster, watch }: Followed): Promise<void> {
  await waitFor(() => watch.state.state === 'synced' && cluster.watches.count() === 1);
}

function put(cluster: FakeApiServer, name: string, data: Record<string, string> = {}): KubernetesObject {
  return cluster.put({ kind: 'ConfigMap', metadata: { name }, data });
}

/** Resolves when the server has seen a list or watch of the kind after now. */
async function untilAsked(cluster: FakeApiServer, verb: 'list' | 'watch'): Promise<void> {
  const before = cluster.requests.length;
  await waitFor(() => cluster.requests.slice(before).some((request) => request.verb === verb));
}

test('lists, then follows: changes, deletions, and an object made anew', async (context) => {
  const cluster = await startFakeApiServer(context);
  put(cluster, 'a');
  put(cluster, 'b');
  const followed = await follow(context, { cluster });
  await untilWatching(followed);
  assert.deepEqual(followed.told, ['+ default/a', '+ default/b']);
  assert.deepEqual(followed.states, [{ state: 'synced' }]);
  assert.equal(followed.watch.size, 2);

  put(cluster, 'a', { x: '1' });
  cluster.delete('ConfigMap', 'default/b');
  put(cluster, 'c');
  await waitFor(() => followed.objects.has('default/c'));
  assert.deepEqual(followed.told.slice(2), ['+ default/a', '- default/b', '+ default/c']);
  assert.deepEqual(followed.objects.get('default/a')?.['data'], { x: '1' });
  assert.equal(followed.watch.size, 2);
});

test('an empty list is synced too', async (context) => {
  const followed = await follow(context);
  await untilWatching(followed);
  assert.equal(followed.watch.size, 0);
});

test('managedFields are never told', async (context) => {
  const cluster = await startFakeApiServer(context);
  assert.ok(put(cluster, 'a', { x: '1' }).metadata['managedFields']);
  const followed = await follow(context, { cluster });
  await untilWatching(followed);
  put(cluster, 'b', { x: '1' });
  await waitFor(() => followed.objects.size === 2);
  for (const object of followed.objects.values()) assert.ok(!('managedFields' in object.metadata));
});

test('long lists come in pages', async (context) => {
  const cluster = await startFakeApiServer(context);
  for (let index = 0; index < 1_100; index += 1) put(cluster, `c${index}`);
  const followed = await follow(context, { cluster });
  await untilWatching(followed);
  assert.equal(followed.watch.size, 1_100);
  assert.equal(cluster.requests.filter(({ verb }) => verb === 'list').length, 3);
});

test('a continue token that expires makes the list start over in one piece, and what went meanwhile is gone', async (context) => {
  const cluster = await startFakeApiServer(context);
  for (let index = 0; index < 600; index += 1) put(cluster, `c${index}`);
  cluster.inject({
    verb: 'list',
    when: ({ query }) => {
      if (!query.has('continue')) return false;
      cluster.expireContinueTokens();
      // Told with the first page, and gone before the list starts over.
      cluster.delete('ConfigMap', 'default/c0');
      return false;
    },
    fault: { type: 'drop' },
  });
  const followed = await follow(context, { cluster });
  await untilWatching(followed);
  assert.equal(followed.watch.size, 599);
  assert.ok(followed.told.includes('- default/c0'));
  const lists = cluster.requests.filter(({ verb }) => verb === 'list').map(({ query }) => query.get('limit'));
  assert.deepEqual(lists, ['500', '500', null]);
});

test('a dropped watch goes on where it was: no list, nothing told twice, nothing missed', async (context) => {
  const cluster = await startFakeApiServer(context);
  put(cluster, 'a');
  const followed = await follow(context, { cluster });
  await untilWatching(followed);
  for (let round = 0; round < 5; round += 1) {
    cluster.watches.drop();
    put(cluster, `while-away-${round}`);
    await waitFor(() => followed.objects.has(`default/while-away-${round}`));
  }
  assert.equal(followed.told.length, 6);
  assert.equal(cluster.requests.filter(({ verb }) => verb === 'list').length, 1);
});

test('a watch that the server ends is asked for again from the last bookmark', async (context) => {
  const followed = await follow(context);
  const { cluster } = followed;
  await untilWatching(followed);
  // Moves the version on without an event for this watch.
  cluster.put({ kind: 'Secret', metadata: { name: 'other' } });
  const again = untilAsked(cluster, 'watch');
  cluster.watches.end();
  await again;
  const versions = cluster.requests
    .filter(({ verb }) => verb === 'watch')
    .map(({ query }) => query.get('resourceVersion'));
  assert.equal(versions.length, 2);
  assert.ok(Number(versions[1]) > Number(versions[0]));
  assert.equal(followed.watch.state.state, 'synced');
  assert.equal(followed.states.length, 1);
});

for (const form of ['status', 'event'] as const)
  test(`410 Gone (${form}) lists again, and tells what came, changed and went meanwhile, and nothing else`, async (context) => {
    const cluster = await startFakeApiServer(context);
    for (const name of ['same', 'changed', 'gone', 'anew']) put(cluster, name);
    const followed = await follow(context, { cluster });
    await untilWatching(followed);
    followed.told.length = 0;
    cluster.inject({ verb: 'watch', times: 2, fault: { type: 'drop' } });
    cluster.watches.drop();
    put(cluster, 'changed', { x: '1' });
    put(cluster, 'new');
    cluster.delete('ConfigMap', 'default/gone');
    cluster.delete('ConfigMap', 'default/anew');
    put(cluster, 'anew');
    cluster.expireHistory(form);
    await waitFor(() => followed.told.includes('- default/gone'));
    assert.deepEqual(followed.told.toSorted(), [
      '+ default/anew',
      '+ default/changed',
      '+ default/new',
      '- default/anew',
      '- default/gone',
    ]);
    assert.ok(followed.told.indexOf('- default/anew') < followed.told.indexOf('+ default/anew'));
    await untilWatching(followed);
    assert.deepEqual(followed.relists, ['expired']);
  });

test('a server that says Gone again and again is not asked without pause', async (context) => {
  const clock = createManualClock();
  const followed = await follow(context, { clock, timing: {}, random: () => 1 });
  const { cluster } = followed;
  await untilWatching(followed);
  cluster.inject({ verb: 'watch', times: Infinity, fault: { type: 'status', code: 410 } });
  cluster.watches.drop();
  // The break, and each Gone after it.
  for (const expected of [500, 1_000, 2_000]) {
    await waitFor(() => clock.pendingDelays().includes(expected));
    await clock.advance(expected);
  }
  await waitFor(() => clock.pendingDelays().includes(4_000));
});

test('failures are told with their reason, waited for, and over when it works', async (context) => {
  const cluster = await startFakeApiServer(context);
  put(cluster, 'a');
  const stop = cluster.inject({
    verb: 'list',
    times: Infinity,
    fault: { type: 'status', code: 403, message: 'no rights' },
  });
  const followed = await follow(context, { cluster });
  await waitFor(() => followed.watch.state.state === 'failing');
  assert.deepEqual(followed.states, [
    { state: 'failing', wasSynced: false, reason: 'cannot list configmaps: no rights' },
  ]);
  stop();
  await untilWatching(followed);
  assert.deepEqual(followed.states.at(-1), { state: 'synced' });
});

test('objects stay while the server is away, and are right when it is back', async (context) => {
  const cluster = await startFakeApiServer(context);
  put(cluster, 'a');
  put(cluster, 'b');
  const followed = await follow(context, { cluster });
  await untilWatching(followed);
  await cluster.goAway();
  await waitFor(() => followed.watch.state.state === 'failing');
  assert.equal(followed.watch.state.state === 'failing' && followed.watch.state.wasSynced, true);
  assert.equal(followed.objects.size, 2);
  cluster.delete('ConfigMap', 'default/a');
  put(cluster, 'c');
  await cluster.comeBack();
  await waitFor(() => followed.objects.has('default/c'));
  assert.deepEqual([...followed.objects.keys()].toSorted(), ['default/b', 'default/c']);
  await untilWatching(followed);
});

test('Retry-After is waited out', async (context) => {
  const clock = createManualClock();
  const cluster = await startFakeApiServer(context);
  cluster.inject({ verb: 'list', fault: { type: 'status', code: 429, retryAfterSeconds: 7 } });
  const followed = await follow(context, { cluster, clock, timing: {}, random: () => 0.5 });
  await waitFor(() => clock.pendingDelays().includes(8_750));
  await clock.advance(8_749);
  assert.equal(cluster.requests.length, 1);
  await clock.advance(1);
  await waitFor(() => followed.watch.state.state === 'synced');
});

test('waits grow while it fails, and begin anew after it worked', async (context) => {
  const clock = createManualClock();
  const followed = await follow(context, { clock, timing: {}, random: () => 1 });
  const { cluster } = followed;
  await untilWatching(followed);
  const stop = cluster.inject({ verb: 'watch', times: Infinity, fault: { type: 'drop' } });
  cluster.watches.drop();
  for (const expected of [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
    await waitFor(() => clock.pendingDelays().includes(expected));
    await clock.advance(expected);
  }
  stop();
  await waitFor(() => clock.pendingDelays().includes(10_000));
  await clock.advance(10_000);
  put(cluster, 'a');
  await waitFor(() => followed.objects.size === 1);
  cluster.watches.drop();
  await waitFor(() => clock.pendingDelays().includes(500));
});

test('hurry cuts a long wait short, but not one that the server asked for', async (context) => {
  const clock = createManualClock();
  const cluster = await startFakeApiServer(context);
  cluster.inject({ verb: 'list', times: 4, fault: { type: 'drop' } });
  cluster.inject({ verb: 'list', fault: { type: 'status', code: 429, retryAfterSeconds: 60 } });
  const followed = await follow(context, { cluster, clock, timing: {}, random: () => 0.5 });
  for (const expected of [250, 500, 1_000]) {
    await waitFor(() => clock.pendingDelays().includes(expected));
    await clock.advance(expected);
  }
  await waitFor(() => clock.pendingDelays().includes(2_000));
  followed.watch.hurry();
  followed.watch.hurry();
  assert.deepEqual(clock.pendingDelays(), [250]);
  await clock.advance(250);
  await waitFor(() => clock.pendingDelays().some((delay) => delay > 60_000));
  followed.watch.hurry();
  assert.ok(clock.pendingDelays()[0]! > 60_000);
});

test('garbage, cut answers and hung up connections are only delays', async (context) => {
  const cluster = await startFakeApiServer(context);
  put(cluster, 'a');
  for (const type of ['garbage', 'cut', 'drop'] as const) cluster.inject({ verb: 'list', fault: { type } });
  for (const type of ['garbage', 'cut', 'drop'] as const) cluster.inject({ verb: 'watch', fault: { type } });
  cluster.inject({ verb: 'watch', fault: { type: 'status', code: 500 } });
  const followed = await follow(context, { cluster });
  await untilWatching(followed);
  cluster.watches.writeRaw('what?\n');
  put(cluster, 'b');
  await waitFor(() => followed.objects.size === 2);
  assert.deepEqual(followed.told, ['+ default/a', '+ default/b']);
});

test('a watch over which nothing comes is replaced, one with bookmarks is not', async (context) => {
  const clock = createManualClock();
  const followed = await follow(context, { clock, timing: { silenceMs: 150_000 }, random: () => 0 });
  const { cluster } = followed;
  await untilWatching(followed);
  await waitFor(() => clock.pendingDelays().includes(150_000));
  await clock.advance(149_000);
  cluster.put({ kind: 'Secret', metadata: { name: 'other' } });
  cluster.watches.sendBookmarks();
  await waitFor(() => clock.pendingDelays().includes(150_000));
  cluster.watches.silence();
  put(cluster, 'a');
  assert.equal(followed.objects.size, 0);
  await clock.advance(150_000);
  await waitFor(() => clock.pendingDelays().length > 0);
  await clock.advance(0);
  await waitFor(() => followed.objects.size === 1);
  assert.equal(cluster.requests.filter(({ verb }) => verb === 'list').length, 1);
});

test('a watch that ends at once again and again is not asked without pause', async (context) => {
  const clock = createManualClock();
  const followed = await follow(context, { clock, timing: {}, random: () => 1 });
  const { cluster } = followed;
  await untilWatching(followed);
  cluster.inject({ verb: 'watch', times: Infinity, fault: { type: 'garbage' } });
  cluster.watches.drop();
  await waitFor(() => clock.pendingDelays().includes(500));
  await clock.advance(500);
  await waitFor(() => clock.pendingDelays().includes(1_000));
});

test('a version that the server does not know is given up after a few tries', async (context) => {
  const followed = await follow(context);
  const { cluster } = followed;
  await untilWatching(followed);
  // As after a restore: the server wants to see that version first.
  const stop = cluster.inject({
    verb: 'watch',
    times: Infinity,
    fault: { type: 'status', code: 504, reason: 'Timeout', message: 'Too large resource version' },
  });
  put(cluster, 'a');
  await waitFor(() => followed.objects.size === 1);
  const listed = untilAsked(cluster, 'list');
  cluster.watches.drop();
  await listed;
  stop();
  await untilWatching(followed);
  assert.equal(followed.relists[0], 'refused');
});

test('a kind that is not installed has no objects, is looked for, and is followed when it appears', async (context) => {
  const cluster = await startFakeApiServer(context, { without: ['HTTPRoute'] });
  const { HTTPRoute } = resourceTypes;
  const followed = await follow(context, { cluster, type: HTTPRoute });
  await waitFor(() => followed.watch.state.state === 'not-installed');
  assert.deepEqual(followed.states, [{ state: 'not-installed' }]);
  assert.ok(cluster.requests.length >= 2, 'it was confirmed');
  cluster.install(HTTPRoute);
  cluster.put({ kind: 'HTTPRoute', metadata: { name: 'r' }, spec: {} });
  await untilWatching(followed);
  assert.deepEqual(followed.told, ['+ default/r']);
  assert.deepEqual(followed.relists, [], 'it had never been listed');
});

test('one 404 is not believed', async (context) => {
  const cluster = await startFakeApiServer(context);
  put(cluster, 'a');
  const followed = await follow(context, { cluster });
  await untilWatching(followed);
  cluster.inject({ verb: 'watch', fault: { type: 'status', code: 404 } });
  cluster.inject({ verb: 'list', fault: { type: 'status', code: 404 } });
  cluster.watches.drop();
  await waitFor(() => followed.states.length === 3);
  assert.deepEqual(
    followed.states.map(({ state }) => state),
    ['synced', 'failing', 'synced'],
  );
  assert.deepEqual(followed.told, ['+ default/a']);
  assert.deepEqual(followed.relists, ['not_served']);
});

test('when a CRD is deleted its objects go one by one, and when it comes back they come back', async (context) => {
  const cluster = await startFakeApiServer(context);
  const { HTTPRoute } = resourceTypes;
  cluster.put({ kind: 'HTTPRoute', metadata: { name: 'r' }, spec: {} });
  const followed = await follow(context, { cluster, type: HTTPRoute });
  await untilWatching(followed);
  // As the real one does: every object is deleted, the watches hear of it, and then the kind is gone.
  cluster.uninstall('HTTPRoute');
  await waitFor(() => followed.watch.state.state === 'not-installed');
  assert.deepEqual(followed.told, ['+ default/r', '- default/r']);
  assert.equal(followed.watch.size, 0);
  cluster.install(HTTPRoute);
  cluster.put({ kind: 'HTTPRoute', metadata: { name: 'r' }, spec: {} });
  await waitFor(() => followed.objects.size === 1);
});

test('objects of a kind that is not served any more stay, until a list of it says otherwise', async (context) => {
  const cluster = await startFakeApiServer(context);
  const { HTTPRoute } = resourceTypes;
  for (const name of ['a', 'b']) cluster.put({ kind: 'HTTPRoute', metadata: { name }, spec: {} });
  const followed = await follow(context, { cluster, type: HTTPRoute });
  await untilWatching(followed);
  cluster.stopServing('HTTPRoute');
  const before = cluster.requests.length;
  await waitFor(() => cluster.requests.length > before + 10);
  const reason =
    'the API server no longer serves httproutes.gateway.networking.k8s.io; the last known objects stay in use';
  assert.deepEqual(followed.watch.state, { state: 'failing', wasSynced: true, reason });
  assert.equal(followed.watch.isFollowing, false);
  assert.deepEqual(followed.told, ['+ default/a', '+ default/b']);
  cluster.install(HTTPRoute);
  cluster.delete('HTTPRoute', 'default/a');
  await untilWatching(followed);
  assert.deepEqual(followed.told.slice(2), ['- default/a']);
});

test('deletions of a CRD that nobody told of are not believed either', async (context) => {
  const cluster = await startFakeApiServer(context);
  const { HTTPRoute } = resourceTypes;
  cluster.put({ kind: 'HTTPRoute', metadata: { name: 'r' }, spec: {} });
  const followed = await follow(context, { cluster, type: HTTPRoute });
  await untilWatching(followed);
  cluster.watches.drop();
  cluster.uninstall('HTTPRoute');
  const before = cluster.requests.length;
  await waitFor(() => cluster.requests.length > before + 10);
  assert.equal(followed.objects.size, 1);
  // A list that works is believed.
  cluster.install(HTTPRoute);
  await waitFor(() => followed.objects.size === 0);
});

test('it says when it follows: not between two watches, nor before the first', async (context) => {
  const cluster = await startFakeApiServer(context);
  const hold = Promise.withResolvers<void>();
  cluster.inject({ verb: 'watch', fault: { type: 'wait', until: hold.promise } });
  let opened = 0;
  const followed = await follow(context, { cluster, onFollowing: () => (opened += 1) });
  await waitFor(() => followed.watch.state.state === 'synced');
  assert.equal(followed.watch.isFollowing, false);
  hold.resolve();
  await waitFor(() => followed.watch.isFollowing);
  assert.equal(opened, 1);
  const again = Promise.withResolvers<void>();
  cluster.inject({ verb: 'watch', fault: { type: 'wait', until: again.promise } });
  cluster.watches.end();
  await waitFor(() => !followed.watch.isFollowing);
  assert.equal(followed.watch.state.state, 'synced', 'that a watch ends is no failure');
  again.resolve();
  await waitFor(() => opened === 2);
});

test('lookAgain does not wait for the next look', async (context) => {
  const clock = createManualClock();
  const cluster = await startFakeApiServer(context, { without: ['HTTPRoute'] });
  const { HTTPRoute } = resourceTypes;
  const followed = await follow(context, { cluster, type: HTTPRoute, clock, timing: {}, random: () => 0.5 });
  await waitFor(() => clock.pendingDelays().includes(1_000));
  await clock.advance(1_000);
  await waitFor(() => clock.pendingDelays().includes(7_500));
  cluster.install(HTTPRoute);
  followed.watch.lookAgain();
  assert.equal(followed.watch.state.state, 'syncing');
  await untilWatching(followed);
});

test('an older version is read where the newer is not served', async (context) => {
  const cluster = await startFakeApiServer(context, { without: ['HTTPRoute'] });
  const { HTTPRoute } = resourceTypes;
  cluster.install(HTTPRoute, ['v1beta1']);
  cluster.put({ kind: 'HTTPRoute', metadata: { name: 'r' }, spec: {} });
  const followed = await follow(context, { cluster, type: HTTPRoute, otherVersions: ['v1beta1', 'v1alpha2'] });
  await untilWatching(followed);
  assert.equal(followed.watch.version, 'v1beta1');
  assert.equal(followed.objects.get('default/r')?.apiVersion, 'gateway.networking.k8s.io/v1beta1');
  // And it follows when the served version moves on.
  cluster.install(HTTPRoute, ['v1', 'v1beta1']);
  cluster.watches.end();
  await waitFor(() => followed.watch.version === 'v1');
  assert.deepEqual(followed.relists, ['better_version']);
  cluster.install(HTTPRoute, ['v1alpha2']);
  cluster.watches.drop();
  await waitFor(() => followed.watch.version === 'v1alpha2');
  assert.equal(followed.objects.size, 1);
});

test('only metadata, of one namespace, by selectors', async (context) => {
  const cluster = await startFakeApiServer(context);
  const { Secret } = resourceTypes;
  const secret = (name: string, namespace: string, type: string): KubernetesObject =>
    cluster.put({ kind: 'Secret', type, data: { a: 'YQ==' }, metadata: { name, namespace } });
  secret('a', 'x', 'Opaque');
  secret('b', 'y', 'Opaque');
  secret('c', 'x', 'helm.sh/release.v1');
  const scope = { namespace: 'x', fieldSelector: 'type!=helm.sh/release.v1', metadataOnly: true };
  const followed = await follow(context, { cluster, type: Secret, scope });
  await untilWatching(followed);
  secret('d', 'y', 'Opaque');
  secret('e', 'x', 'helm.sh/release.v1');
  secret('f', 'x', 'Opaque');
  await waitFor(() => followed.objects.has('x/f'));
  assert.deepEqual(followed.told, ['+ x/a', '+ x/f']);
  for (const object of followed.objects.values()) {
    assert.equal(object.kind, 'Secret');
    assert.equal(object['data'], undefined);
  }
});

test('stop leaves nothing open and tells nothing more', async (context) => {
  const cluster = await startFakeApiServer(context);
  put(cluster, 'a');
  const watching = await follow(context, { cluster });
  await untilWatching(watching);
  await watching.watch.stop();
  await waitFor(() => cluster.watches.count() === 0);
  put(cluster, 'b');

  // In the middle of a list, of a wait, and of looking for a kind.
  const hold = Promise.withResolvers<void>();
  cluster.inject({ verb: 'list', fault: { type: 'wait', until: hold.promise } });
  const listing = await follow(context, { cluster });
  await waitFor(() => cluster.requests.filter(({ verb }) => verb === 'list').length === 2);
  await listing.watch.stop();
  hold.resolve();
  cluster.inject({ verb: 'list', fault: { type: 'status', code: 500 } });
  const waiting = await follow(context, { cluster, timing: { firstRetryMs: 1e9, maxRetryMs: 1e9 } });
  await waitFor(() => waiting.watch.state.state === 'failing');
  await waiting.watch.stop();
  assert.deepEqual(watching.told, ['+ default/a']);
  assert.deepEqual(listing.told, []);
  assert.deepEqual(listing.states, []);
  assert.equal(waiting.states.length, 1);
});

test('an object whose telling fails is told again', async (context) => {
  const cluster = await startFakeApiServer(context);
  let isBroken = true;
  const told: string[] = [];
  const followed = await follow(context, {
    cluster,
    onChange(object) {
      if (isBroken && object.metadata.name === 'b') {
        isBroken = false;
        throw new Error('listener');
      }
      told.push(object.metadata.name);
    },
  });
  await untilWatching(followed);
  for (const name of ['a', 'b', 'c']) put(cluster, name);
  await waitFor(() => told.includes('c'));
  assert.deepEqual(told, ['a', 'b', 'c']);
});
