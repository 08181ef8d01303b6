// Pickers in trouble: dead, slow, gone in the middle, talking nonsense. FailClose answers 503 picker_unavailable, FailOpen sends the original request to
// an endpoint of the pool, and nothing hangs or is left behind either way.
import assert from 'node:assert/strict';
import type { ServerHttp2Stream } from 'node:http2';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { failingScripts } from '../inference/failing-scripts.ts';
import { hashBody } from '../inference/fake-model-server.ts';
import { choose, destinationKey, passChunk, passHeaders, streamChunk } from '../inference/picker-answers.ts';
import { pick, saysNothing } from '../inference/picker-scripts.ts';
import { findClosedPort, startRawUpstream } from '../integration/forwarding-fixture.ts';
import { receiveResponse } from '../integration/gateway-fixture.ts';
import {
  type InferenceGateway,
  readArrival,
  readReason,
  readToEnd,
  startInferenceGateway,
  startModel,
  startPicker,
  waitUntilIdle,
} from '../integration/inference-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
const body = 'x'.repeat(200_000);

/** What the client of a failed pick gets: with FailClose a 503, with FailOpen what the request would have got. */
async function assertFailure(gateway: InferenceGateway, failsOpen: boolean, what: string): Promise<void> {
  for (const method of ['GET', 'POST']) {
    const sent = method === 'POST' ? body : undefined;
    const answer = await gateway.ask({ method, path: '/echo' }, sent);
    if (!failsOpen) {
      assert.equal(readReason(answer), '503 picker_unavailable', `${what} ${method}`);
      continue;
    }
    const arrival = readArrival(answer);
    assert.deepEqual(
      [arrival.method, arrival.url, arrival.body_sha256],
      [method, '/echo', hashBody(sent ?? '')],
      `${what} ${method}`,
    );
    assert.ok(!arrival.headers.includes(destinationKey), what);
  }
}

