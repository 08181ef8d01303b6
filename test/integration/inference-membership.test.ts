// Picker and gateway hear of Pods on different ways: for a moment one of them knows more than the other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashBody } from '../inference/fake-model-server.ts';
import { pick } from '../inference/picker-scripts.ts';
import { readArrival, startInferenceGateway, startModel, startPicker, waitUntilIdle } from './inference-fixture.ts';

const options = { timeout: 180_000 };

for (const mode of ['plain', 'streamed'] as const) {
  test(`an endpoint that the gateway does not know yet is waited for (${mode})`, options, async (t) => {
    const servers = [await startModel(t), await startModel(t)] as const;
    const picker = await startPicker(t, { script: pick({ endpoints: servers[1].endpoint, mode }) });
    const gateway = await startInferenceGateway(t, { endpoints: [servers[0].port], pickers: [picker.port] });
    const body = 'x'.repeat(100_000);
    const asked = gateway.ask({ method: 'POST', path: '/echo' }, body);
    // It has chosen, or is about to.
    await (await picker.call(0)).heard(1);
    await gateway.apply({ endpoints: servers.map(({ port }) => port) });
    const arrival = readArrival(await asked);
    assert.deepEqual([arrival.served_by, arrival.body_sha256], [servers[1].name, hashBody(body)]);
    await waitUntilIdle(gateway, [picker], servers);
  });
}

test('an endpoint that has just left may still be chosen, but only by the picker', options, async (t) => {
  const servers = [await startModel(t), await startModel(t)] as const;
  const picker = await startPicker(t, { script: pick({ endpoints: servers[1].endpoint }) });
  const gateway = await startInferenceGateway(t, {
    endpoints: servers.map(({ port }) => port),
    pickers: [picker.port],
    failsOpen: true,
  });
  await gateway.apply({ endpoints: [servers[0].port] });
  assert.equal(readArrival(await gateway.ask({ path: '/echo' })).served_by, servers[1].name);
  await gateway.apply({ endpoints: [servers[0].port], pickers: [] });
  for (let index = 0; index < 20; index += 1)
    assert.equal(readArrival(await gateway.ask({ path: '/echo' })).served_by, servers[0].name);
  await waitUntilIdle(gateway, [picker], servers);
});
