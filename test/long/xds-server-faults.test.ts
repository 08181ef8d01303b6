// The xDS server when connections die without a word, when gateways do not read, and when there is very much to send.
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { test, type TestContext } from 'node:test';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { DeltaDiscoveryRequestSchema, DeltaDiscoveryResponseSchema } from '../../src/ir/gen/discovery_pb.ts';
import { resourceTypes } from '../../src/xds/resource-types.ts';
import { ReferenceClient } from '../../src/xds/testing/reference-client.ts';
import { getTypeUrl, makeSnapshot } from '../../src/xds/testing/small-snapshots.ts';
import { startBlackHole } from '../integration/xds-client-black-hole.ts';
import { gateway, startServer, TestGateway } from '../integration/xds-server-fixture.ts';
import { effort } from '../kit/effort.ts';
import { waitFor, waitForValue } from '../kit/wait-for.ts';

const options = { timeout: 120_000 };
const snapshot = makeSnapshot({ secrets: { s: '1' } });

test('a connection that swallows everything is noticed, and its gateway is no longer connected', options, async (t) => {
  const { server, counts } = await startServer(t, { keepAlive: { intervalMs: 50, timeoutMs: 3_000 } });
  server.setSnapshot(gateway, snapshot);
  const hole = await startBlackHole(server.port);
  t.after(() => hole.close());
  const peer = new TestGateway(t, Number(new URL(hole.url).port)).subscribeAll();
  await waitForValue(server.connected, (list) => list[0]?.settled === snapshot.digest);
  hole.swallow();
  await waitForValue(server.connected, (list) => list.length === 0);
  assert.equal(counts.open, 0);
  assert.equal(peer.client.digest, snapshot.digest);
});

test('a connection that answers pings stays', options, async (t) => {
  const { server } = await startServer(t, { keepAlive: { intervalMs: 20, timeoutMs: 5_000 } });
  const session = http2.connect(`http://127.0.0.1:${server.port}`);
  t.after(() => session.destroy());
  let pings = 0;
  session.on('ping', () => (pings += 1));
  await waitFor(() => pings >= 5);
  assert.ok(!session.destroyed);
});

/** A gateway on a bare stream, so that it can stop to read. */
function openSilentGateway(t: TestContext, port: number) {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  t.after(() => session.destroy());
  const client = new ReferenceClient();
  client.connect();
  const stream = session.request({
    ':method': 'POST',
    ':path': '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
    'content-type': 'application/grpc+proto',
    te: 'trailers',
  });
  stream.on('error', () => {});
  const send = (request: ReturnType<ReferenceClient['answer']>): void => {
    const message = toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, request));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    stream.write(Buffer.concat([prefix, message]));
  };
  for (const { typeUrl } of resourceTypes) send(client.subscribe(typeUrl, []));
  let bytes = Buffer.alloc(0);
  /** Begins to read, and answers. */
  const read = (): void => {
    stream.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
        const end = 5 + bytes.readUInt32BE(1);
        client.receive(fromBinary(DeltaDiscoveryResponseSchema, bytes.subarray(5, end)));
        send(client.answer());
        bytes = bytes.subarray(end);
      }
    });
  };
  return { client, read };
}

test('a gateway that does not read costs one response, and gets the newest when it reads again', options, async (t) => {
  const { server, counts } = await startServer(t);
  const witness = new TestGateway(t, server.port).subscribeAll();
  const makeLarge = (content: string) =>
    makeSnapshot({
      secrets: Object.fromEntries(Array.from({ length: 4 }, (_, i) => [`s${i}`, content.repeat(100_000)])),
    });
  let latest = makeLarge('0');
  server.setSnapshot(gateway, latest);
  await waitFor(() => witness.client.digest === latest.digest);
  const pushedToWitness = counts.pushed.length;
  const silent = openSilentGateway(t, server.port);
  await waitFor(() => counts.pushed.length > pushedToWitness);

  // 20 snapshots of 400 kB: what is sent to the witness goes to nobody else.
  let seen = witness.responses.length;
  for (let round = 1; round <= 20; round += 1) {
    latest = makeLarge(`${round % 10}`);
    server.setSnapshot(gateway, latest);
    await waitFor(() => witness.client.digest === latest.digest);
  }
  const toWitness = witness.responses.length - seen + pushedToWitness;
  assert.ok(counts.pushed.length - toWitness <= 2, `${counts.pushed.length - toWitness} responses were made for it`);

  seen = counts.pushed.length;
  silent.read();
  await waitFor(() => silent.client.digest === latest.digest);
  const bytes = counts.pushed.slice(seen).reduce((sum, push) => sum + push.bytes, 0);
  assert.ok(bytes < 900_000, `${bytes} bytes were sent to catch up`);
  await waitForValue(server.connected, (list) => list.every(({ settled }) => settled === latest.digest));
});

const resourceCount = effort(20_000, 6_000);

test(`${resourceCount} resources: the first push is whole, and coming back moves nothing`, options, async (t) => {
  const { server, counts } = await startServer(t);
  const makeMany = (changed: string) => {
    const names = Array.from(
      { length: resourceCount / 2 },
      (_, i) => `namespace-${i % 100}/a-route-with-a-long-name-${i}/0`,
    );
    const contents = Object.fromEntries(names.map((name, i) => [name, i === 77 ? changed : `content-${i}`.repeat(20)]));
    return makeSnapshot({ policies: contents, routes: contents });
  };
  const many = makeMany('1');
  server.setSnapshot(gateway, many);
  const peer = new TestGateway(t, server.port).subscribeAll();
  await waitForValue(server.connected, (list) => list[0]?.settled === many.digest);
  assert.equal(peer.client.digest, many.digest);
  const largest = Math.max(...counts.pushed.map(({ bytes }) => bytes));
  assert.ok(largest > 500_000 && largest <= 1024 * 1024, `the largest response has ${largest} bytes`);
  peer.drop();
  await waitForValue(server.connected, (list) => list.length === 0);

  const before = counts.pushed.length;
  const again = new TestGateway(t, server.port, { client: peer.client }).subscribeAll();
  await waitForValue(server.connected, (list) => list[0]?.settled === many.digest);
  assert.deepEqual(
    counts.pushed.slice(before).map(({ bytes }) => bytes),
    [0, 0, 0, 0, 0],
  );

  const changed = makeMany('2');
  server.setSnapshot(gateway, changed);
  await waitForValue(server.connected, (list) => list[0]?.settled === changed.digest);
  const [policies, routes] = counts.pushed.slice(before + 5);
  assert.deepEqual([policies!.typeUrl, policies!.resources], [getTypeUrl('policies'), 1]);
  assert.deepEqual([routes!.typeUrl, routes!.resources], [getTypeUrl('routes'), 1]);
  assert.equal(again.client.digest, changed.digest);
});
