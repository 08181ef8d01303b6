// Statuses on their way to an API server that others write to as well.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { controllerName } from '../api/gateway-class.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { ApiError, ApiUnreachableError, type KubernetesObject } from '../kubernetes/client.ts';
import type { SeenStatus } from '../sources/kubernetes/kubernetes-source.ts';
import {
  createCondition,
  type HttpRouteStatus,
  type InferencePoolStatus,
  type Statuses,
} from '../translate/conditions.ts';
import { type StatusContext, StatusWriter } from './write-statuses.ts';

const nothing: Statuses = {
  gatewayClasses: {},
  gateways: {},
  httpRoutes: {},
  proxyBackends: {},
  proxyPolicies: {},
  inferencePools: {},
};

/** Objects by kind/namespace/name; the cache follows only when it is told to. */
function createApi() {
  const objects = new Map<string, KubernetesObject>();
  const cache = new Map<string, KubernetesObject>();
  const calls: string[] = [];
  let version = 0;
  let interfere: ((key: string) => void) | undefined;
  let overtake: ((key: string) => void) | undefined;
  let failure: Error | undefined;
  const put = (key: string, status: unknown, generation = 1): void => {
    version += 1;
    const [, namespace, name] = key.split('/') as [string, string, string];
    objects.set(key, {
      metadata: { name, namespace, uid: `uid-${key}`, resourceVersion: String(version), generation },
      status,
    });
  };
  const follow = (): void => {
    cache.clear();
    for (const [key, object] of objects) cache.set(key, object);
  };
  const refuse = (reason: string): ApiError =>
    new ApiError(reason, {
      code: reason === 'NotFound' ? 404 : 409,
      reason,
      message: reason,
      retryAfterSeconds: undefined,
    });
  return {
    objects,
    calls,
    put,
    follow,
    /** Done by somebody else right before each write. */
    setInterference: (run: typeof interfere) => (interfere = run),
    /** Done between each write and its answer. */
    setOvertaking: (run: typeof overtake) => (overtake = run),
    setFailure: (error: Error | undefined) => (failure = error),
    forget: (key: string) => cache.delete(key),
    findStatus(kind: string, namespace: string, name: string): SeenStatus | undefined {
      const object = cache.get(`${kind}/${namespace}/${name}`);
      if (object === undefined) return undefined;
      const { uid, resourceVersion, generation } = object.metadata;
      return { uid: uid!, resourceVersion: resourceVersion!, generation: generation!, status: object['status'] };
    },
    client: {
      async get(
        type: { readonly kind: string },
        { namespace, name }: { namespace?: string | undefined; name: string },
      ) {
        const key = `${type.kind}/${namespace}/${name}`;
        calls.push(`get ${key}`);
        const object = objects.get(key);
        if (object === undefined) throw refuse('NotFound');
        return object;
      },
      async replaceStatus(type: { readonly kind: string }, { metadata, status }: KubernetesObject) {
        const key = `${type.kind}/${metadata.namespace}/${metadata.name}`;
        calls.push(`put ${key}`);
        await Promise.resolve();
        if (failure !== undefined) throw failure;
        interfere?.(key);
        const object = objects.get(key);
        if (object === undefined) throw refuse('NotFound');
        if (object.metadata.resourceVersion !== metadata.resourceVersion) throw refuse('Conflict');
        put(key, status, object.metadata.generation);
        const answer = objects.get(key)!;
        overtake?.(key);
        return answer;
      },
    },
  };
}

function createWriter(
  api: ReturnType<typeof createApi>,
  options: { isLeading?: () => boolean; clock?: typeof systemClock } = {},
) {
  const counts = { written: 0, conflicted: 0, failed: 0 };
  const clock = options.clock ?? createManualClock();
  const writer = new StatusWriter({
    client: api.client,
    log: silentLog,
    clock,
    random: () => 0,
    observer: {
      statusWritten: () => (counts.written += 1),
      statusConflicted: () => (counts.conflicted += 1),
      statusFailed: () => (counts.failed += 1),
    },
    findStatus: (kind, namespace, name) => api.findStatus(kind, namespace, name),
    isLeading: options.isLeading ?? (() => true),
  });
  return { writer, counts, clock: clock as ReturnType<typeof createManualClock> };
}

