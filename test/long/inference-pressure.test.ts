// Whoever does not read stops whoever writes, through gateway and picker: what is in flight is bounded, whatever is sent.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { PickerScript } from '../inference/fake-picker.ts';
import { choose, passChunk } from '../inference/picker-answers.ts';
import { pick } from '../inference/picker-scripts.ts';
import { pump } from '../integration/backpressure.ts';
import { receiveResponse } from '../integration/gateway-fixture.ts';
import {
  readReason,
  readToEnd,
  startInferenceGateway,
  startModel,
  startPicker,
  waitUntilIdle,
} from '../integration/inference-fixture.ts';
import { waitFor, waitForStandstill } from '../kit/wait-for.ts';

const options = { timeout: 120_000 };
const mebibyte = 1024 * 1024;
const total = 96 * mebibyte;
/** What may be in flight between two that do not move: the buffers of three connections, and 16 MiB that the gateway may keep. */
const bound = 64 * mebibyte;

for (const mode of ['plain', 'streamed'] as const) {
  test(
    `a model server that does not read stops the client, and a body of any size passes (${mode})`,
    options,
    async (t) => {
      const server = await startModel(t);
      const release = Promise.withResolvers<void>();
      server.handle('/', (request, response) => {
        request.pause();
        let received = 0;
        void release.promise.then(() => {
          request.on('data', (part: Buffer) => (received += part.length));
          request.on('end', () => (response as ServerResponse).end(String(received)));
          request.resume();
        });
      });
      const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint, mode }), keeps: false });
      const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
      const message = gateway.open();
      const state = pump(message, total);
      await waitFor(() => server.openRequests === 1);
      await waitForStandstill(() => state.written);
      assert.ok(state.written < bound, `${state.written} bytes in flight for a model server that reads none`);
      release.resolve();
      assert.deepEqual(await readToEnd(await receiveResponse(message)), { text: String(total), clean: true });
      await waitUntilIdle(gateway, [picker], [server]);
    },
  );

  test(
    `a client that does not read stops the model server, and an answer of any size passes (${mode})`,
    options,
    async (t) => {
      const server = await startModel(t);
      let state: { readonly written: number } | undefined;
      server.handle('/', (request, response) => {
        request.resume();
        (response as ServerResponse).writeHead(200, { 'content-length': String(total) });
        state = pump(response, total);
      });
      const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint, mode }), keeps: false });
      const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
      const message = gateway.open({ method: 'GET' });
      message.end();
      const response = await receiveResponse(message);
      response.pause();
      await waitForStandstill(() => state?.written ?? 0);
      assert.ok(state!.written < bound, `${state!.written} bytes in flight for a client that reads none`);
      let received = 0;
      for await (const part of response as AsyncIterable<Buffer>) received += part.length;
      assert.equal(received, total);
      await waitUntilIdle(gateway, [picker], [server]);
    },
  );
}

test('a picker that does not read stops the client', options, async (t) => {
  const server = await startModel(t);
  const release = Promise.withResolvers<void>();
  const script: PickerScript = async (call) => {
    await call.nextOf('requestHeaders');
    call.send(choose(server.endpoint));
    await release.promise;
    await call.drain();
  };
  const picker = await startPicker(t, { script, keeps: false });
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port],
    pickers: [picker.port],
    timeoutMs: 60_000,
  });
  const message = gateway.open();
  const state = pump(message, total);
  await waitFor(() => picker.openStreams === 1);
  await waitForStandstill(() => state.written);
  assert.ok(state.written < bound, `${state.written} bytes in flight for a picker that reads none`);
  message.destroy();
  release.resolve();
  await waitUntilIdle(gateway, [picker], [server]);
});

test(
  'a picker that wants all of a body before it says a word gets 16 MiB kept for it and no more',
  options,
  async (t) => {
    const server = await startModel(t);
    const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint, after: 'body' }), keeps: false });
    // It answers each piece, so nothing is unanswered for long; the choice comes last.
    const gateway = await startInferenceGateway(t, {
      endpoints: [server.port],
      pickers: [picker.port],
      timeoutMs: 60_000,
    });
    const small = await gateway.ask({ method: 'POST' }, 'x'.repeat(15 * mebibyte));
    assert.equal(small.status, 200, small.body);
    const message = gateway.open();
    pump(message, total);
    const response = await receiveResponse(message);
    const { text } = await readToEnd(response);
    assert.equal(readReason({ status: response.statusCode!, body: text }), '503 picker_unavailable');
    message.destroy();
    await waitUntilIdle(gateway, [picker], [server]);
  },
);

test('FailOpen cannot repeat what was too much to be kept: 503, not half a request', options, async (t) => {
  const server = await startModel(t);
  const lost = Promise.withResolvers<void>();
  const picker = await startPicker(t, {
    script: async (call) => {
      let bytes = 0;
      while (bytes < 20 * mebibyte) bytes += (await call.nextOf('requestBody')).body.length;
      lost.resolve();
    },
    keeps: false,
  });
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port],
    pickers: [picker.port],
    failsOpen: true,
    timeoutMs: 60_000,
  });
  const message = gateway.open();
  pump(message, total);
  const response = await receiveResponse(message);
  const { text } = await readToEnd(response);
  assert.equal(readReason({ status: response.statusCode!, body: text }), '503 picker_unavailable');
  await lost.promise;
  message.destroy();
  await waitUntilIdle(gateway, [picker], [server]);
  assert.equal(server.hits, 0);
});

test('a flood of answers of the picker is not collected', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, {
    script: async (call) => {
      await call.nextOf('requestHeaders');
      // Thousands of answers to pieces that nobody sent.
      for (let index = 0; index < 10_000; index += 1) call.send(passChunk('request'));
      await call.drain();
    },
  });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  assert.equal(readReason(await gateway.ask()), '503 picker_unavailable');
  await waitUntilIdle(gateway, [picker], [server]);
});
