// Only authorized gateways get a configuration, and other peers cannot do any harm.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { DeltaDiscoveryRequestSchema } from '../../src/ir/gen/discovery_pb.ts';
import { silentLog } from '../../src/base/log.ts';
import type { PeerRequest, PeerVerdict } from '../../src/xds/server.ts';
import { getTypeUrl, makeSnapshot } from '../../src/xds/testing/small-snapshots.ts';
import { gateway, startServer, TestGateway } from './xds-server-fixture.ts';
import { waitFor, waitForValue } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
const snapshot = makeSnapshot({ secrets: { s: 'the key' } });
const path = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';

test('the token, the claims and the address of a peer are judged before anything is sent', options, async (t) => {
  const asked: PeerRequest[] = [];
  const { server } = await startServer(t, {
    authorizeGateway: async (peer) => {
      asked.push(peer);
      return { allowed: true };
    },
  });
  server.setSnapshot(gateway, snapshot);
  const peer = new TestGateway(t, server.port, { token: 'abc.def-1' }).subscribeAll();
  await waitFor(() => peer.client.digest === snapshot.digest);
  assert.deepEqual(asked, [{ nodeId: 'pod-1', gateway, token: 'abc.def-1', peerAddress: '127.0.0.1' }]);
});

test('a peer that is refused gets a reason and no configuration', options, async (t) => {
  const cases: readonly [PeerVerdict & { allowed: false }, Code][] = [
    [{ allowed: false, code: 'unauthenticated', reason: 'there is no token' }, Code.Unauthenticated],
    [{ allowed: false, code: 'permission_denied', reason: 'not your Gateway' }, Code.PermissionDenied],
    [{ allowed: false, code: 'unavailable', reason: 'ask later' }, Code.Unavailable],
  ];
  for (const [verdict, code] of cases) {
    const { server, counts } = await startServer(t, { authorizeGateway: async () => verdict });
    server.setSnapshot(gateway, snapshot);
    const peer = new TestGateway(t, server.port).subscribeAll();
    const error = await peer.ended;
    assert.equal(error.code, code);
    assert.equal(error.rawMessage, verdict.reason);
    assert.deepEqual(peer.responses, []);
    assert.deepEqual(counts.refused, [verdict.code]);
    assert.deepEqual([counts.pushed, server.connected.get()], [[], []]);
  }
});

test('a judge that fails lets nobody in, and tells nothing of why', options, async (t) => {
  const { server, counts } = await startServer(t, {
    authorizeGateway: () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1:6443')),
  });
  server.setSnapshot(gateway, snapshot);
  const peer = new TestGateway(t, server.port).subscribeAll();
  const error = await peer.ended;
  assert.equal(error.code, Code.Unavailable);
  assert.doesNotMatch(error.message, /6443/);
  assert.deepEqual([peer.responses, counts.pushed], [[], []]);
});

test('nothing is sent while a verdict is awaited', options, async (t) => {
  const verdict = Promise.withResolvers<PeerVerdict>();
  let isAsked = false;
  const { server, counts } = await startServer(t, {
    authorizeGateway: () => {
      isAsked = true;
      return verdict.promise;
    },
  });
  server.setSnapshot(gateway, snapshot);
  const peer = new TestGateway(t, server.port).subscribeAll();
  await waitFor(() => isAsked);
  server.setSnapshot(gateway, makeSnapshot({ secrets: { s: 'another key' } }));
  verdict.resolve({ allowed: false, code: 'permission_denied', reason: 'no' });
  assert.equal((await peer.ended).code, Code.PermissionDenied);
  assert.deepEqual(counts.pushed, []);
});

test('a peer is judged again while its stream is open: a denial ends it, no verdict does not', options, async (t) => {
  const verdicts: PeerVerdict[] = [
    { allowed: true },
    { allowed: false, code: 'unavailable', reason: 'the API server is away' },
    { allowed: true },
    { allowed: false, code: 'permission_denied', reason: 'the pod is gone' },
  ];
  let asked = 0;
  const { server, counts } = await startServer(t, {
    recheckIntervalMs: 20,
    authorizeGateway: async () => verdicts[Math.min(asked++, verdicts.length - 1)]!,
  });
  server.setSnapshot(gateway, snapshot);
  const peer = new TestGateway(t, server.port).subscribeAll();
  const error = await peer.ended;
  assert.equal(error.code, Code.PermissionDenied);
  assert.equal(error.rawMessage, 'the pod is gone');
  assert.equal(asked, 4);
  assert.deepEqual(counts.refused, ['permission_denied']);
  await waitForValue(server.connected, (list) => list.length === 0);
  assert.equal(peer.client.digest, snapshot.digest);
});

