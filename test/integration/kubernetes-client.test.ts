// The Kubernetes client over real sockets: every call, every way in which the API server can say no or nothing at all.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, ApiUnreachableError, type KubernetesObject, type WatchEvent } from '../../src/kubernetes/client.ts';
import { createRestClient } from '../../src/kubernetes/rest-client.ts';
import { resourceTypes } from '../../src/kubernetes/resource-type.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import { startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

const { ConfigMap, Deployment, Gateway, HTTPRoute, Namespace, Secret } = resourceTypes;

function makeConfigMap(name: string, data: Record<string, string> = {}): KubernetesObject {
  return { metadata: { name, namespace: 'default' }, data };
}

async function failing(promise: Promise<unknown>): Promise<ApiError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    return error;
  }
  assert.fail('the call succeeded');
}

async function unanswered(promise: Promise<unknown>): Promise<ApiUnreachableError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof ApiUnreachableError, String(error));
    return error;
  }
  assert.fail('the call succeeded');
}

test('objects are created, read, replaced, patched and deleted', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  const created = await client.create(ConfigMap, makeConfigMap('one', { a: '1' }));
  assert.equal(created.kind, 'ConfigMap');
  assert.deepEqual((await client.get(ConfigMap, { namespace: 'default', name: 'one' }))['data'], { a: '1' });

  const replaced = await client.replace(ConfigMap, { ...created, data: { a: '2' } });
  assert.notEqual(replaced.metadata.resourceVersion, created.metadata.resourceVersion);
  const patched = await client.mergePatch(ConfigMap, created.metadata, { data: { a: null, b: '3' } });
  assert.deepEqual(patched['data'], { b: '3' });

  await client.delete(ConfigMap, created.metadata);
  assert.equal(cluster.find('ConfigMap', 'default/one'), undefined);
  await client.delete(ConfigMap, created.metadata);
  assert.equal((await failing(client.get(ConfigMap, created.metadata))).status.reason, 'NotFound');
});

test('every write names us as field manager and user agent', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect('mcp-gateway-controller');
  const created = await client.create(ConfigMap, makeConfigMap('one'));
  await client.replace(ConfigMap, { ...created, data: { a: '2' } });
  await client.mergePatch(ConfigMap, created.metadata, { data: { b: '3' } });
  await client.apply(ConfigMap, makeConfigMap('two'));
  const gateway = cluster.put({ kind: 'Gateway', metadata: { name: 'web' }, spec: {} });
  await client.replaceStatus(Gateway, { ...gateway, status: { addresses: [] } });
  assert.equal(cluster.requests.length, 5);
  for (const request of cluster.requests) {
    assert.equal(request.query.get('fieldManager'), 'mcp-gateway-controller', request.method);
    assert.equal(request.headers['user-agent'], 'mcp-gateway-controller');
  }
});

test('a resourceVersion that is not the newest is a conflict, named with what was asked', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  const first = cluster.put({ kind: 'Gateway', metadata: { name: 'web' }, spec: {} });
  cluster.change('Gateway', 'default/web', (gateway) => {
    gateway['spec'] = { gatewayClassName: 'proxy' };
  });
  const error = await failing(client.replaceStatus(Gateway, { ...first, status: {} }));
  assert.equal(error.status.reason, 'Conflict');
  assert.equal(error.status.code, 409);
  assert.match(
    error.message,
    /^cannot update the status of gateways\.gateway\.networking\.k8s\.io default\/web: .*has been modified/,
  );
});

test('writing the status changes the status alone', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  const gateway = cluster.put({ kind: 'Gateway', metadata: { name: 'web' }, spec: { gatewayClassName: 'proxy' } });
  const written = await client.replaceStatus(Gateway, { ...gateway, spec: {}, status: { addresses: [] } });
  assert.deepEqual(written['spec'], { gatewayClassName: 'proxy' });
  assert.deepEqual(written['status'], { addresses: [] });
  assert.equal(written.metadata.generation, gateway.metadata.generation);
});

