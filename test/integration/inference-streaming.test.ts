// Tokens reach the client one by one. No clock is asked: the model server writes the next token only when the client says that it has the one before.
import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { type Arrival, hashBody, type TokenEvent } from '../inference/fake-model-server.ts';
import { pick } from '../inference/picker-scripts.ts';
import { readEvents } from '../inference/server-events.ts';
import { openSession, receiveHead, receiveResponse } from './gateway-fixture.ts';
import {
  type InferenceGateway,
  startInferenceGateway,
  startModel,
  startPicker,
  waitUntilIdle,
} from './inference-fixture.ts';

const options = { timeout: 180_000 };
const count = 50;
const chat = JSON.stringify({
  model: 'test',
  stream: true,
  max_tokens: count,
  messages: [{ role: 'user', content: 'hello '.repeat(2_000) }],
});
const path = '/v1/chat/completions';

/** Ask with each version of HTTP. */
const clients: Readonly<
  Record<string, (gateway: InferenceGateway, after: (close: () => void) => void) => Promise<Readable>>
> = {
  'HTTP/1.1': async (gateway) => {
    const message = gateway.open({ path, headers: { 'content-type': 'application/json' } });
    message.end(chat);
    const response = await receiveResponse(message);
    assert.equal(response.statusCode, 200);
    assert.equal(response.headers['content-type'], 'text/event-stream');
    return response;
  },
  'HTTP/2': async (gateway, after) => {
    const session = await openSession(gateway.port);
    after(() => session.destroy());
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/json' });
    stream.end(chat);
    assert.equal((await receiveHead(stream))[':status'], 200);
    return stream;
  },
};

for (const [version, open] of Object.entries(clients)) {
  for (const protocol of ['http1', 'h2c'] as const) {
    for (const mode of ['plain', 'streamed'] as const) {
      for (const after of ['headers', 'body'] as const) {
        const what = `${version} client, ${protocol} server, ${mode} picker that chooses after the ${after}`;
        test(`every token reaches the client before the next is written: ${what}`, options, async (t) => {
          const received = Array.from({ length: count }, () => Promise.withResolvers<void>());
          const written: number[] = [];
          const server = await startModel(t, {
            protocol,
            pace: async (token) => {
              if (token > 0) await received[token - 1]!.promise;
              written.push(token);
            },
          });
          const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint, mode, after }) });
          const gateway = await startInferenceGateway(t, {
            endpoints: [server.port],
            pickers: [picker.port],
            protocol,
          });
          const events = readEvents(await open(gateway, (close) => t.after(close)));
          const arrival = JSON.parse((await events.next()).value!) as Arrival;
          assert.equal(arrival.body_sha256, hashBody(chat));
          for (let token = 0; token < count; token += 1) {
            const event = JSON.parse((await events.next()).value!) as TokenEvent;
            assert.equal(event.token, token);
            // It alone can be here: the server waits.
            assert.equal(written.length, token + 1);
            received[token]!.resolve();
          }
          assert.equal((await events.next()).value, '[DONE]');
          assert.equal((await events.next()).done, true);
          await waitUntilIdle(gateway, [picker], [server]);
          assert.equal(picker.calls[0]!.outcome, 'closed', 'the picker was told the end');
        });
      }
    }
  }
}
