// A client that leaves, at every stage of a request: the stream to the picker ends, the model server is let go, and nothing is left.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import type { FakePicker, PickerScript } from '../inference/fake-picker.ts';
import type { FakeModelServer } from '../inference/fake-model-server.ts';
import { choose, passChunk, passHeaders, streamChunk } from '../inference/picker-answers.ts';
import { pick, saysNothing } from '../inference/picker-scripts.ts';
import { startRawUpstream } from './forwarding-fixture.ts';
import { openSession } from './gateway-fixture.ts';
import {
  countCalls,
  type InferenceGateway,
  startInferenceGateway,
  startModel,
  startPicker,
  waitUntilForgotten,
  waitUntilIdle,
} from './inference-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';
import { effort } from '../kit/effort.ts';

const options = { timeout: 180_000 };

interface Stage {
  /** What the picker does. */
  readonly script: (server: FakeModelServer) => PickerScript;
  /** Whether the client has ended its request. */
  readonly isSent: boolean;
  /** Holds when the stage is reached. */
  readonly reached: (picker: FakePicker, server: FakeModelServer) => boolean;
  /** Whether the model server has got to know of the request. */
  readonly isServed: boolean;
}

const hasHeard = (picker: FakePicker, kind: string): boolean =>
  picker.calls[0]?.received.some(({ request }) => request.case === kind) === true;

const stages: Readonly<Record<string, Stage>> = {
  'before the picker has answered the headers': {
    script: () => saysNothing,
    isSent: false,
    reached: (picker) => hasHeard(picker, 'requestBody'),
    isServed: false,
  },
  'while the picker thinks about the whole request': {
    script: () => saysNothing,
    isSent: true,
    reached: (picker) =>
      picker.calls[0]?.received.some(({ request }) => request.case === 'requestBody' && request.value.endOfStream) ===
      true,
    isServed: false,
  },
  'in the middle of its request, which passes': {
    script: ({ endpoint }) => pick({ endpoints: endpoint }),
    isSent: false,
    reached: (_picker, server) => server.openRequests === 1,
    isServed: true,
  },
  'in the middle of its request, which is sent anew': {
    script: ({ endpoint }) => pick({ endpoints: endpoint, mode: 'streamed' }),
    isSent: false,
    reached: (_picker, server) => server.openRequests === 1,
    isServed: true,
  },
  'while the model server thinks': {
    script: ({ endpoint }) => pick({ endpoints: endpoint }),
    isSent: true,
    reached: (_picker, server) => server.openRequests === 1,
    isServed: true,
  },
  'while the picker thinks about the head of the answer': {
    script:
      ({ endpoint }) =>
      async (call) => {
        await call.nextOf('requestHeaders');
        call.send(choose(endpoint));
        for (;;) {
          const { endOfStream } = await call.nextOf('requestBody');
          call.send(passChunk('request'));
          if (endOfStream) break;
        }
        await call.drain();
      },
    isSent: true,
    reached: (picker) => hasHeard(picker, 'responseHeaders'),
    isServed: true,
  },
  'in the middle of the answer, which passes': {
    script: ({ endpoint }) => pick({ endpoints: endpoint }),
    isSent: true,
    reached: (picker) => hasHeard(picker, 'responseBody'),
    isServed: true,
  },
  'in the middle of the answer, which is sent anew': {
    script: ({ endpoint }) => pick({ endpoints: endpoint, mode: 'streamed' }),
    isSent: true,
    reached: (picker) => hasHeard(picker, 'responseBody'),
    isServed: true,
  },
  'while the picker holds the answer back': {
    script:
      ({ endpoint }) =>
      async (call) => {
        await call.nextOf('requestHeaders');
        call.send(choose(endpoint));
        for (;;) {
          const { body, endOfStream } = await call.nextOf('requestBody');
          call.send(streamChunk('request', body, endOfStream));
          if (endOfStream) break;
        }
        await call.nextOf('responseHeaders');
        call.send(passHeaders('response'));
        await call.drain();
      },
    isSent: true,
    reached: (picker) => hasHeard(picker, 'responseBody'),
    isServed: true,
  },
};

interface Stand {
  readonly gateway: InferenceGateway;
  readonly picker: FakePicker;
  readonly server: FakeModelServer;
}

async function startStand(t: TestContext, stage: Stage, answers: boolean): Promise<Stand> {
  const server = await startModel(t);
  server.handle('/', (request, response) => {
    request.resume();
    if (!answers) return;
    (response as ServerResponse).writeHead(200, { 'content-type': 'text/event-stream' });
    (response as ServerResponse).write('data: 1\n\n');
  });
  const picker = await startPicker(t, { script: stage.script(server) });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  return { gateway, picker, server };
}