for (const failsOpen of [false, true]) {
  const mode = failsOpen ? 'FailOpen' : 'FailClose';
  for (const [what, script] of Object.entries(failingScripts)) {
    test(`${mode}: ${what}`, options, async (t) => {
      const server = await startModel(t);
      const picker = await startPicker(t, { script });
      const gateway = await startInferenceGateway(t, {
        endpoints: [server.port],
        pickers: [picker.port],
        failsOpen,
        // Only those that wait for an answer have to wait this long.
        timeoutMs: 300,
      });
      await assertFailure(gateway, failsOpen, what);
      assert.equal(server.hits, failsOpen ? 2 : 0);
      await waitUntilIdle(gateway, [picker], [server]);
    });
  }

  const raw: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
    'HTTP 404': (stream) => stream.respond({ ':status': 404, 'content-type': 'text/plain' }, { endStream: true }),
    'a web page': (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'text/html' });
      stream.end('<html></html>');
    },
    'frames of gRPC with garbage in them': (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      stream.write(Buffer.from([0, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff]));
    },
    'a frame of gRPC without an end': (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      stream.write(Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]));
    },
    'a compressed frame that nobody asked for': (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-encoding': 'gzip' });
      stream.write(Buffer.from([1, 0, 0, 0, 1, 0]));
    },
    'a stream that is reset': (stream) => stream.close(2),
    'a stream that is refused': (stream) => stream.close(7),
    'a connection that is cut': (stream) => stream.session!.destroy(),
  };
  for (const [what, answer] of Object.entries(raw)) {
    test(`${mode}: ${what} in place of gRPC`, options, async (t) => {
      const server = await startModel(t);
      const picker = await startPicker(t, {
        script: saysNothing,
        raw: (stream) => {
          stream.on('error', () => {});
          answer(stream);
        },
      });
      const gateway = await startInferenceGateway(t, {
        endpoints: [server.port],
        pickers: [picker.port],
        failsOpen,
        timeoutMs: 2_000,
      });
      await assertFailure(gateway, failsOpen, what);
      await waitUntilIdle(gateway, [], [server]);
    });
  }

  test(
    `${mode}: the picker does not listen, hangs up, does not speak HTTP/2, or does not exist`,
    options,
    async (t) => {
      const server = await startModel(t);
      const hangsUp = await startRawUpstream(t, (socket) => socket.destroy());
      const speaksHttp1 = await startModel(t);
      const isSilent = await startRawUpstream(t, () => {});
      for (const pickers of [[await findClosedPort()], [hangsUp], [speaksHttp1.port], [isSilent], []]) {
        const gateway = await startInferenceGateway(t, {
          endpoints: [server.port],
          pickers,
          failsOpen,
          timeoutMs: 500,
        });
        await assertFailure(gateway, failsOpen, String(pickers));
        await waitUntilIdle(gateway, [], [server]);
        await gateway.close();
      }
    },
  );

  test(`${mode}: the picker dies before it has chosen`, options, async (t) => {
    const server = await startModel(t);
    const picker = await startPicker(t, { script: saysNothing });
    const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port], failsOpen });
    for (const before of ['the end of the body', 'the whole request']) {
      const doomed = before === 'the whole request' ? picker : await startPicker(t, { script: saysNothing });
      await gateway.apply({ pickers: [doomed.port] });
      const message = gateway.open({ path: '/echo' });
      message.write(body.slice(1));
      const call = await doomed.call(0);
      await call.heard(2);
      if (before === 'the end of the body') {
        await doomed.close();
        message.end('x');
      } else {
        message.end('x');
        while (!call.received.some(({ request }) => request.case === 'requestBody' && request.value.endOfStream))
          await call.heard(call.received.length + 1);
        await doomed.close();
      }
      const response = await receiveResponse(message);
      const { text } = await readToEnd(response);
      const answer = { status: response.statusCode!, body: text };
      if (failsOpen) {
        assert.equal(answer.status, 200, text);
        assert.equal((JSON.parse(text) as { body_sha256: string }).body_sha256, hashBody(body), before);
      } else assert.equal(readReason(answer), '503 picker_unavailable', before);
      await waitUntilIdle(gateway, [doomed], [server]);
    }
  });

  for (const bodies of ['plain', 'streamed'] as const) {
    const outcome = bodies === 'plain' ? 'the rest passes' : '503';
    test(
      `${mode}: the picker is lost after its choice, in the middle of the body (${bodies}): ${outcome}`,
      options,
      async (t) => {
        const servers = [await startModel(t), await startModel(t)];
        const arrived = Promise.withResolvers<void>();
        servers[0]!.handle('/', (request, response) => {
          let text = '';
          request.on('data', (chunk: Buffer) => {
            text += chunk.toString();
            arrived.resolve();
          });
          request.on('end', () => (response as ServerResponse).end(text));
        });
        const picker = await startPicker(t, {
          script: async (call) => {
            await call.nextOf('requestHeaders');
            call.send(choose(servers[0]!.endpoint));
            const { body: first } = await call.nextOf('requestBody');
            call.send(bodies === 'plain' ? passChunk('request') : streamChunk('request', first, false));
            await call.nextOf('requestBody');
            // The endpoint has the first piece: there is no other endpoint for this request any more.
            await arrived.promise;
            throw new ConnectError('gone', Code.Unavailable);
          },
        });
        const gateway = await startInferenceGateway(t, {
          endpoints: servers.map(({ port }) => port),
          pickers: [picker.port],
          failsOpen,
        });
        const message = gateway.open({ headers: { 'transfer-encoding': 'chunked' } });
        const answered = receiveResponse(message);
        message.write('one');
        const call = await picker.call(0);
        await call.heard(2);
        message.write('two');
        await call.over;
        message.end('three');
        const response = await answered;
        const { text } = await readToEnd(response);
        if (bodies === 'plain') assert.deepEqual([response.statusCode, text], [200, 'onetwothree']);
        else assert.equal(readReason({ status: response.statusCode!, body: text }), '503 picker_unavailable');
        await waitUntilIdle(gateway, [picker], servers);
        assert.equal(servers[1]!.hits, 0);
      },
    );
  }

  test(`${mode}: no candidate is an endpoint of the pool, or none can be reached`, options, async (t) => {
    const server = await startModel(t);
    const dead = await findClosedPort();
    const picker = await startPicker(t, { script: pick({ endpoints: '' }) });
    const gateway = await startInferenceGateway(t, {
      endpoints: [dead, server.port],
      pickers: [picker.port],
      failsOpen,
    });
    for (const [endpoints, reason] of [
      ['192.0.2.1:80', '503 picker_endpoint_refused'],
      [`127.0.0.1:${dead}`, '502 upstream_unreachable'],
    ] as const) {
      for (const after of ['headers', 'body'] as const) {
        for (const bodies of ['plain', 'streamed'] as const) {
          picker.script = pick({ endpoints, after, mode: bodies });
          const answer = await gateway.ask({ method: 'POST', path: '/echo' }, body);
          if (failsOpen) assert.equal(readArrival(answer).body_sha256, hashBody(body));
          else assert.equal(readReason(answer), reason);
        }
      }
    }
    await waitUntilIdle(gateway, [picker], [server]);
  });
}

