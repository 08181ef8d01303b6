// A picker that answers in the model server's place: at every point of a request, and when it is too late for that.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { PickerScript } from '../inference/fake-picker.ts';
import { answerAtOnce, choose, passChunk, passHeaders, streamChunk } from '../inference/picker-answers.ts';
import { askHttp2, openSession, receiveResponse, valuesOf } from './gateway-fixture.ts';
import { readToEnd, startInferenceGateway, startModel, startPicker, waitUntilIdle } from './inference-fixture.ts';

const options = { timeout: 180_000 };
const refusal = answerAtOnce(429, '{"error": "too many requests"}', {
  set: [
    { name: 'content-type', value: 'application/json' },
    { name: 'Retry-After', value: '3' },
  ],
});

/** The points before the client got a head. */
const points: Readonly<Record<string, (endpoint: string) => PickerScript>> = {
  'on the request headers': () => async (call) => {
    await call.nextOf('requestHeaders');
    call.send(refusal);
    await call.drain();
  },
  'and ends the stream': () => async (call) => {
    await call.nextOf('requestHeaders');
    call.send(refusal);
  },
  'on the first piece of the body': () => async (call) => {
    await call.nextOf('requestBody');
    call.send(refusal);
    await call.drain();
  },
  'after all of the body': () => async (call) => {
    for (;;) if ((await call.nextOf('requestBody')).endOfStream) break;
    call.send(refusal);
    await call.drain();
  },
  'after its choice': (endpoint) => async (call) => {
    await call.nextOf('requestHeaders');
    call.send(choose(endpoint));
    for (;;) if ((await call.nextOf('requestBody')).endOfStream) break;
    call.send(refusal);
    await call.drain();
  },
  'in the middle of a body that it sends anew': (endpoint) => async (call) => {
    await call.nextOf('requestHeaders');
    call.send(choose(endpoint));
    await call.nextOf('requestBody');
    call.send(streamChunk('request', 'some of it', false), refusal);
    await call.drain();
  },
  'on the response headers': (endpoint) => async (call) => {
    await call.nextOf('requestHeaders');
    call.send(choose(endpoint));
    for (;;) {
      const { endOfStream } = await call.nextOf('requestBody');
      call.send(passChunk('request'));
      if (endOfStream) break;
    }
    await call.nextOf('responseHeaders');
    call.send(refusal);
    await call.drain();
  },
};

for (const [point, script] of Object.entries(points)) {
  test(`an immediate answer ${point} is relayed: status, headers and body`, options, async (t) => {
    const server = await startModel(t);
    const picker = await startPicker(t, { script: script(server.endpoint) });
    const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
    const session = await openSession(gateway.port);
    t.after(() => session.destroy());
    const body = 'x'.repeat(100_000);
    const answers = [
      await gateway.ask({ method: 'POST' }, body),
      await askHttp2(session, { ':method': 'POST', ':path': '/' }, body),
    ];
    for (const answer of answers) {
      assert.deepEqual([answer.status, answer.body], [429, '{"error": "too many requests"}']);
      assert.equal(answer.headers['retry-after'], '3');
      assert.equal(answer.headers['content-type'], 'application/json');
      assert.ok(answer.headers['x-request-id'] !== undefined);
    }
    await waitUntilIdle(gateway, [picker], [server]);
    // The gateway serves on, and so does the connection of the client.
    picker.script = points['on the request headers']!(server.endpoint);
    assert.equal((await askHttp2(session, { ':method': 'GET', ':path': '/' })).status, 429);
    await waitUntilIdle(gateway, [picker], [server]);
  });
}

test('FailOpen makes no difference: a refusal is an answer, not a failure', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, { script: points['and ends the stream']!('') });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port], failsOpen: true });
  assert.equal((await gateway.ask({ method: 'POST' }, 'prompt')).status, 429);
  assert.equal(server.hits, 0);
});

test('framing of an immediate answer is ours, and an answer without a body has none', options, async (t) => {
  const server = await startModel(t);
  let answer = answerAtOnce(200, 'hello', {
    set: [
      { name: 'content-length', value: '3' },
      { name: 'transfer-encoding', value: 'gzip' },
      { name: 'connection', value: 'close' },
      { name: 'x-several', value: 'a', action: 'append' },
      { name: 'x-several', value: 'b', action: 'append' },
    ],
  });
  const picker = await startPicker(t, {
    script: async (call) => {
      await call.nextOf('requestHeaders');
      call.send(answer);
    },
  });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  const relayed = await gateway.ask();
  assert.deepEqual([relayed.status, relayed.body], [200, 'hello']);
  assert.deepEqual(valuesOf(relayed.rawHeaders, 'x-several').join(', '), 'a, b');
  answer = answerAtOnce(403);
  const bare = await gateway.ask();
  assert.deepEqual([bare.status, bare.body], [403, '']);
  const head = await gateway.ask({ method: 'HEAD' });
  assert.deepEqual([head.status, head.body], [403, '']);
});

test('an invalid status: 503 picker_unavailable', options, async (t) => {
  const server = await startModel(t);
  let status = 0;
  const picker = await startPicker(t, {
    script: async (call) => {
      await call.nextOf('requestHeaders');
      call.send(answerAtOnce(status, 'hello'));
      await call.drain();
    },
  });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  for (status of [1, 99, 101, 1_000]) {
    const answer = await gateway.ask();
    assert.deepEqual(
      [answer.status, (JSON.parse(answer.body) as { error: string }).error],
      [503, 'picker_unavailable'],
    );
  }
});

test('after the client got a head an immediate answer breaks the stream off', options, async (t) => {
  const server = await startModel(t);
  server.handle('/', (request, response) => {
    request.resume();
    (response as ServerResponse).writeHead(200, { 'content-type': 'text/event-stream' });
    (response as ServerResponse).write('data: 1\n\n');
  });
  const received = Promise.withResolvers<void>();
  const picker = await startPicker(t, {
    script: async (call) => {
      await call.nextOf('requestHeaders');
      call.send(choose(server.endpoint));
      await call.nextOf('responseHeaders');
      call.send(passHeaders('response'));
      await call.nextOf('responseBody');
      call.send(passChunk('response'));
      await received.promise;
      call.send(refusal);
      await call.drain();
    },
  });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  const message = gateway.open({ method: 'GET' });
  message.end();
  const response = await receiveResponse(message);
  assert.equal(response.statusCode, 200);
  response.once('data', () => received.resolve());
  assert.deepEqual(await readToEnd(response), { text: 'data: 1\n\n', clean: false });
  await waitUntilIdle(gateway, [picker], [server]);
  assert.equal(server.cutRequests, 1);
});