test('apply creates, merges, gives up what is no longer applied, and refuses what others own', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  const object = {
    metadata: { name: 'web', namespace: 'default', labels: { app: 'web', tier: 'edge' } },
    spec: { replicas: 2, paused: false },
  };
  const created = await client.apply(Deployment, object);
  assert.equal(created.apiVersion, 'apps/v1');
  const again = await client.apply(Deployment, object);
  assert.equal(again.metadata.resourceVersion, created.metadata.resourceVersion, 'nothing to change');

  const smaller = { metadata: { ...object.metadata, labels: { app: 'web' } }, spec: { replicas: 2 } };
  const merged = await client.apply(Deployment, smaller);
  assert.deepEqual(merged.metadata.labels, { app: 'web' });
  assert.deepEqual(merged['spec'], { replicas: 2 });

  cluster.change('Deployment', 'default/web', (deployment) => {
    deployment['spec'].replicas = 5;
  });
  const error = await failing(client.apply(Deployment, smaller));
  assert.equal(error.status.reason, 'Conflict');
  assert.match(error.message, /conflict with "kubectl": \.spec\.replicas/);
  const forced = await client.apply(Deployment, smaller, { force: true });
  assert.deepEqual(forced['spec'], { replicas: 2 });

  const dry = await client.apply(Deployment, { ...smaller, spec: { replicas: 9 } }, { force: true, dryRun: true });
  assert.deepEqual(dry['spec'], { replicas: 9 });
  assert.deepEqual(cluster.find('Deployment', 'default/web')?.['spec'], { replicas: 2 });
});

test('a uid is a precondition of apply and of delete', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  const gone = { metadata: { name: 'x', namespace: 'default', uid: '0' } };
  assert.equal((await failing(client.apply(ConfigMap, gone))).status.reason, 'Conflict');
  cluster.put({ kind: 'ConfigMap', metadata: { name: 'x' } });
  // As the real one words it: 409 where there is none, 422 where there is another.
  assert.equal((await failing(client.apply(ConfigMap, gone))).status.reason, 'Invalid');
  assert.equal((await failing(client.delete(ConfigMap, gone.metadata, { uid: '0' }))).status.reason, 'Conflict');
  assert.ok(cluster.find('ConfigMap', 'default/x'));
});

test('a name that is empty or climbs is never sent', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  for (const name of ['', '.', '..', 'a/b', 'a%2fb']) {
    assert.equal((await failing(client.delete(Secret, { namespace: 'default', name }))).status.reason, 'BadRequest');
    assert.equal((await failing(client.get(Secret, { namespace: name, name: 'x' }))).status.reason, 'BadRequest');
  }
  assert.equal((await failing(client.get(Secret, { name: 'x' }))).status.reason, 'BadRequest');
  assert.equal((await failing(client.create(Secret, { metadata: { name: 'x' } }))).status.reason, 'BadRequest');
  assert.deepEqual(cluster.requests, []);
});

test('lists come in pages of 500, and in one piece when asked', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  for (let index = 0; index < 1_201; index += 1) cluster.put({ kind: 'ConfigMap', metadata: { name: `c${index}` } });
  const sizes: number[] = [];
  let next: string | undefined;
  do {
    const page = await client.list(ConfigMap, {}, { continue: next });
    sizes.push(page.items.length);
    next = page.continue;
    assert.equal(page.items[0]?.kind, 'ConfigMap');
    assert.equal(page.items[0].apiVersion, 'v1');
  } while (next !== undefined);
  assert.deepEqual(sizes, [500, 500, 201]);
  assert.equal((await client.list(ConfigMap, {}, { limit: 0 })).items.length, 1_201);
});