function around(overrides: Partial<StatusContext> = {}): StatusContext {
  return {
    listNames: () => [],
    explainRelease: () => undefined,
    isSelected: () => true,
    ...overrides,
  };
}

function route(message: string, generation = 1): HttpRouteStatus {
  return {
    parents: [
      {
        parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' },
        controllerName,
        conditions: [createCondition('routeParent', 'Accepted', 'True', 'Accepted', message, generation)],
      },
    ],
  };
}

function routes(...names: readonly string[]): Statuses {
  return { ...nothing, httpRoutes: Object.fromEntries(names.map((name) => [name, route('words')])) };
}

function readMessage(api: ReturnType<typeof createApi>, key: string): string | undefined {
  const status = api.objects.get(key)?.['status'] as HttpRouteStatus | undefined;
  return status?.parents.find((parent) => parent.controllerName === controllerName)?.conditions[0]?.message;
}

const key = 'HTTPRoute/team/a';

describe('writing', () => {
  test('a status is written once, and not again when nothing changed', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    const { writer, counts, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(0);
    assert.equal(readMessage(api, key), 'words');
    writer.setStatuses(routes('team/a'), around());
    // The watch brings our own write back.
    api.follow();
    writer.recheck('HTTPRoute', 'team', 'a');
    await clock.advance(0);
    assert.deepEqual([counts.written, api.calls], [1, [`put ${key}`]]);
    assert.equal(writer.pending, 0);
  });

  test('nothing is written by a follower, everything when it becomes the leader, nothing after it lost', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.put('HTTPRoute/team/b', undefined);
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.setStatuses(routes('team/a', 'team/b'), around());
    await clock.advance(0);
    assert.deepEqual(api.calls, []);
    writer.start();
    await clock.advance(0);
    assert.deepEqual(api.calls, [`put ${key}`, 'put HTTPRoute/team/b']);
    await writer.stop();
    writer.setStatuses({ ...nothing, httpRoutes: { 'team/a': route('other words') } }, around());
    await clock.advance(60_000);
    assert.equal(api.calls.length, 2);
  });

  test('a process that does not know yet that it lost the lease writes nothing', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    let isLeading = false;
    const { writer, clock } = createWriter(api, { isLeading: () => isLeading });
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(5_000);
    assert.deepEqual(api.calls, []);
    // A clock that was set, or a machine that was suspended: the Lease turns out to be ours still.
    isLeading = true;
    await clock.advance(5_000);
    assert.equal(readMessage(api, key), 'words');
    isLeading = false;
    writer.setStatuses({ ...nothing, httpRoutes: { 'team/a': route('later') } }, around());
    await clock.advance(5_000);
    await writer.stop();
    assert.equal(writer.pending, 0);
    assert.equal(readMessage(api, key), 'words');
  });

  test('a second change before the caches know of the first is based on the first', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    const { writer, counts, clock } = createWriter(api);
    writer.start();
    for (const message of ['one', 'two', 'three']) {
      writer.setStatuses({ ...nothing, httpRoutes: { 'team/a': route(message) } }, around());
      await clock.advance(0);
      assert.equal(readMessage(api, key), message);
    }
    assert.deepEqual([counts.written, counts.conflicted], [3, 0]);
  });

  test('a conflict is read and merged again', async () => {
    const api = createApi();
    const other = { parentRef: { name: 'x' }, controllerName: 'x/y', conditions: [] };
    api.put(key, undefined);
    api.follow();
    api.put(key, { parents: [other] });
    const { writer, counts, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(0);
    await clock.advance(0);
    assert.equal(counts.conflicted, 1);
    assert.deepEqual((api.objects.get(key)!['status'] as HttpRouteStatus).parents[0], other);
    assert.equal(readMessage(api, key), 'words');
  });

  test('a thousand conflicts in a row are survived, and nothing of the others is lost', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    let rivals = 0;
    api.setInterference(() => {
      if (rivals === 1_000) return;
      rivals += 1;
      api.put(key, { parents: [{ parentRef: { name: 'x' }, controllerName: 'x/y', conditions: [], rivals }] });
    });
    const { writer, counts, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    while (writer.pending > 0) await clock.advance(250);
    assert.deepEqual([counts.conflicted, counts.written], [1_000, 1]);
    const { parents } = api.objects.get(key)!['status'] as { parents: { rivals?: number }[] };
    assert.equal(parents[0]?.rivals, 1_000);
    assert.equal(readMessage(api, key), 'words');
  });

  test('what somebody changed back is repaired', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(0);
    api.put(key, { parents: [] });
    api.follow();
    writer.recheck('HTTPRoute', 'team', 'a');
    await clock.advance(0);
    assert.equal(readMessage(api, key), 'words');
  });

  test('what somebody changed back is repaired, also when the watch told of it before our own write was answered', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    const { writer, counts, clock } = createWriter(api);
    api.setOvertaking(() => {
      api.setOvertaking(undefined);
      api.put(key, { parents: [] });
      api.follow();
      writer.recheck('HTTPRoute', 'team', 'a');
    });
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(1_000);
    assert.equal(readMessage(api, key), 'words');
    assert.deepEqual([counts.written, counts.conflicted, writer.pending], [2, 0, 0]);
  });

  test('what the watch tells between a write and its answer, and was written before it, is not taken for newer', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    api.put(key, { parents: [] });
    const { writer, counts, clock } = createWriter(api);
    // The first try is a conflict; the second is based on what was read, which the watch tells of only now.
    const before = api.objects.get(key)!;
    api.setOvertaking(() => {
      const written = api.objects.get(key)!;
      api.objects.set(key, before);
      api.follow();
      api.objects.set(key, written);
      writer.recheck('HTTPRoute', 'team', 'a');
    });
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(1_000);
    assert.equal(readMessage(api, key), 'words');
    assert.deepEqual([counts.written, counts.conflicted, writer.pending], [1, 1, 0]);
  });

  test('somebody who changes it back again and again is answered less and less often', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    const { writer, counts, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(0);
    for (let second = 0; second < 60; second += 1) {
      for (let times = 0; times < 10; times += 1) {
        api.put(key, { parents: [] });
        api.follow();
        writer.recheck('HTTPRoute', 'team', 'a');
        await clock.advance(100);
      }
    }
    assert.ok(counts.written > 10 && counts.written < 30, `${counts.written} writes in a minute`);
    await clock.advance(10_000);
    assert.equal(readMessage(api, key), 'words', 'and in the end it is right');
  });

  test('an object that is gone is let go', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    api.objects.delete(key);
    const { writer, counts, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(60_000);
    assert.deepEqual([api.calls, counts.failed, writer.pending], [[`put ${key}`], 0, 0]);
  });

  test('one that was made anew under its name, as it was before, is told the same again', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(0);
    api.objects.delete(key);
    api.put(key, undefined);
    api.follow();
    writer.setStatuses(routes('team/a'), around());
    writer.recheck('HTTPRoute', 'team', 'a');
    await clock.advance(0);
    assert.equal(readMessage(api, key), 'words');
  });

  test('one that was made anew under its name waits for its own translation', async () => {
    const api = createApi();
    api.put(key, undefined, 1);
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.start();
    writer.setStatuses({ ...nothing, httpRoutes: { 'team/a': route('of the one before', 5) } }, around());
    await clock.advance(0);
    assert.deepEqual(api.calls, []);
    writer.setStatuses({ ...nothing, httpRoutes: { 'team/a': route('of this one', 1) } }, around());
    await clock.advance(0);
    assert.equal(readMessage(api, key), 'of this one');
  });

  test('an API server that is away is asked less and less often, and the newest status is written in the end', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    api.setFailure(new ApiUnreachableError('connection refused'));
    const { writer, counts, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(0);
    await clock.advance(600_000);
    assert.ok(counts.failed > 10 && counts.failed < 40, `${counts.failed} tries in ten minutes`);
    writer.setStatuses({ ...nothing, httpRoutes: { 'team/a': route('newest') } }, around());
    api.setFailure(undefined);
    await clock.advance(45_000);
    assert.equal(readMessage(api, key), 'newest');
  });

  test('an API server that is busy is left alone for as long as it asks, up to 30 s', async () => {
    for (const [retryAfterSeconds, waitMs] of [
      [5, 5_000],
      [86_400, 30_000],
    ] as const) {
      const api = createApi();
      api.put(key, undefined);
      api.follow();
      api.setFailure(
        new ApiError('busy', { code: 429, reason: 'TooManyRequests', message: 'busy', retryAfterSeconds }),
      );
      const { writer, counts, clock } = createWriter(api);
      writer.start();
      writer.setStatuses(routes('team/a'), around());
      await clock.advance(0);
      assert.equal(counts.failed, 1);
      await clock.advance(waitMs - 1);
      assert.equal(counts.failed, 1);
      // The queue adds jitter.
      await clock.advance(waitMs);
      assert.equal(counts.failed, 2);
      await writer.stop();
    }
  });
});

