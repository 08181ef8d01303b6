// The xDS server over real connections: who is served, what is sent, and what is known of those who are connected.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { DeltaDiscoveryRequestSchema } from '../../src/ir/gen/discovery_pb.ts';
import { startXdsServer } from '../../src/xds/server.ts';
import { XdsListenError } from '../../src/xds/grpc-port.ts';
import { getTypeUrl, makeSnapshot } from '../../src/xds/testing/small-snapshots.ts';
import { silentLog } from '../../src/base/log.ts';
import { gateway, startServer, TestGateway } from './xds-server-fixture.ts';
import { waitFor, waitForValue } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
const first = makeSnapshot({ secrets: { s: '1' }, policies: { p: '1', q: '1' }, routes: { r: '1' } });
const second = makeSnapshot({ secrets: { s: '1' }, policies: { p: '2', q: '1' }, routes: { r: '1' } });

test('a gateway gets its configuration, and is settled when it has answered', options, async (t) => {
  const { server, counts } = await startServer(t);
  server.setSnapshot(gateway, first);
  const peer = new TestGateway(t, server.port).subscribeAll();
  const [connected] = await waitForValue(server.connected, (list) => list[0]?.settled !== undefined);
  assert.deepEqual(connected, {
    nodeId: 'pod-1',
    gateway,
    version: '1.2.3',
    settled: first.digest,
    rejections: [],
    keyProblems: [],
    bindProblems: [],
  });
  assert.equal(peer.client.digest, first.digest);
  assert.deepEqual(
    peer.responses.map(({ typeUrl }) => typeUrl),
    ['secrets', 'backends', 'policies', 'listeners', 'routes'].map((list) => getTypeUrl(list as 'secrets')),
  );
  assert.equal(counts.acknowledged.length, 5);
  assert.equal(counts.open, 1);

  peer.drop();
  await waitForValue(server.connected, (list) => list.length === 0);
  assert.equal(counts.open, 0);
});

test('a change goes to all gateways of its Gateway, and to no other', options, async (t) => {
  const { server } = await startServer(t);
  server.setSnapshot(gateway, first);
  const peers = [1, 2].map(() => new TestGateway(t, server.port).subscribeAll());
  await waitFor(() => peers.every(({ client }) => client.digest === first.digest));
  server.setSnapshot('default/other', makeSnapshot({ secrets: { other: '1' } }));
  server.setSnapshot(gateway, second);
  await waitFor(() => peers.every(({ client }) => client.digest === second.digest));
  for (const { responses } of peers) {
    assert.equal(responses.length, 6);
    assert.deepEqual(
      responses[5]!.resources.map(({ name }) => name),
      ['p'],
    );
  }
});

test('changes in quick succession are one push', options, async (t) => {
  const { server } = await startServer(t);
  server.setSnapshot(gateway, first);
  const peer = new TestGateway(t, server.port).subscribeAll();
  await waitFor(() => peer.client.digest === first.digest);
  for (let index = 0; index < 50; index += 1) server.setSnapshot(gateway, makeSnapshot({ secrets: { s: `${index}` } }));
  server.setSnapshot(gateway, second);
  await waitFor(() => peer.client.digest === second.digest);
  assert.equal(peer.responses.length, 6);
});

test(
  'before a Gateway has a snapshot nothing is sent, and when it has none any more nothing is taken away',
  options,
  async (t) => {
    const { server, counts } = await startServer(t);
    const peer = new TestGateway(t, server.port).subscribeAll();
    await waitForValue(server.connected, (list) => list.length === 1);
    assert.equal(server.connected.get()[0]!.settled, undefined);
    server.setSnapshot(gateway, first);
    await waitFor(() => peer.client.digest === first.digest);
    server.setSnapshot(gateway, undefined);
    // The next one comes after whatever would have been sent for it.
    server.setSnapshot(gateway, second);
    await waitFor(() => peer.client.digest === second.digest);
    assert.ok(peer.responses.every(({ removedResources }) => removedResources.length === 0));
    assert.equal(counts.pushed.length, 6);
  },
);

test('what a gateway rejects is known, in its words, until it is repaired', options, async (t) => {
  const { server, counts } = await startServer(t);
  server.setSnapshot(gateway, first);
  const peer = new TestGateway(t, server.port, { answers: false }).subscribeAll();
  const answer = async (count: number): Promise<void> => {
    await waitFor(() => peer.responses.length === count);
    while (peer.client.unanswered.length > 0) {
      const isRejected = peer.client.unanswered[0]!.resources.some(
        ({ name, version }) => name === 'p' && version === bad,
      );
      peer.send(peer.client.answer(isRejected ? [{ name: 'p', reason: 'no such claim' }] : undefined));
    }
  };
  const bad = first.resources.get(getTypeUrl('policies'))!.get('p')!.version;
  await answer(5);
  const [connected] = await waitForValue(server.connected, (list) => list[0]?.settled === first.digest);
  const rejection = { typeUrl: getTypeUrl('policies'), name: 'p', version: bad, reason: 'no such claim' };
  assert.deepEqual(connected!.rejections, [rejection]);
  assert.deepEqual(counts.rejected, [getTypeUrl('policies')]);
  server.setSnapshot(gateway, second);
  await answer(6);
  const [healed] = await waitForValue(server.connected, (list) => list[0]?.settled === second.digest);
  assert.deepEqual(healed!.rejections, []);
});