test(
  'a token that has become too old ends the stream as a shutdown would, and is refused the next time',
  options,
  async (t) => {
    let asked = 0;
    const { server, counts } = await startServer(t, {
      recheckIntervalMs: 20,
      authorizeGateway: async () =>
        asked++ === 0
          ? { allowed: true }
          : { allowed: false, code: 'unauthenticated', reason: 'the token has expired' },
    });
    server.setSnapshot(gateway, snapshot);
    const error = await new TestGateway(t, server.port).subscribeAll().ended;
    assert.equal(error.code, Code.Unavailable);
    assert.match(error.rawMessage, /reconnect with a fresh one/);
    assert.deepEqual(counts.refused, []);
    assert.equal((await new TestGateway(t, server.port).subscribeAll().ended).code, Code.Unauthenticated);
  },
);

/** A call without a library: headers and bytes as they are. */
function callRaw(
  t: TestContext,
  port: number,
  headers: http2.OutgoingHttpHeaders,
): { stream: http2.ClientHttp2Stream; status: Promise<http2.IncomingHttpHeaders> } {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  t.after(() => session.destroy());
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc+proto',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => {});
  const status = new Promise<http2.IncomingHttpHeaders>((resolve) => {
    stream.on('response', (answer) => {
      if (answer['grpc-status'] !== undefined || answer[':status'] !== 200) resolve(answer);
    });
    stream.on('trailers', resolve);
    stream.on('close', () => resolve({ closed: `${stream.rstCode}` }));
  });
  stream.resume();
  return { stream, status };
}

function frame(message: Uint8Array, announced = message.length): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(announced, 1);
  return Buffer.concat([head, message]);
}

const hello = toBinary(
  DeltaDiscoveryRequestSchema,
  create(DeltaDiscoveryRequestSchema, {
    typeUrl: getTypeUrl('secrets'),
    node: { id: 'pod-1', metadata: { namespace: 'default', gateway: 'web' } },
  }),
);

test('strange requests end themselves, and nothing else', options, async (t) => {
  const { server, counts } = await startServer(t);
  server.setSnapshot(gateway, snapshot);
  const witness = new TestGateway(t, server.port).subscribeAll();
  await waitFor(() => witness.client.digest === snapshot.digest);

  const strange: readonly [headers: http2.OutgoingHttpHeaders, body: Buffer, expected: object][] = [
    [{ ':path': '/' }, Buffer.alloc(0), { ':status': 404 }],
    [{ ':path': '//[' }, Buffer.alloc(0), { ':status': 404 }],
    [{ ':method': 'GET' }, Buffer.alloc(0), { ':status': 405 }],
    [{ 'content-type': 'application/json' }, Buffer.from('{}'), { ':status': 415 }],
    [{ 'content-type': 'application/connect+proto' }, frame(hello), { ':status': 415 }],
    [{ 'grpc-encoding': 'gzip' }, frame(hello), { 'grpc-status': '12' }],
    [{}, frame(Buffer.from([0xff, 0xff, 0xff])), { 'grpc-status': '13' }],
    [{}, frame(Buffer.alloc(10), 65 * 1024 * 1024), { 'grpc-status': '8' }],
    [{}, Buffer.alloc(0), { 'grpc-status': '3' }],
  ];
  for (const [headers, body, expected] of strange) {
    const { stream, status } = callRaw(t, server.port, headers);
    stream.end(body);
    const answer = await status;
    for (const [name, value] of Object.entries(expected))
      assert.equal(answer[name], value, `${JSON.stringify(headers)}: ${JSON.stringify(answer)}`);
  }

  // An authority that is no authority, and a call that ends in the middle of a message.
  for (const headers of [{ ':authority': '[' }, { ':authority': 'a b' }]) {
    const { stream, status } = callRaw(t, server.port, headers);
    stream.write(frame(hello));
    await status;
  }
  const cut = callRaw(t, server.port, {});
  cut.stream.write(frame(hello).subarray(0, 20));
  cut.stream.close(http2.constants.NGHTTP2_CANCEL);
  await cut.status;

  // Not HTTP/2 at all.
  for (const bytes of ['GET / HTTP/1.1\r\nhost: x\r\n\r\n', '\x16\x03\x01\x00\x05hello', '\0'.repeat(100)]) {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(bytes);
    socket.resume();
    await once(socket, 'close');
  }

  const next = makeSnapshot({ secrets: { s: 'the next key' } });
  server.setSnapshot(gateway, next);
  await waitFor(() => witness.client.digest === next.digest);
  assert.equal(counts.open, 1);
});