describe('taking back', () => {
  const own = { parents: route('old').parents };
  const other = { parentRef: { name: 'x' }, controllerName: 'x/y', conditions: [] };

  test('a route without parents of ours loses our entries, not those of others', async () => {
    const api = createApi();
    api.put(key, { parents: [other] });
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(0);
    api.follow();
    writer.setStatuses(nothing, around());
    await clock.advance(0);
    assert.deepEqual(api.objects.get(key)!['status'], { parents: [other] });
  });

  test('what an earlier leader left in routes is removed by the next', async () => {
    const api = createApi();
    api.put(key, own);
    api.put('HTTPRoute/team/other', { parents: [other] });
    api.follow();
    const { writer, counts, clock } = createWriter(api);
    const surroundings = around({ listNames: (kind) => (kind === 'HTTPRoute' ? ['team/a', 'team/other'] : []) });
    writer.setStatuses(nothing, surroundings);
    writer.start();
    await clock.advance(0);
    assert.deepEqual(api.objects.get(key)!['status'], { parents: [] });
    assert.equal(counts.written, 1);
  });

  test('in a namespace that is not looked after any more it is read first', async () => {
    const api = createApi();
    api.put(key, undefined);
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(routes('team/a'), around());
    await clock.advance(0);
    api.forget(key);
    writer.setStatuses(nothing, around({ isSelected: () => false }));
    await clock.advance(0);
    assert.deepEqual(api.objects.get(key)!['status'], { parents: [] });
    assert.deepEqual(api.calls, [`put ${key}`, `get ${key}`, `put ${key}`]);
  });

  const gatewayKey = 'Gateway/team/edge';
  const gateways: Statuses = {
    ...nothing,
    gateways: {
      'team/edge': {
        conditions: [createCondition('gateway', 'Accepted', 'True', 'Accepted', 'words', 1)],
        listeners: [],
      },
    },
  };
  const release = { message: 'not looked after', isOfAnother: true };
  const readConditions = (api: ReturnType<typeof createApi>): unknown =>
    (
      api.objects.get(gatewayKey)!['status'] as { conditions: { type: string; status: string; message: string }[] }
    ).conditions.map(({ type, status, message }) => [type, status, message]);

  test('a ProxyBackend there loses our conditions, and keeps those of others', async () => {
    const api = createApi();
    const backendKey = 'ProxyBackend/team/tickets';
    const foreign = { type: 'example.com/Seen', status: 'True', reason: 'Seen', message: '' };
    api.put(backendKey, { conditions: [foreign] });
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.start();
    const conditions = [createCondition('proxyBackend', 'Accepted', 'True', 'Accepted', '', 1)];
    writer.setStatuses({ ...nothing, proxyBackends: { 'team/tickets': { conditions } } }, around());
    await clock.advance(0);
    assert.equal((api.objects.get(backendKey)!['status'] as { conditions: unknown[] }).conditions.length, 2);
    api.forget(backendKey);
    writer.setStatuses(nothing, around({ isSelected: () => false }));
    await clock.advance(0);
    assert.deepEqual(api.objects.get(backendKey)!['status'], { conditions: [foreign] });
  });

  test('a Gateway that changed its class says that it waits, as long as nobody else wrote it', async () => {
    const api = createApi();
    api.put(gatewayKey, undefined);
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(gateways, around());
    await clock.advance(0);
    api.follow();
    writer.setStatuses(nothing, around({ explainRelease: () => release }));
    await clock.advance(0);
    assert.deepEqual(readConditions(api), [
      ['Accepted', 'Unknown', 'not looked after'],
      ['Programmed', 'Unknown', 'not looked after'],
    ]);
  });

  test('a Gateway that another controller has taken is left alone, also when it did so a moment ago', async () => {
    const api = createApi();
    api.put(gatewayKey, undefined);
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(gateways, around());
    await clock.advance(0);
    api.follow();
    const theirs = { conditions: [{ type: 'Accepted', status: 'True', message: 'theirs' }] };
    api.setInterference(() => api.put(gatewayKey, theirs));
    writer.setStatuses(nothing, around({ explainRelease: () => release }));
    await clock.advance(60_000);
    assert.deepEqual(api.objects.get(gatewayKey)!['status'], theirs);
  });

  test('a Gateway that is gone costs nothing', async () => {
    const api = createApi();
    api.put(gatewayKey, undefined);
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(gateways, around());
    await clock.advance(0);
    api.objects.delete(gatewayKey);
    api.follow();
    writer.setStatuses(nothing, around());
    await clock.advance(0);
    assert.deepEqual(api.calls, [`put ${gatewayKey}`]);
  });
});