/** Clients that leave by themselves; each begins a request and returns how it is left. */
const clients: Readonly<
  Record<string, (t: TestContext, port: number, isSent: boolean, gateway: InferenceGateway) => Promise<() => void>>
> = {
  'HTTP/1.1': async (_t, _port, isSent, gateway) => {
    const message = gateway.open({ headers: { 'transfer-encoding': 'chunked' } });
    message.write('some of it');
    if (isSent) message.end();
    return () => message.destroy();
  },
  'HTTP/2': async (t, port, isSent) => {
    const session = await openSession(port);
    t.after(() => session.destroy());
    const stream = session.request({ ':method': 'POST', ':path': '/' });
    stream.on('error', () => {});
    stream.resume();
    stream.write('some of it');
    if (isSent) stream.end();
    return () => stream.close(8);
  },
};

for (const [version, begin] of Object.entries(clients)) {
  for (const [name, stage] of Object.entries(stages)) {
    test(`an ${version} client leaves ${name}`, options, async (t) => {
      const answers = /answer/.test(name) && !/answered/.test(name);
      const { gateway, picker, server } = await startStand(t, stage, answers);
      const leave = await begin(t, gateway.port, stage.isSent, gateway);
      await waitFor(() => stage.reached(picker, server));
      assert.equal(picker.openStreams, 1);
      leave();
      await waitUntilIdle(gateway, [picker], [server]);
      await picker.calls[0]!.over;
      assert.equal(gateway.finished[0]!.reason, 'client_disconnected');
      assert.deepEqual([server.hits, server.cutRequests], stage.isServed ? [1, 1] : [0, 0]);
      // The connection to the picker stays, and goes with the gateway.
      assert.equal(picker.openSessions, 1);
      await gateway.close();
      await waitFor(() => picker.openSessions === 0);
    });
  }
}

test('a client leaves before there is a connection to the picker', options, async (t) => {
  let connections = 0;
  // It takes connections and says nothing: HTTP/2 never begins.
  const port = await startRawUpstream(t, (socket) => {
    connections += 1;
    socket.resume();
    socket.once('end', () => socket.end());
    socket.once('close', () => (connections -= 1));
  });
  const server = await startModel(t);
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [port] });
  const message = gateway.open();
  message.end('prompt');
  await waitFor(() => connections === 1);
  message.destroy();
  await waitUntilIdle(gateway, [], [server]);
  await gateway.close();
  await waitFor(() => connections === 0);
});

const leaving = effort(400, 80);

test(`${leaving} clients that leave wherever they are leave nothing behind`, { timeout: 120_000 }, async (t) => {
  const before = countCalls();
  const server = await startModel(t);
  server.handle('/', (request, response) => {
    request.resume();
    (response as ServerResponse).writeHead(200, { 'content-type': 'text/event-stream' });
    (response as ServerResponse).write('data: 1\n\n');
  });
  const scripts = Object.values(stages).map((stage) => stage.script(server));
  let next = 0;
  const picker = await startPicker(t, { script: (call) => scripts[next++ % scripts.length]!(call) });
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port],
    pickers: [picker.port],
    keepsFinished: false,
  });
  for (let round = 1; round <= leaving / 40; round += 1) {
    const messages = Array.from({ length: 40 }, (_, index) => {
      const message = gateway.open({ headers: { 'transfer-encoding': 'chunked' } });
      message.write('x'.repeat(1_000 * (index + 1)));
      if (index % 2 === 0) message.end();
      message.on('response', (response) => response.on('error', () => {}).resume());
      return message;
    });
    await waitFor(() => picker.calls.length === 40 * round);
    for (const message of messages) message.destroy();
    await waitUntilIdle(gateway, [picker], [server]);
  }
  await waitUntilForgotten(before);
  assert.ok(picker.sessionsSeen <= 4, `${picker.sessionsSeen} connections`);
});

test('a gateway that drains lets requests to a pool come to their end', options, async (t) => {
  const server = await startModel(t);
  let answering: ServerResponse | undefined;
  server.handle('/', (request, response) => {
    request.resume();
    answering = response as ServerResponse;
    answering.writeHead(200, { 'content-type': 'text/event-stream' });
    answering.write('data: 1\n\n');
  });
  const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  const asking = gateway.ask({ method: 'POST' }, 'prompt');
  await waitFor(() => hasHeard(picker, 'responseBody'));
  const drained = gateway.gateway.drain(30_000);
  answering!.end('data: 2\n\n');
  assert.equal((await asking).body, 'data: 1\n\ndata: 2\n\n');
  await drained;
  await waitFor(() => picker.openSessions === 0);
});
