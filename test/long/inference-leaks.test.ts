// Hundreds of requests that fail, or whose clients leave: what is in memory afterwards. Each look collects all garbage, and the file has a process of its own.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { failingScripts } from '../inference/failing-scripts.ts';
import { stages } from '../inference/leaving-stages.ts';
import { pick, saysNothing } from '../inference/picker-scripts.ts';
import {
  countCalls,
  readArrival,
  readReason,
  startInferenceGateway,
  startModel,
  startPicker,
  waitUntilForgotten,
  waitUntilIdle,
} from '../integration/inference-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const failures = 300;

test(`${failures} failures of every kind leave nothing behind`, { timeout: 120_000 }, async (t) => {
  const before = countCalls();
  const server = await startModel(t);
  const picker = await startPicker(t, { script: saysNothing });
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port],
    pickers: [picker.port],
    timeoutMs: 500,
    keepsFinished: false,
  });
  const all = Object.values(failingScripts);
  let next = 0;
  picker.script = (call) => all[next++ % all.length]!(call);
  for (let round = 0; round < failures / 30; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => gateway.ask({ method: 'POST' }, 'x'.repeat(10_000))),
    );
    for (const answer of answers) assert.equal(readReason(answer), '503 picker_unavailable');
  }
  await waitUntilIdle(gateway, [picker], [server]);
  await waitUntilForgotten(before);
  assert.ok(picker.openSessions <= 4, `${picker.openSessions} connections`);
  // It is as good as new.
  picker.script = pick({ endpoints: server.endpoint });
  readArrival(await gateway.ask({ method: 'POST' }, 'x'.repeat(200_000)));
  await gateway.close();
  await waitFor(() => picker.openSessions === 0);
});

const leaving = 400;

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