test('lists are of one namespace, by selectors, or of metadata only', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  cluster.put({
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name: 'a', namespace: 'x', labels: { app: 'a' } },
  });
  cluster.put({ kind: 'Secret', type: 'helm.sh/release.v1', metadata: { name: 'b', namespace: 'y' } });
  const names = async (scope: object): Promise<string[]> =>
    (await client.list(Secret, scope)).items.map(({ metadata }) => metadata.name);
  assert.deepEqual(await names({}), ['a', 'b']);
  assert.deepEqual(await names({ namespace: 'x' }), ['a']);
  assert.deepEqual(await names({ labelSelector: 'app=a' }), ['a']);
  assert.deepEqual(await names({ fieldSelector: 'type!=helm.sh/release.v1' }), ['a']);
  const { items } = await client.list(Secret, { namespace: 'x', metadataOnly: true });
  assert.deepEqual(Object.keys(items[0]!), ['apiVersion', 'kind', 'metadata']);
  assert.equal(items[0]!.kind, 'Secret');
});

async function take(events: AsyncIterable<WatchEvent>, count: number): Promise<WatchEvent[]> {
  const taken: WatchEvent[] = [];
  for await (const event of events) {
    taken.push(event);
    if (taken.length === count) break;
  }
  return taken;
}

test('a watch tells what happens, with bookmarks, and asks to end after 5 to 10 minutes', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  const { resourceVersion } = await client.list(ConfigMap, {});
  const events = client.watch(ConfigMap, {}, resourceVersion, new AbortController().signal);
  const taken = take(events, 4);
  const first = cluster.put({ kind: 'ConfigMap', metadata: { name: 'a' } });
  cluster.put({ kind: 'ConfigMap', metadata: { name: 'a' }, data: { x: '1' } });
  cluster.delete('ConfigMap', 'default/a');
  await waitFor(() => cluster.watches.count() === 1);
  cluster.watches.sendBookmarks();
  const [added, modified, deleted, bookmark] = await taken;
  assert.ok(added?.type === 'ADDED' && added.object.metadata.uid === first.metadata.uid);
  assert.ok(modified?.type === 'MODIFIED' && deleted?.type === 'DELETED' && bookmark?.type === 'BOOKMARK');
  assert.ok(Number(bookmark.object.metadata.resourceVersion) >= Number(deleted.object.metadata.resourceVersion));
  const { query } = cluster.requests.at(-1)!;
  assert.equal(query.get('allowWatchBookmarks'), 'true');
  assert.ok(Number(query.get('timeoutSeconds')) >= 300 && Number(query.get('timeoutSeconds')) <= 600);
  await waitFor(() => cluster.watches.count() === 0);
});

test('a watch of an expired version fails with 410, or has it as an event', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  const { resourceVersion } = await client.list(ConfigMap, {});
  const watch = (): AsyncIterable<WatchEvent> =>
    client.watch(ConfigMap, {}, resourceVersion, new AbortController().signal);
  cluster.expireHistory('status');
  const error = await failing(take(watch(), 1));
  assert.equal(error.status.code, 410);
  assert.match(error.message, /^cannot watch configmaps: too old resource version/);
  cluster.expireHistory('event');
  const [event] = await take(watch(), 1);
  assert.ok(event?.type === 'ERROR' && event.status.code === 410 && event.status.reason === 'Expired');
});

test('a watch ends with the signal, and leaves no connection behind', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  const controller = new AbortController();
  const taken = take(client.watch(ConfigMap, {}, '', controller.signal), 1);
  await waitFor(() => cluster.watches.count() === 1);
  controller.abort(new Error('enough'));
  await assert.rejects(taken, /^Error: enough$/);
  await waitFor(() => cluster.connections === 0);
});

test('a watch that is cut, or is none, fails', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  const { signal } = new AbortController();
  const cut = take(client.watch(ConfigMap, {}, '', signal), 1);
  await waitFor(() => cluster.watches.count() === 1);
  cluster.watches.drop();
  assert.match((await unanswered(cut)).message, /^cannot watch configmaps: no answer from http/);
  await waitFor(() => cluster.watches.count() === 0);
  for (const text of ['<html>\n', '[]\n', '{"type":"ADDED"}\n', '{"type":"ADDED","object":{}}\n']) {
    const broken = take(client.watch(ConfigMap, {}, '', signal), 1);
    await waitFor(() => cluster.watches.count() === 1);
    cluster.watches.writeRaw(text);
    assert.match((await unanswered(broken)).message, /^cannot watch configmaps: an event/);
    await waitFor(() => cluster.watches.count() === 0);
  }
  const halved = take(client.watch(ConfigMap, {}, '', signal), 1);
  await waitFor(() => cluster.watches.count() === 1);
  cluster.watches.writeRaw('{"type":"ADDED",');
  cluster.watches.end();
  await unanswered(halved);
});

