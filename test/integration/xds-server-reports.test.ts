// Reports of gateways, and what replicas tell each other about theirs.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { silentLog } from '../../src/base/log.ts';
import { Watchable } from '../../src/base/watchable.ts';
import {
  type GatewayReport,
  GatewayReportSchema,
  type RelayedGateways,
  RelayedGatewaysSchema,
} from '../../src/ir/gen/report_pb.ts';
import type { ConnectedGateway } from '../../src/xds/connected-gateway.ts';
import { MessageQueue } from '../../src/xds/message-queue.ts';
import { type RelayOptions, startRelay } from '../../src/xds/relay-client.ts';
import type { PeerRequest } from '../../src/xds/server.ts';
import { getTypeUrl, makeSnapshot } from '../../src/xds/testing/small-snapshots.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import { createReportClient, gateway, startServer, TestGateway } from './xds-server-fixture.ts';
import { waitFor, waitForValue } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
const snapshot = makeSnapshot({ secrets: { s: '1' } });

const targets = [
  { backend: 'ProxyBackend/n/all', target: 'a', down: true, since: 1, error: 'it is away' },
] as unknown as GatewayReport['targets'];

/** Opens a report stream. */
function openReport(t: TestContext, port: number) {
  const reports = new MessageQueue<GatewayReport>();
  const abort = new AbortController();
  t.after(() => abort.abort());
  const ended = createReportClient(port)
    .report(reports, { signal: abort.signal })
    .then(
      () => undefined,
      (error: unknown) => ConnectError.from(error),
    );
  const send = (fields: Partial<Omit<GatewayReport, '$typeName'>>): void =>
    reports.push(create(GatewayReportSchema, { nodeId: 'pod-1', gateway, ...fields }));
  return { send, ended, close: () => reports.close(), drop: () => abort.abort() };
}

const bindProblems = [{ port: 443, reason: 'address already in use' }] as unknown as GatewayReport['bindProblems'];

test('what a gateway reports is known as long as it is connected', options, async (t) => {
  const { server } = await startServer(t);
  server.setSnapshot(gateway, snapshot);
  const peer = new TestGateway(t, server.port).subscribeAll();
  await waitForValue(server.connected, (list) => list[0]?.settled === snapshot.digest);
  const report = openReport(t, server.port);
  report.send({ bindProblems });
  const [connected] = await waitForValue(server.connected, (list) => list[0]?.bindProblems.length === 1);
  assert.equal(connected!.bindProblems[0]!.reason, 'address already in use');
  assert.equal(connected!.settled, snapshot.digest);

  // Each replaces the one before.
  report.send({});
  await waitForValue(server.connected, (list) => list[0]?.bindProblems.length === 0);
  report.send({ bindProblems });
  await waitForValue(server.connected, (list) => list[0]?.bindProblems.length === 1);

  // The stream may come back; the gateway is still as it said.
  report.close();
  assert.equal(await report.ended, undefined);
  const next = makeSnapshot({ secrets: { s: '2' } });
  server.setSnapshot(gateway, next);
  const [still] = await waitForValue(server.connected, (list) => list[0]?.settled === next.digest);
  assert.equal(still!.bindProblems.length, 1);
  peer.drop();
  await waitForValue(server.connected, (list) => list.length === 0);
  const again = new TestGateway(t, server.port, { client: peer.client }).subscribeAll();
  const [fresh] = await waitForValue(server.connected, (list) => list[0]?.settled === next.digest);
  assert.deepEqual(fresh!.bindProblems, []);
  again.drop();
});

test(
  'a report that comes before the discovery stream is kept, and alone makes nobody connected',
  options,
  async (t) => {
    const asked: PeerRequest[] = [];
    const { server } = await startServer(t, {
      authorizeGateway: async (peer) => {
        asked.push(peer);
        return { allowed: true };
      },
    });
    const report = openReport(t, server.port);
    report.send({ bindProblems });
    await waitFor(() => asked.length === 1);
    assert.deepEqual(asked[0], { nodeId: 'pod-1', gateway, token: undefined, peerAddress: '127.0.0.1' });
    assert.deepEqual(server.connected.get(), []);
    new TestGateway(t, server.port).subscribeAll();
    await waitForValue(server.connected, (list) => list[0]?.bindProblems.length === 1);
  },
);

test('a report is taken only from the gateway itself', options, async (t) => {
  const { server, counts } = await startServer(t, {
    authorizeGateway: async ({ nodeId }) =>
      nodeId === 'pod-1' ? { allowed: true } : { allowed: false, code: 'permission_denied', reason: 'not you' },
  });
  new TestGateway(t, server.port).subscribeAll();
  await waitForValue(server.connected, (list) => list.length === 1);
  const cases: readonly [first: Partial<GatewayReport>, then: Partial<GatewayReport> | undefined, Code][] = [
    [{ nodeId: 'pod-2', bindProblems }, undefined, Code.PermissionDenied],
    [{}, { nodeId: 'pod-2', bindProblems }, Code.InvalidArgument],
    [{}, { gateway: 'default/other', bindProblems }, Code.InvalidArgument],
    [{ nodeId: '', bindProblems }, undefined, Code.InvalidArgument],
    [{ gateway: 'nonsense', bindProblems }, undefined, Code.InvalidArgument],
  ];
  for (const [first, then, code] of cases) {
    const report = openReport(t, server.port);
    report.send(first);
    if (then !== undefined) report.send(then);
    assert.equal((await report.ended)?.code, code);
  }
  assert.deepEqual(counts.refused, ['permission_denied']);
  assert.deepEqual(server.connected.get()[0]!.bindProblems, []);
});

