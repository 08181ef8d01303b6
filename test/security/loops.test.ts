// Backends that lead back to the gateway, in one step or in several.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { ask, readAccessLog } from '../integration/gateway-fixture.ts';
import { maxRounds } from '../../src/gateway/forward/loop-guard.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

async function start(context: TestContext, resources: (port: number) => object[]): Promise<GatewayRun> {
  const gateway = await runGateway({ resources, flags: ['--log-format', 'json'] });
  context.after(() => gateway.stop());
  return gateway;
}

/** The requests that the access log has, once it has them all: each waits for the next one. */
async function countRequests(gateway: GatewayRun): Promise<number> {
  await waitFor('the first request is in the log', () =>
    readAccessLog(gateway).some(({ reason }) => reason === undefined),
  );
  const lines = readAccessLog(gateway);
  assert.equal(lines.filter(({ reason }) => reason === 'loop_detected').length, 1);
  return lines.length;
}

/** Status and error: the answer is that of the innermost round. */
function describeAnswer({ status, body }: { readonly status: number | undefined; readonly body: string }): string {
  return `${status} ${(JSON.parse(body) as { error: string }).error}`;
}

const modify = (requestHeaderModifier: object): object => ({ type: 'RequestHeaderModifier', requestHeaderModifier });

for (const [name, filters] of [
  ['a backend that is the listener itself', []],
  ['the same where a filter takes the mark away', [modify({ remove: ['X-Gateway-Round'] })]],
  ['the same where a filter writes another one', [modify({ set: [{ name: 'x-gateway-round', value: 'x' }] })]],
] as const) {
  test(name, async (context) => {
    const gateway = await start(context, (port) => [
      gatewayResource(port),
      routeResource('mcp', [ruleTo('/mcp', 'mcp', { filters })]),
      backendResource('mcp', port),
    ]);
    assert.equal(describeAnswer(await ask(gateway.port, { path: '/mcp' })), '508 loop_detected');
    assert.equal(await countRequests(gateway), maxRounds + 2);
  });
}

test('two gateways that lead to each other', async (context) => {
  const two = await start(context, (port) => [gatewayResource(port)]);
  const one = await start(context, (port) => towards(port, two.port));
  two.write(towards(two.port, one.port));
  await waitFor('the second leads to the first', async () => (await ask(two.port, { path: '/mcp' })).status !== 404);
  assert.equal(describeAnswer(await ask(one.port, { path: '/mcp' })), '508 loop_detected');
});

function towards(port: number, other: number): object[] {
  return [gatewayResource(port), routeResource('mcp', [ruleTo('/mcp', 'mcp')]), backendResource('mcp', other)];
}

test('a route to another route of the same gateway is no loop, and what clients write there is thrown away', async (context) => {
  const upstream = await startMcpUpstream();
  context.after(() => upstream.close());
  const gateway = await start(context, (port) => [
    gatewayResource(port),
    routeResource('mcp', [ruleTo('/outer', 'outer'), ruleTo('/inner', 'inner')]),
    backendResource('outer', port, '/inner'),
    backendResource('inner', upstream.port),
  ]);
  for (const value of ['9999', 'a, b, c', 'x'.repeat(5_000), ',,,'])
    assert.equal(
      (await ask(gateway.port, { path: '/outer', method: 'POST', headers: { 'x-gateway-round': value } })).status,
      200,
    );
});
