// A thousand requests at once, with prompts of 1 KB to 1 MB: each is served by the endpoint that the picker chose, with every byte of its body.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendPrompts, wishHeader } from '../inference/concurrent-prompts.ts';
import type { PickerCall } from '../inference/fake-picker.ts';
import { pick } from '../inference/picker-scripts.ts';
import { startInferenceGateway, startModel, startPicker, waitUntilIdle } from '../integration/inference-fixture.ts';
import { effort } from '../kit/effort.ts';

const count = effort(1_000, 100);
const endpoints = (call: PickerCall): string => call.headers.get(wishHeader)!;

test(`${count.toLocaleString('en')} requests at once, with pickers of every kind`, { timeout: 300_000 }, async (t) => {
  const servers = await Promise.all(Array.from({ length: 4 }, () => startModel(t)));
  const scripts = (['plain', 'streamed'] as const).flatMap((mode) =>
    (['headers', 'body'] as const).map((after) => pick({ endpoints, mode, after })),
  );
  let next = 0;
  const picker = await startPicker(t, { script: (call) => scripts[next++ % scripts.length]!(call), keeps: false });
  const gateway = await startInferenceGateway(t, {
    endpoints: servers.map(({ port }) => port),
    pickers: [picker.port],
    // All of it runs in one process here: a wait for its turn is no failure of the picker.
    timeoutMs: 120_000,
  });
  const { served, problems } = await sendPrompts({
    port: gateway.port,
    endpoints: servers.map(({ endpoint }) => endpoint),
    count,
    minBytes: 1_000,
    maxBytes: 1_000_000,
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(
    servers.map(({ endpoint }) => served.get(endpoint)),
    servers.map(() => count / servers.length),
  );
  assert.equal(picker.calls.length, count);
  await waitUntilIdle(gateway, [picker], servers);
});
