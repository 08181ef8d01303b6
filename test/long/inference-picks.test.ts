// The picker's choice: what it is told, where it may write its answer, and that the request goes there and nowhere else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFields } from '../inference/fake-picker.ts';
import { hashBody } from '../inference/fake-model-server.ts';
import { type ChoicePlace, destinationKey, destinationNamespace, servedKey } from '../inference/picker-answers.ts';
import { pick, type PickOptions } from '../inference/picker-scripts.ts';
import { findClosedPort } from '../integration/forwarding-fixture.ts';
import { askHttp2, openSession, receiveResponse, valuesOf } from '../integration/gateway-fixture.ts';
import {
  readArrival,
  readReason,
  readToEnd,
  startInferenceGateway,
  startModel,
  startPicker,
  waitUntilIdle,
} from '../integration/inference-fixture.ts';
import { effort, select } from '../kit/effort.ts';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
const places: readonly ChoicePlace[] = ['header', 'metadata', 'both'];
const afters = ['headers', 'body'] as const;
const modes = ['plain', 'streamed'] as const;

for (const protocol of ['http1', 'h2c'] as const) {
  test(
    `the choice is honoured, wherever and whenever it is made, and bodies arrive whole (${protocol})`,
    options,
    async (t) => {
      const servers = [await startModel(t, { protocol }), await startModel(t, { protocol })];
      const picker = await startPicker(t, { script: pick({ endpoints: '' }) });
      const gateway = await startInferenceGateway(t, {
        endpoints: servers.map(({ port }) => port),
        pickers: [picker.port],
        protocol,
      });
      const session = await openSession(gateway.port);
      t.after(() => session.destroy());
      for (const place of places) {
        for (const after of afters) {
          for (const mode of modes) {
            for (const { endpoint, name } of servers) {
              picker.script = pick({ endpoints: endpoint, place, after, mode } satisfies PickOptions);
              const what = JSON.stringify({ place, after, mode, name });
              for (const body of ['{}', 'x'.repeat(effort(300_000, 70_000))]) {
                const posted = readArrival(await gateway.ask({ method: 'POST', path: '/echo' }, body));
                assert.deepEqual(
                  [posted.served_by, posted.method, posted.url, posted.body_sha256],
                  [name, 'POST', '/echo', hashBody(body)],
                  what,
                );
                const second = readArrival(await askHttp2(session, { ':method': 'POST', ':path': '/echo' }, body));
                assert.deepEqual([second.served_by, second.body_sha256], [name, hashBody(body)], what);
              }
              const got = readArrival(await gateway.ask({ path: '/echo?a=b' }));
              assert.deepEqual(
                [got.served_by, got.method, got.url, got.body_bytes],
                [name, 'GET', '/echo?a=b', 0],
                what,
              );
            }
          }
        }
      }
      await waitUntilIdle(gateway, [picker], servers);
      // One stream for each request, on few connections.
      assert.equal(picker.calls.length, 3 * 2 * 2 * 2 * 5);
      assert.ok(picker.sessionsSeen <= 2, `${picker.sessionsSeen} connections`);
    },
  );
}

test(
  'the picker is told the request: pseudo headers, names in lower case, raw values, and each chunk as it comes',
  options,
  async (t) => {
    const server = await startModel(t);
    const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
    const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
    const message = gateway.open({
      path: '/v1/chat?x=1',
      headers: { host: 'localhost:8080', 'X-Custom': 'caf\u00e9', 'content-type': 'application/json' },
    });
    message.write('one');
    const call = await picker.call(0);
    // The gateway has sent both before the client says any more.
    await call.heard(2);
    message.write('two');
    await call.heard(3);
    message.end();
    assert.equal((await readToEnd(await receiveResponse(message))).clean, true);

    const [head, ...rest] = call.received;
    const fields = readFields(head!);
    assert.deepEqual(
      [':method', ':path', ':authority', ':scheme', 'x-custom', 'content-type'].map((name) => fields.get(name)),
      ['POST', '/v1/chat?x=1', 'localhost:8080', 'http', 'caf\u00e9', 'application/json'],
    );
    assert.equal(head!.request.case === 'requestHeaders' && head!.request.value.endOfStream, false);
    assert.ok(head!.request.case === 'requestHeaders');
    for (const { key, value, rawValue } of head!.request.value.headers!.headers) {
      assert.equal(key, key.toLowerCase());
      assert.equal(value, '', key);
      assert.ok(rawValue.length > 0, key);
    }
    assert.deepEqual(head!.metadataContext?.filterMetadata['envoy.lb.subset_hint'], undefined);
    const chunks = rest.flatMap(({ request }) => (request.case === 'requestBody' ? [request.value] : []));
    assert.equal(Buffer.concat(chunks.map(({ body }) => body)).toString(), 'onetwo');
    assert.deepEqual(
      chunks.map(({ endOfStream }) => endOfStream),
      [...chunks.slice(1).map(() => false), true],
      'only the last one is the end',
    );
  },
);