test('an answer that is none is told as such', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  cluster.inject({ verb: 'list', fault: { type: 'garbage' } });
  assert.match(
    (await unanswered(client.list(Secret, {}))).message,
    /^cannot list secrets: the answer of http\S+ is not JSON$/,
  );
  cluster.inject({ verb: 'list', fault: { type: 'cut' } });
  await unanswered(client.list(Secret, {}));
  cluster.inject({ verb: 'list', fault: { type: 'drop' } });
  await unanswered(client.list(Secret, { namespace: 'default' }));
  assert.ok(await client.list(Secret, {}), 'and the next call works');
});

test('a burst of calls shares some connections, and watches do not wait for them', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  const hold = Promise.withResolvers<void>();
  cluster.inject({ verb: 'create', times: Infinity, fault: { type: 'wait', until: hold.promise } });
  const calls = Array.from({ length: 200 }, (_, index) => client.create(ConfigMap, makeConfigMap(`c${index}`)));
  await waitFor(() => cluster.requests.length === 32);
  const watched = take(client.watch(ConfigMap, {}, '', new AbortController().signal), 1);
  await waitFor(() => cluster.watches.count() === 1);
  assert.equal(cluster.connections, 33);
  hold.resolve();
  await Promise.all(calls);
  assert.equal((await watched).length, 1);
  assert.equal(cluster.list('ConfigMap').length, 200);
});

test('429 and 500 come with their reason and when to come back', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  cluster.inject({ fault: { type: 'status', code: 429, retryAfterSeconds: 7 } });
  const throttled = await failing(client.list(Secret, {}));
  assert.equal(throttled.status.reason, 'TooManyRequests');
  assert.equal(throttled.status.retryAfterSeconds, 7);
  cluster.inject({ fault: { type: 'status', code: 500, message: 'etcd is away' } });
  const broken = await failing(client.get(Namespace, { name: 'default' }));
  assert.equal(broken.message, 'cannot get namespaces default: etcd is away');
});

test('a kind that is not installed is NotFound', async (context) => {
  const cluster = await startFakeApiServer(context, { without: ['HTTPRoute'] });
  const error = await failing(cluster.connect().list(HTTPRoute, { namespace: 'default' }));
  assert.equal(error.status.code, 404);
  assert.equal(error.status.reason, 'NotFound');
});

test('a call without an answer fails in time, one that is called off at once', async (context) => {
  const cluster = await startFakeApiServer(context);
  // For all of them: a call may be given up before it has reached the server.
  cluster.inject({ times: Number.POSITIVE_INFINITY, fault: { type: 'hang' } });
  const controller = new AbortController();
  const call = cluster.connect().list(Secret, {}, {}, controller.signal);
  await waitFor(() => cluster.requests.length === 1);
  controller.abort(new Error('enough'));
  await assert.rejects(call, /^Error: enough$/);
  const client = createRestClient({
    server: cluster.url,
    name: 'test',
    timeoutMs: 50,
    readAccess: async () => ({ authorization: undefined, tls: undefined }),
  });
  context.after(() => client.close());
  assert.match((await unanswered(client.list(Secret, {}))).message, /no response within/);
  assert.match(
    (await unanswered(take(client.watch(Secret, {}, '', new AbortController().signal), 1))).message,
    /no response within/,
  );
});

test('an API server that is away is named, and found again when it is back', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  await client.list(Secret, {});
  await cluster.goAway();
  const error = await unanswered(client.list(Secret, {}));
  assert.match(
    error.message,
    /^cannot list secrets: no answer from http:\/\/127\.0\.0\.1:\d+: .*(ECONNREFUSED|closed|reset)/i,
  );
  await cluster.comeBack();
  await client.list(Secret, {});
});

