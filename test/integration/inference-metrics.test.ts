// What the gateway counts about picks: how many with which result, how long they took, and how often it went on without.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerAtOnce } from '../inference/picker-answers.ts';
import { pick } from '../inference/picker-scripts.ts';
import { findClosedPort } from './forwarding-fixture.ts';
import { poolKey, startInferenceGateway, startModel, startPicker, waitUntilIdle } from './inference-fixture.ts';

const options = { timeout: 180_000 };

test('picks by result, and their time', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  const ask = async (times: number): Promise<void> => {
    for (let index = 0; index < times; index += 1) await gateway.ask({ method: 'POST' }, 'prompt');
  };
  await ask(4);
  picker.script = pick({ endpoints: '192.0.2.1:80' });
  await ask(3);
  picker.script = async (call) => {
    await call.nextOf('requestHeaders');
    call.send(answerAtOnce(429, 'no'));
  };
  await ask(2);
  picker.script = async () => {};
  await ask(1);
  await waitUntilIdle(gateway, [picker], [server]);
  const results = await gateway.readSeries('mcp_gateway_picks_total');
  assert.deepEqual(
    Object.fromEntries(results),
    Object.fromEntries(
      [
        ['picked', 4],
        ['refused', 3],
        ['immediate', 2],
        ['unavailable', 1],
      ].map(([result, count]) => [`{pool="${poolKey}",result="${result}"}`, count]),
    ),
  );
  const counts = await gateway.readSeries('mcp_gateway_pick_seconds_count');
  assert.equal(
    [...counts.values()].reduce((sum, count) => sum + count, 0),
    10,
  );
  const sums = await gateway.readSeries('mcp_gateway_pick_seconds_sum');
  assert.ok([...sums.values()].every((sum) => sum > 0 && sum < 60));
  const requests = await gateway.readSeries('mcp_gateway_requests_total');
  for (const reason of ['picker_unavailable', 'picker_endpoint_refused'])
    assert.ok(
      [...requests.keys()].some((labels) => labels.includes(`code="503",reason="${reason}"`)),
      reason,
    );
  assert.equal((await gateway.readSeries('mcp_gateway_pick_fallbacks_total')).size, 0);
});

test('requests that went on without the picker, by reason', options, async (t) => {
  const server = await startModel(t);
  const dead = await findClosedPort();
  const picker = await startPicker(t, { script: async () => {} });
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port, dead],
    pickers: [picker.port],
    failsOpen: true,
  });
  for (const [endpoints, times] of [
    [undefined, 3],
    ['192.0.2.1:80', 2],
    [`127.0.0.1:${dead}`, 1],
  ] as const) {
    if (endpoints !== undefined) picker.script = pick({ endpoints });
    for (let index = 0; index < times; index += 1)
      assert.equal((await gateway.ask({ method: 'POST' }, 'prompt')).status, 200);
  }
  await waitUntilIdle(gateway, [picker], [server]);
  const fallbacks = await gateway.readSeries('mcp_gateway_pick_fallbacks_total');
  assert.deepEqual(
    Object.fromEntries(fallbacks),
    Object.fromEntries(
      [
        ['unavailable', 3],
        ['refused', 2],
        ['unreachable', 1],
      ].map(([reason, count]) => [`{pool="${poolKey}",reason="${reason}"}`, count]),
    ),
  );
});