test('closing the server ends report streams too', options, async (t) => {
  const { server } = await startServer(t);
  new TestGateway(t, server.port).subscribeAll();
  const report = openReport(t, server.port);
  report.send({ bindProblems });
  await waitForValue(server.connected, (list) => list[0]?.bindProblems.length === 1);
  await server.close();
  assert.equal((await report.ended)?.code, Code.Unavailable);
});

const known: ConnectedGateway = {
  nodeId: 'pod-9',
  gateway: 'default/api',
  version: '1.0.0',
  settled: 'digest',
  rejections: [{ typeUrl: getTypeUrl('policies'), name: 'p', version: 'v', reason: 'no' }],
  keyProblems: [],
  bindProblems: [],
};

function openRelay(t: TestContext, options_: Omit<RelayOptions, 'log' | 'replica'>) {
  const relay = startRelay({ log: silentLog, replica: 'controller-1', random: () => 0, ...options_ });
  t.after(() => relay.close());
  return relay;
}

test('a replica relays its gateways to the leader, and everything that changes', options, async (t) => {
  const asked: PeerRequest[] = [];
  const leader = await startServer(t, {
    authorizeReplica: async (peer) => {
      asked.push(peer);
      return { allowed: true };
    },
  });
  const follower = await startServer(t);
  follower.server.setSnapshot(gateway, snapshot);
  const relay = openRelay(t, {
    leader: `http://127.0.0.1:${leader.server.port}`,
    readToken: async () => 'token-1',
    connected: follower.server.connected,
  });
  const peer = new TestGateway(t, follower.server.port).subscribeAll();
  const relayed = await waitForValue(leader.server.relayed, (list) => list[0]?.settled === snapshot.digest);
  assert.deepEqual(relayed, follower.server.connected.get());
  assert.deepEqual(leader.server.connected.get(), []);
  assert.deepEqual(asked, [{ nodeId: 'controller-1', gateway: '', token: 'token-1', peerAddress: '127.0.0.1' }]);
  openReport(t, follower.server.port).send({ bindProblems, targets });
  const [told] = await waitForValue(leader.server.relayed, (list) => list[0]?.bindProblems.length === 1);
  assert.deepEqual([told!.targets?.length, told!.targets?.[0]?.error], [1, 'it is away']);
  peer.drop();
  await waitForValue(leader.server.relayed, (list) => list.length === 0);
  new TestGateway(t, follower.server.port).subscribeAll();
  await waitForValue(leader.server.relayed, (list) => list.length === 1);
  await relay.close();
  await waitForValue(leader.server.relayed, (list) => list.length === 0);
});

test('a relay comes back when its leader does', options, async (t) => {
  const connected = new Watchable<readonly ConnectedGateway[]>([known]);
  const first = await startServer(t);
  const { port } = first.server;
  openRelay(t, { leader: `http://127.0.0.1:${port}`, connected });
  assert.deepEqual(await waitForValue(first.server.relayed, (list) => list.length === 1), [known]);
  await first.server.close();
  connected.set([{ ...known, settled: undefined }]);
  const second = await startServer(t, { port });
  const [relayed] = await waitForValue(second.server.relayed, (list) => list.length === 1);
  assert.equal(relayed!.settled, undefined);
});

test('only replicas may relay', options, async (t) => {
  const { server, counts } = await startServer(t, {
    authorizeReplica: async () => ({ allowed: false, code: 'permission_denied', reason: 'you are no replica' }),
  });
  openRelay(t, { leader: `http://127.0.0.1:${server.port}`, connected: new Watchable([known]) });
  await waitFor(() => counts.refused.length > 0);
  assert.deepEqual(server.relayed.get(), []);
});

test('a relay stream keeps its replica, and its last stream counts', options, async (t) => {
  const { server } = await startServer(t);
  const open = (...messages: RelayedGateways[]) => {
    const queue = new MessageQueue<RelayedGateways>();
    for (const message of messages) queue.push(message);
    const abort = new AbortController();
    t.after(() => abort.abort());
    const ended = createReportClient(server.port).relay(queue, { signal: abort.signal });
    return ended.then(
      () => undefined,
      (error: unknown) => ConnectError.from(error),
    );
  };
  const tell = (replica: string, nodeId: string): RelayedGateways =>
    create(RelayedGatewaysSchema, { replica, gateways: [{ nodeId, gateway }] });
  assert.equal((await open(tell('', 'pod-1')))?.code, Code.InvalidArgument);
  assert.equal((await open(tell('a', 'pod-1'), tell('b', 'pod-2')))?.code, Code.InvalidArgument);
  void open(tell('a', 'pod-1'));
  await waitForValue(server.relayed, (list) => list[0]?.nodeId === 'pod-1');
  void open(tell('b', 'pod-2'));
  await waitForValue(server.relayed, (list) => list.length === 2);
  void open(tell('a', 'pod-3'));
  const list = await waitForValue(server.relayed, (all) => all.some(({ nodeId }) => nodeId === 'pod-3'));
  assert.deepEqual(list.map(({ nodeId }) => nodeId).toSorted(), ['pod-2', 'pod-3']);
});

test('a leader is reached by its address, and known by the name of its Service', options, async (t) => {
  const issuer = createAuthority();
  const { cert, key } = createCertificate({ names: ['proxy.proxy-system.svc'], issuer });
  const { server } = await startServer(t, { certificate: new Watchable({ certificateChain: cert, privateKey: key }) });
  const leader = `https://127.0.0.1:${server.port}`;
  const connected = new Watchable([known]);
  const readCa = async (): Promise<string> => issuer.cert;
  openRelay(t, { leader, connected, readCa, serverName: 'proxy.proxy-system.svc' });
  await waitForValue(server.relayed, (list) => list.length === 1);
});