test('a refused token is read again once, and no message holds it', async (context) => {
  const cluster = await startFakeApiServer(context);
  let token = 'token-old-secret';
  const asked: boolean[] = [];
  const client = createRestClient({
    server: cluster.url,
    name: 'test',
    readAccess: async (fresh) => {
      asked.push(fresh);
      return { authorization: `Bearer ${token}`, tls: undefined };
    },
  });
  context.after(() => client.close());
  cluster.acceptedTokens = new Set(['token-new-secret']);
  const error = await failing(client.list(Secret, {}));
  assert.equal(error.status.reason, 'Unauthorized');
  assert.doesNotMatch(`${error.message} ${error.stack}`, /token-/);
  assert.deepEqual(asked, [false, true]);
  assert.equal(cluster.requests.length, 1, 'the same token is not tried twice');

  cluster.inject({
    when() {
      // Rotates while the request is under way.
      token = 'token-new-secret';
      return false;
    },
    fault: { type: 'drop' },
  });
  assert.ok(await client.list(Secret, {}));
});

test('TLS: the authority is required, client certificates are shown and replaced', async (context) => {
  const clients = createAuthority('clients');
  const cluster = await startFakeApiServer(context, { tls: true, clientAuthority: clients.cert });
  const certificate = createCertificate({ names: ['controller'], issuer: clients });
  const stranger = createCertificate({ names: ['controller'], issuer: createAuthority('others') });
  let tls: { ca?: string; cert?: string; key?: string; rejectUnauthorized?: boolean } = { ...certificate };
  const client = createRestClient({
    server: cluster.url,
    name: 'test',
    readAccess: async () => ({ authorization: undefined, tls }),
  });
  context.after(() => client.close());
  assert.match((await unanswered(client.list(Secret, {}))).message, /certificate|issuer/i);
  tls = { ca: cluster.authority!, ...stranger };
  await unanswered(client.list(Secret, {}));
  tls = { ca: cluster.authority!, ...certificate };
  assert.ok(await client.list(Secret, {}));
  tls = { ...certificate, rejectUnauthorized: false };
  assert.ok(await client.list(Secret, {}));
});

test('a call after the end fails by itself, also when certificates were replaced meanwhile', async (context) => {
  const cluster = await startFakeApiServer(context, { tls: true });
  let tls = { ca: cluster.authority! };
  const client = createRestClient({
    server: cluster.url,
    name: 'test',
    readAccess: async () => ({ authorization: undefined, tls }),
  });
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  context.after(() => process.off('unhandledRejection', note));
  assert.ok(await client.list(Secret, {}));
  await client.close();
  tls = { ca: `${cluster.authority}\n` };
  await unanswered(client.list(Secret, {}));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(unhandled, []);
  assert.equal(cluster.connections, 0);
});

test('any path can be read, and reviews are posted', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = cluster.connect();
  assert.equal(((await client.getPath('/version')) as { gitVersion: string }).gitVersion, 'v1.36.3');
  cluster.reviewToken = ({ token, audiences }) => ({ authenticated: token === 'good', audiences });
  const review = await client.post('/apis/authentication.k8s.io/v1/tokenreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    metadata: {},
    spec: { token: 'good', audiences: ['proxy-xds'] },
  });
  assert.deepEqual(review['status'], { authenticated: true, audiences: ['proxy-xds'] });
});

test('a path in front of the API is kept', async (context) => {
  const cluster = await startFakeApiServer(context);
  const client = createRestClient({
    server: `${cluster.url}/k8s/clusters/c-1/`,
    name: 'test',
    readAccess: async () => ({ authorization: undefined, tls: undefined }),
  });
  context.after(() => client.close());
  await failing(client.list(Secret, {}));
  assert.equal(cluster.requests[0]?.path, '/k8s/clusters/c-1/api/v1/secrets');
});