test('without a body the headers are the end of the stream', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint, after: 'body' }) });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  readArrival(await gateway.ask({ path: '/models' }));
  const { request } = picker.calls[0]!.received[0]!;
  assert.ok(request.case === 'requestHeaders' && request.value.endOfStream);
  assert.deepEqual(
    picker.calls[0]!.received.filter((each) => each.request.case === 'requestBody'),
    [],
  );
});

test(
  'the request goes upstream with the choice in its header, never with one that the client sent',
  options,
  async (t) => {
    const servers = [await startModel(t), await startModel(t)];
    const [chosen, other] = [servers[0]!.endpoint, servers[1]!.endpoint];
    const picker = await startPicker(t, { script: pick({ endpoints: chosen }) });
    const gateway = await startInferenceGateway(t, {
      endpoints: servers.map(({ port }) => port),
      pickers: [picker.port],
    });
    const headers = { [destinationKey]: other };
    const arrival = readArrival(await gateway.ask({ headers }));
    assert.equal(arrival.served_by, servers[0]!.name);
    assert.deepEqual(valuesOf(arrival.headers, destinationKey), [chosen]);
    // A picker that names nothing in the header: the client's own word does not count either.
    picker.script = pick({ endpoints: chosen, place: 'metadata' });
    const second = readArrival(await gateway.ask({ headers }));
    assert.equal(second.served_by, servers[0]!.name);
    assert.ok(!valuesOf(second.headers, destinationKey).includes(other), String(second.headers));
  },
);

test('the response says who served it, in the metadata of its headers', options, async (t) => {
  const servers = [await startModel(t), await startModel(t)];
  const dead = await findClosedPort();
  const picker = await startPicker(t, { script: pick({ endpoints: '' }) });
  const gateway = await startInferenceGateway(t, {
    endpoints: [dead, ...servers.map(({ port }) => port)],
    pickers: [picker.port],
  });
  const readServed = (index: number): unknown => {
    const told = picker.calls[index]!.received.filter(({ request }) => request.case === 'responseHeaders');
    assert.equal(told.length, 1);
    assert.equal(readFields(told[0]!).get(':status'), '200');
    assert.equal(readFields(told[0]!).get('content-type'), 'application/json');
    return told[0]!.metadataContext?.filterMetadata[destinationNamespace]?.[servedKey];
  };
  for (const [index, { endpoint }] of servers.entries()) {
    picker.script = pick({ endpoints: endpoint });
    await gateway.ask();
    assert.equal(readServed(index), endpoint);
  }
  picker.script = pick({ endpoints: `127.0.0.1:${dead},${servers[1]!.endpoint}` });
  await gateway.ask();
  assert.equal(readServed(2), servers[1]!.endpoint);
});

test(
  'several candidates are tried in order; those that cannot be reached or are not of the pool are passed over',
  options,
  async (t) => {
    const servers = [await startModel(t), await startModel(t)];
    const stranger = await startModel(t);
    const dead = [await findClosedPort(), await findClosedPort()];
    const picker = await startPicker(t, { script: pick({ endpoints: '' }) });
    const gateway = await startInferenceGateway(t, {
      endpoints: [...dead, ...servers.map(({ port }) => port)],
      pickers: [picker.port],
      limits: { ejectAfterFailures: 0 },
    });
    const [first, second] = servers.map(({ endpoint }) => endpoint) as [string, string];
    const unreachable = dead.map((port) => `127.0.0.1:${port}`);
    const lists: readonly (readonly [string, string])[] = [
      [`${first},${second}`, first],
      [`${second},${first}`, second],
      [`${second}, ${first}`, second],
      [`${unreachable[0]},${second}`, second],
      [`${unreachable.join(',')},${first}`, first],
      [`${stranger.endpoint},${first}`, first],
      [`${stranger.endpoint},${unreachable[1]},192.0.2.1:80,${second}`, second],
      [`not an address,${second}`, second],
      [`,${second},`, second],
    ];
    for (const [list, expected] of lists) {
      for (const place of places) {
        for (const after of afters) {
          for (const mode of modes) {
            picker.script = pick({ endpoints: list, place, after, mode });
            const body = `prompt for ${list}`;
            const arrival = readArrival(await gateway.ask({ method: 'POST' }, body));
            const what = `${list} ${place} ${after} ${mode}`;
            assert.deepEqual([arrival.served_by, arrival.body_sha256], [expected, hashBody(body)], what);
          }
        }
      }
    }
    assert.equal(stranger.hits, 0);
  },
);

