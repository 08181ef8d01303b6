import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

test('a route that is taken away is gone', async (t) => {
  const upstream = await startMcpUpstream();
  t.after(() => upstream.close());
  const gateway = await runGateway({
    resources: (port) => [
      gatewayResource(port),
      routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
      backendResource('mcp', upstream.port),
    ],
  });
  t.after(() => gateway.stop());
  const ask = async (): Promise<number> =>
    (await fetch(`http://127.0.0.1:${gateway.port}/mcp`, { method: 'POST', body: '{}' })).status;
  assert.equal(await ask(), 200);
  gateway.write([gatewayResource(gateway.port)]);
  await waitFor('the route is gone', async () => (await ask()) === 404);
});