test('a gateway that comes back is sent what changed', options, async (t) => {
  const { server } = await startServer(t);
  const other = await startServer(t);
  server.setSnapshot(gateway, first);
  const before = new TestGateway(t, server.port).subscribeAll();
  await waitFor(() => before.client.digest === first.digest);
  before.drop();
  // At another replica: versions are the same there.
  other.server.setSnapshot(gateway, makeSnapshot({ secrets: { s: '1' }, policies: { p: '2', q: '1' }, routes: {} }));
  const after = new TestGateway(t, other.server.port, { client: before.client }).subscribeAll();
  await waitForValue(other.server.connected, (list) => list[0]?.settled !== undefined);
  assert.deepEqual(
    after.responses.map(({ resources, removedResources }) => [resources.map(({ name }) => name), removedResources]),
    [
      [[], []],
      [[], []],
      [['p'], []],
      [[], []],
      [[], ['r']],
    ],
  );
});

test('of two connections of one process, the later one counts', options, async (t) => {
  const { server } = await startServer(t);
  server.setSnapshot(gateway, first);
  const older = new TestGateway(t, server.port).subscribeAll();
  await waitForValue(server.connected, (list) => list[0]?.settled === first.digest);
  const newer = new TestGateway(t, server.port, { answers: false }).subscribeAll();
  await waitForValue(server.connected, (list) => list[0]?.settled === undefined);
  assert.equal(server.connected.get().length, 1);
  newer.drop();
  await waitForValue(server.connected, (list) => list[0]?.settled === first.digest);
  older.drop();
  await waitForValue(server.connected, (list) => list.length === 0);
});

test('a stream that is malformed ends with a status that names the field', options, async (t) => {
  const { server, counts } = await startServer(t);
  const typeUrl = getTypeUrl('secrets');
  const node = { id: 'pod-1', metadata: { namespace: 'default', gateway: 'web' } };
  const cases: readonly [requests: readonly object[], message: RegExp][] = [
    [[{ typeUrl }], /first request of a stream must have a node/],
    [[{ typeUrl, node: { id: 'pod-1' } }], /node\.metadata\.namespace/],
    [[{ typeUrl, node: { ...node, metadata: { namespace: 'a/b', gateway: 'web' } } }], /node\.metadata\.namespace/],
    [[{ typeUrl, node: { ...node, metadata: { namespace: 'default', gateway: 7 } } }], /node\.metadata\.gateway/],
    [[{ node }], /type_url/],
    [
      [
        { typeUrl, node },
        { typeUrl, node: { ...node, id: 'pod-2' } },
      ],
      /node of a stream must not change/,
    ],
  ];
  for (const [requests, message] of cases) {
    const peer = new TestGateway(t, server.port);
    for (const request of requests) peer.send(create(DeltaDiscoveryRequestSchema, request));
    const error = await peer.ended;
    assert.equal(error.code, Code.InvalidArgument, error.message);
    assert.match(error.rawMessage, message);
  }
  await waitForValue(server.connected, (list) => list.length === 0);
  assert.equal(counts.open, 0);
});

test('a gateway that ends its side of the stream is gone', options, async (t) => {
  const { server } = await startServer(t);
  server.setSnapshot(gateway, first);
  const peer = new TestGateway(t, server.port).subscribeAll();
  await waitForValue(server.connected, (list) => list[0]?.settled === first.digest);
  peer.endRequests();
  assert.equal((await peer.ended).code, Code.Canceled);
  await waitForValue(server.connected, (list) => list.length === 0);
});

test(
  'closing ends streams with a status that has gateways come back at once, and frees the port',
  options,
  async (t) => {
    const { server } = await startServer(t);
    server.setSnapshot(gateway, first);
    const peers = [1, 2, 3].map(() => new TestGateway(t, server.port).subscribeAll());
    await waitFor(() => peers.every(({ client }) => client.digest === first.digest));
    const idle = connect(`http://127.0.0.1:${server.port}`);
    t.after(() => idle.destroy());
    await once(idle, 'remoteSettings');
    const goaway = once(idle, 'goaway');
    await server.close();
    assert.equal((await goaway)[0], constants.NGHTTP2_NO_ERROR);
    for (const peer of peers) assert.equal((await peer.ended).code, Code.Unavailable);
    const late = new TestGateway(t, server.port).subscribeAll();
    assert.equal((await late.ended).code, Code.Unavailable);
  },
);

test('a port that is taken is said so', options, async (t) => {
  const { server } = await startServer(t);
  const observer = {
    streamOpened() {},
    streamClosed() {},
    refused() {},
    pushed() {},
    acknowledged() {},
    rejected() {},
  };
  const allow = async () => ({ allowed: true }) as const;
  await assert.rejects(
    startXdsServer({
      log: silentLog,
      address: '127.0.0.1',
      port: server.port,
      authorizeGateway: allow,
      authorizeReplica: allow,
      observer,
    }),
    (error) =>
      error instanceof XdsListenError && error.code === 'xds_listen' && error.message.includes(`${server.port}`),
  );
});