test(
  'FailOpen spreads requests over the endpoints of the pool, and passes over those that are dead',
  options,
  async (t) => {
    const servers = [await startModel(t), await startModel(t)];
    const dead = await findClosedPort();
    const gateway = await startInferenceGateway(t, {
      endpoints: [dead, ...servers.map(({ port }) => port)],
      pickers: [await findClosedPort()],
      failsOpen: true,
    });
    const names = new Set<string>();
    for (let index = 0; index < 40; index += 1) {
      const arrival = readArrival(await gateway.ask({ method: 'POST' }, `prompt ${index}`));
      assert.equal(arrival.body_sha256, hashBody(`prompt ${index}`));
      names.add(arrival.served_by);
    }
    assert.equal(names.size, 2);
  },
);

test('FailOpen does not send on what the picker had written: the original request goes out', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, {
    script: async (call) => {
      await call.nextOf('requestBody');
      call.send(streamChunk('request', 'rewritten', false));
      throw new ConnectError('gone', Code.Unavailable);
    },
  });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port], failsOpen: true });
  const arrival = readArrival(await gateway.ask({ method: 'POST' }, 'original'));
  assert.equal(arrival.body_sha256, hashBody('original'));
});

test('slow, but within its time: the choice counts, and a body may take longer than one answer', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, { script: saysNothing });
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port],
    pickers: [picker.port],
    timeoutMs: 5_000,
  });
  picker.script = async (call) => {
    await call.nextOf('requestHeaders');
    await new Promise((resolve) => setTimeout(resolve, 300));
    call.send(choose(server.endpoint));
    await pick({ endpoints: server.endpoint })(call);
  };
  assert.equal(readArrival(await gateway.ask({ method: 'POST' }, body)).body_sha256, hashBody(body));
  // The time is for answers of the picker, not for the client: here it is the client that is slow.
  picker.script = pick({ endpoints: server.endpoint, after: 'body' });
  const message = gateway.open();
  message.write('first');
  await new Promise((resolve) => setTimeout(resolve, 5_500));
  message.end('second');
  const response = await receiveResponse(message);
  const { text } = await readToEnd(response);
  assert.equal((JSON.parse(text) as { body_sha256: string }).body_sha256, hashBody('firstsecond'), text);
});

test('one of several pickers is enough', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port],
    pickers: [await findClosedPort(), picker.port],
  });
  for (let index = 0; index < 20; index += 1) readArrival(await gateway.ask({ method: 'POST' }, 'prompt'));
});

test('a picker that comes back is asked again, on a new connection', options, async (t) => {
  const server = await startModel(t);
  const first = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [first.port] });
  readArrival(await gateway.ask({ method: 'POST' }, 'prompt'));
  await first.close();
  assert.equal(readReason(await gateway.ask({ method: 'POST' }, 'prompt')), '503 picker_unavailable');
  const second = await startPicker(t, { script: pick({ endpoints: server.endpoint }), port: first.port });
  const answer = await waitFor('the picker is asked again', async () => {
    const next = await gateway.ask({ method: 'POST' }, 'prompt');
    if (next.status !== 503) return next;
    assert.equal(readReason(next), '503 picker_unavailable');
    return undefined;
  });
  readArrival(answer);
  assert.equal(second.sessionsSeen, 1);
});