test(
  'strangers together can have the server hold only so much, and those who are known are served meanwhile',
  options,
  async (t) => {
    const { server } = await startServer(t);
    server.setSnapshot(gateway, snapshot);
    const known = new TestGateway(t, server.port).subscribeAll();
    await waitFor(() => known.client.digest === snapshot.digest);
    // Messages that are announced, and never come.
    const announce = (): ReturnType<typeof callRaw> => {
      const call = callRaw(t, server.port, {});
      call.stream.write(frame(Buffer.alloc(0), 40 * 1024 * 1024));
      return call;
    };
    const calls = [announce(), announce(), announce()];
    const refused = await Promise.any(calls.map(async ({ status }) => await status));
    assert.equal(refused['grpc-status'], '8');
    const next = makeSnapshot({ secrets: { s: 'the next key' } });
    server.setSnapshot(gateway, next);
    await waitFor(() => known.client.digest === next.digest);
    for (const { stream } of calls) stream.close();
    // What was held for them is free again.
    await Promise.all(calls.map(async ({ status }) => await status));
    const last = callRaw(t, server.port, {});
    last.stream.write(frame(Buffer.alloc(0), 60 * 1024 * 1024));
    last.stream.end(Buffer.alloc(10));
    assert.equal((await last.status)['grpc-status'], '3');
  },
);

test(
  'who does not say who it is loses its connection soon, and those who are known keep theirs',
  options,
  async (t) => {
    const { server } = await startServer(t, { strangers: { authorizeMs: 2_000 } });
    server.setSnapshot(gateway, snapshot);
    const known = new TestGateway(t, server.port).subscribeAll();
    await waitFor(() => known.client.digest === snapshot.digest);
    const silent = connect(server.port, '127.0.0.1')
      .on('error', () => {})
      .resume();
    const { stream, status } = callRaw(t, server.port, {});
    stream.write(frame(hello).subarray(0, 20));
    await Promise.all([once(silent, 'close'), status]);
    const next = makeSnapshot({ secrets: { s: 'the next key' } });
    server.setSnapshot(gateway, next);
    await waitFor(() => known.client.digest === next.digest);
    assert.equal(known.responses.length > 0, true);
  },
);

test('one address cannot take the places of others with connections of strangers', options, async (t) => {
  const lines: { readonly fields: object; readonly message: string }[] = [];
  const log = {
    ...silentLog,
    child: () => log,
    warn: (fields: object, message: string) => void lines.push({ fields, message }),
  };
  const { server } = await startServer(t, { log, strangers: { authorizeMs: 60_000, maxPerAddress: 3 } });
  server.setSnapshot(gateway, snapshot);
  // Those who are let in do not count.
  for (let index = 0; index < 5; index += 1) {
    const peer = new TestGateway(t, server.port).subscribeAll();
    await waitFor(() => peer.client.digest === snapshot.digest);
  }
  const strangers = Array.from({ length: 8 }, () =>
    connect(server.port, '127.0.0.1')
      .on('error', () => {})
      .resume(),
  );
  t.after(() => strangers.forEach((socket) => socket.destroy()));
  let closed = 0;
  for (const socket of strangers) socket.once('close', () => (closed += 1));
  await waitFor(() => closed === 5);
  assert.deepEqual(lines[0]?.fields, { dropped: 1, peerAddress: '127.0.0.1' });
  assert.match(lines[0].message, /dropped: too many/);
  const elsewhere = connect({ port: server.port, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => {});
  t.after(() => elsewhere.destroy());
  await once(elsewhere, 'connect');
  // It gets the settings of the server: it is taken.
  elsewhere.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
  await once(elsewhere, 'data');
});