test(
  'no candidate is an endpoint of the pool: 503 picker_endpoint_refused, and nobody is called',
  options,
  async (t) => {
    const server = await startModel(t);
    const stranger = await startModel(t);
    const picker = await startPicker(t, { script: pick({ endpoints: '' }) });
    const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
    const lists = [stranger.endpoint, `${stranger.endpoint},192.0.2.1:80`, `localhost:${server.port}`, '127.0.0.1', ''];
    for (const list of select(lists, 2)) {
      for (const place of places) {
        picker.script = pick({ endpoints: list, place });
        for (const method of ['GET', 'POST']) {
          const answer = await gateway.ask({ method }, method === 'POST' ? 'prompt' : undefined);
          assert.equal(readReason(answer), '503 picker_endpoint_refused', `${list} ${place} ${method}`);
        }
      }
    }
    assert.deepEqual([server.hits, stranger.hits], [0, 0]);
    await waitUntilIdle(gateway, [picker], [server]);
  },
);

test('no candidate can be reached: 502 upstream_unreachable, and no other endpoint is asked', options, async (t) => {
  const server = await startModel(t);
  const dead = [await findClosedPort(), await findClosedPort()];
  const picker = await startPicker(t, { script: pick({ endpoints: dead.map((port) => `127.0.0.1:${port}`).join() }) });
  const gateway = await startInferenceGateway(t, { endpoints: [...dead, server.port], pickers: [picker.port] });
  for (const after of afters) {
    picker.script = pick({ endpoints: dead.map((port) => `127.0.0.1:${port}`).join(), after });
    for (const method of ['GET', 'POST']) {
      const answer = await gateway.ask({ method }, method === 'POST' ? 'prompt' : undefined);
      assert.equal(readReason(answer), '502 upstream_unreachable', `${after} ${method}`);
    }
  }
  assert.equal(server.hits, 0);
  await waitUntilIdle(gateway, [picker], [server]);
});

test('the endpoints of the pool at the moment of the choice count', options, async (t) => {
  const servers = [await startModel(t), await startModel(t)];
  const picker = await startPicker(t, { script: pick({ endpoints: servers[1]!.endpoint }) });
  const gateway = await startInferenceGateway(t, { endpoints: [servers[0]!.port], pickers: [picker.port] });
  assert.equal(readReason(await gateway.ask()), '503 picker_endpoint_refused');
  await gateway.apply({ endpoints: servers.map(({ port }) => port) });
  assert.equal(readArrival(await gateway.ask()).served_by, servers[1]!.name);
  await gateway.apply({ endpoints: [servers[0]!.port] });
  // The picker may not have heard of that yet: for a few seconds its choice is honoured.
  const reasons = new Set<string>();
  await waitFor('the endpoint that has left is refused', async () => {
    reasons.add(readReason(await gateway.ask()));
    return reasons.has('503 picker_endpoint_refused');
  });
  reasons.delete('200 undefined');
  assert.deepEqual([...reasons], ['503 picker_endpoint_refused']);
});

test('a pool without endpoints: 503 no_endpoints', options, async (t) => {
  const picker = await startPicker(t, { script: pick({ endpoints: '127.0.0.1:1' }) });
  const gateway = await startInferenceGateway(t, { endpoints: [], pickers: [picker.port] });
  assert.equal(readReason(await gateway.ask()), '503 no_endpoints');
});

test('endpoints with IPv6 addresses are named in brackets', options, async (t) => {
  const server = await startModel(t, { host: '::1' });
  const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port], host: '::1' });
  assert.match(server.endpoint, /^\[::1\]:\d+$/);
  assert.equal(readArrival(await gateway.ask({ method: 'POST' }, 'prompt')).served_by, server.name);
  const told = picker.calls[0]!.received.find(({ request }) => request.case === 'responseHeaders');
  assert.equal(told?.metadataContext?.filterMetadata[destinationNamespace]?.[servedKey], server.endpoint);
});

test('a picker that takes few streams on a connection gets more connections', options, async (t) => {
  const server = await startModel(t);
  const [open, isFull] = [new Set<object>(), Promise.withResolvers<void>()];
  const picker = await startPicker(t, {
    maxConcurrentStreams: 10,
    script: async (call) => {
      // Nobody is answered before all have asked.
      open.add(call);
      if (open.size === 60) isFull.resolve();
      await isFull.promise;
      await pick({ endpoints: server.endpoint })(call);
    },
  });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) => gateway.ask({ method: 'POST' }, `prompt ${index}`)),
  );
  for (const [index, answer] of answers.entries())
    assert.equal(readArrival(answer).body_sha256, hashBody(`prompt ${index}`));
  assert.equal(picker.sessionsSeen, 6);
  await waitUntilIdle(gateway, [picker], [server]);
});