test('the chosen endpoint has just died: the next candidate, or 502', options, async (t) => {
  const dying = await startModel(t);
  const server = await startModel(t);
  const picker = await startPicker(t, { script: pick({ endpoints: dying.endpoint }) });
  const gateway = await startInferenceGateway(t, { endpoints: [dying.port, server.port], pickers: [picker.port] });
  // A connection to it is kept.
  assert.equal(readArrival(await gateway.ask({ method: 'POST' }, 'prompt')).served_by, dying.name);
  await dying.close();
  picker.script = pick({ endpoints: `${dying.endpoint},${server.endpoint}` });
  assert.equal(readArrival(await gateway.ask({ method: 'POST' }, 'prompt')).served_by, server.name);
  picker.script = pick({ endpoints: dying.endpoint });
  assert.match(readReason(await gateway.ask({ method: 'POST' }, 'prompt')), /^50[23] upstream_(unreachable|reset)$/);
  await waitUntilIdle(gateway, [picker], [server]);
});

// ---- after the answer has begun

interface Lost {
  readonly mode: 'plain' | 'streamed';
  readonly end: 'an error' | 'an end' | 'death' | 'silence';
}

const losses: readonly Lost[] = (['plain', 'streamed'] as const).flatMap((mode) =>
  (['an error', 'an end', 'death', 'silence'] as const).map((end) => ({ mode, end })),
);
for (const { mode, end } of losses) {
  const outcome = mode === 'plain' ? 'what is left passes' : 'the stream breaks off';
  test(`${end} of a picker in the middle of an answer (${mode}): ${outcome}`, options, async (t) => {
    const server = await startModel(t);
    let answering: ServerResponse | undefined;
    server.handle('/', (request, response) => {
      request.resume();
      answering = response as ServerResponse;
      answering.writeHead(200, { 'content-type': 'text/plain' });
      answering.write('one');
    });
    const picker = await startPicker(t, {
      script: async (call) => {
        await call.nextOf('requestHeaders');
        call.send(choose(server.endpoint));
        await call.nextOf('responseHeaders');
        call.send(passHeaders('response'));
        const { body: first } = await call.nextOf('responseBody');
        call.send(mode === 'plain' ? passChunk('response') : streamChunk('response', first, false));
        await call.nextOf('responseBody');
        if (end === 'an error') throw new ConnectError('gone', Code.Unavailable);
        if (end === 'silence') await call.drain();
        else if (end === 'death') await picker.close();
      },
    });
    const gateway = await startInferenceGateway(t, {
      endpoints: [server.port],
      pickers: [picker.port],
      timeoutMs: end === 'silence' ? 300 : 0,
    });
    const message = gateway.open({ method: 'GET' });
    message.end();
    const response = await receiveResponse(message);
    response.once('data', () => answering!.write('two'));
    const reading = readToEnd(response);
    const call = await picker.call(0);
    await call.over;
    if (mode === 'plain') answering!.end('three');
    assert.deepEqual(
      await reading,
      mode === 'plain' ? { text: 'onetwothree', clean: true } : { text: 'one', clean: false },
    );
    await waitUntilIdle(gateway, [picker], [server]);
  });
}

test('a picker that is lost before it let the head of the answer pass: the answer passes', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, {
    script: async (call) => {
      await call.nextOf('requestHeaders');
      call.send(choose(server.endpoint));
      await call.nextOf('responseHeaders');
      throw new ConnectError('gone', Code.Unavailable);
    },
  });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  assert.equal(readArrival(await gateway.ask({ path: '/echo' })).served_by, server.name);
  await waitUntilIdle(gateway, [picker], [server]);
});