test('five thousand statuses are written, sixteen at a time', async () => {
  const api = createApi();
  const names = Array.from({ length: 5_000 }, (_, index) => `team/r${index}`);
  for (const name of names) api.put(`HTTPRoute/${name}`, undefined);
  api.follow();
  let open = 0;
  let most = 0;
  const { client } = api;
  const replaceStatus = client.replaceStatus.bind(client);
  client.replaceStatus = async (...args) => {
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setImmediate(resolve));
    open -= 1;
    return replaceStatus(...args);
  };
  const { writer, counts } = createWriter(api, { clock: systemClock });
  writer.start();
  writer.setStatuses(routes(...names), around());
  while (writer.pending > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([counts.written, most], [5_000, 16]);
});

describe('pools', () => {
  const poolKey = 'InferencePool/team/model';
  const theirs = { parentRef: { name: 'elsewhere' }, conditions: [] };
  const accepted: InferencePoolStatus = {
    parents: [
      {
        parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'team', name: 'edge' },
        controllerName,
        conditions: [createCondition('inferencePoolParent', 'Accepted', 'True', 'Accepted', 'words', 1)],
      },
    ],
  };
  const pools = (status: InferencePoolStatus): Statuses => ({ ...nothing, inferencePools: { 'team/model': status } });
  const readParents = (api: ReturnType<typeof createApi>): readonly (string | undefined)[] =>
    (api.objects.get(poolKey)!['status'] as InferencePoolStatus).parents.map((parent) => parent.controllerName);

  test('our entry comes beside those of others, and goes when no Gateway of ours leads to the pool', async () => {
    const api = createApi();
    api.put(poolKey, { parents: [theirs] });
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(pools(accepted), around());
    await clock.advance(0);
    assert.deepEqual(readParents(api), [undefined, controllerName]);
    api.follow();
    writer.setStatuses(pools({ parents: [] }), around());
    await clock.advance(0);
    assert.deepEqual(readParents(api), [undefined]);
    assert.equal(writer.pending, 0);
  });

  test('a pool that we have nothing to do with is not written at all', async () => {
    const api = createApi();
    for (const status of [undefined, { parents: [theirs] }, { parents: [theirs], more: 1 }]) {
      api.put(poolKey, status);
      api.follow();
      const { writer, clock } = createWriter(api);
      writer.start();
      writer.setStatuses(pools({ parents: [] }), around());
      await clock.advance(0);
      writer.recheck('InferencePool', 'team', 'model');
      await clock.advance(0);
      assert.equal(writer.pending, 0);
    }
    assert.deepEqual(api.calls, []);
  });

  test('what an earlier leader wrote is taken back', async () => {
    const api = createApi();
    api.put(poolKey, { parents: [...accepted.parents, theirs] });
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.setStatuses(pools({ parents: [] }), around());
    writer.start();
    await clock.advance(0);
    assert.deepEqual(readParents(api), [undefined]);
  });

  test('a pool of a namespace that is not looked after any more is read, and ours is taken out of it', async () => {
    const api = createApi();
    api.put(poolKey, undefined);
    api.follow();
    const { writer, clock } = createWriter(api);
    writer.start();
    writer.setStatuses(pools(accepted), around());
    await clock.advance(0);
    api.forget(poolKey);
    writer.setStatuses(nothing, around({ isSelected: () => false }));
    await clock.advance(0);
    assert.deepEqual(readParents(api), []);
    assert.deepEqual(api.calls, [`put ${poolKey}`, `get ${poolKey}`, `put ${poolKey}`]);
  });
});
