// A client that leaves, at every stage of a request: the stream to the picker ends, the model server is let go, and nothing is left.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import type { FakePicker } from '../inference/fake-picker.ts';
import type { FakeModelServer } from '../inference/fake-model-server.ts';
import { hasHeard, type Stage, stages } from '../inference/leaving-stages.ts';
import { pick } from '../inference/picker-scripts.ts';
import { startRawUpstream } from './forwarding-fixture.ts';
import { openSession } from './gateway-fixture.ts';
import {
  type InferenceGateway,
  startInferenceGateway,
  startModel,
  startPicker,
  waitUntilIdle,
} from './inference-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };

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
