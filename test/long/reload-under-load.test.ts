// A change on disk never costs a request or a stream: 400 changes in 20 seconds, under load.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startCountingUpstream } from '../integration/counting-upstream.ts';
import { openEventStream, startRequestLoad } from '../integration/load-clients.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

/** The n-th configuration: routes, filters, backends and time-outs come and go around the ones that are used. */
function describe(port: number, upstreams: readonly number[], n: number): object[] {
  const main = ruleTo('/mcp', n % 2 === 0 ? 'even' : 'odd', {
    filters: [
      { type: 'ResponseHeaderModifier', responseHeaderModifier: { set: [{ name: 'x-generation', value: String(n) }] } },
    ],
  });
  return [
    gatewayResource(port),
    routeResource('main', n % 3 === 0 ? [main, ruleTo('/other', 'steady')] : [main]),
    routeResource('streams', [ruleTo('/streams', 'steady')]),
    backendResource('even', upstreams[n % 4 < 2 ? 0 : 1]!, '/mcp', { timeouts: { connect: `${5 + (n % 5)}s` } }),
    backendResource('odd', upstreams[n % 4 < 2 ? 1 : 0]!),
    // What disappears is given a moment, in case an editor is writing the file anew: not in every change.
    ...(n % 50 < 25 ? [backendResource('now-and-then', upstreams[0]!)] : []),
    backendResource('steady', upstreams[0]!),
  ];
}

test('a reload every 50 ms for 20 s: no failed request, no dropped stream', async (t) => {
  const upstreams = [await startCountingUpstream({ delayMs: 5 }), await startCountingUpstream({ delayMs: 5 })];
  t.after(() => Promise.all(upstreams.map((upstream) => upstream.close())));
  const ports = upstreams.map((upstream) => upstream.port);
  const gateway = await runGateway({
    resources: (port) => describe(port, ports, 0),
    flags: ['--log-level', 'warn', '--reload-settle', '5ms'],
  });
  t.after(() => gateway.stop());
  const base = `http://127.0.0.1:${gateway.port}`;

  const streams = await Promise.all(Array.from({ length: 50 }, () => openEventStream(`${base}/streams`)));
  const load = startRequestLoad(`${base}/mcp`, 8);
  const versionBefore = await gateway.readMetric('mcp_gateway_config_version');
  const countReloads = async (): Promise<number> =>
    (await gateway.readMetric('mcp_gateway_config_version')) - versionBefore;
  let n = 0;
  const change = async (): Promise<void> => {
    n += 1;
    gateway.write(describe(gateway.port, ports, n));
    for (const upstream of upstreams) upstream.tick();
    await delay(50);
  };
  for (let round = 0; round < 400; round += 1) await change();
  // A busy machine reads several changes at once: then it takes more of them.
  await waitFor('twenty configurations have been in force', async () => {
    if ((await countReloads()) >= 20) return true;
    await change();
    return false;
  });
  await waitFor(async () => {
    const response = await fetch(`${base}/mcp`, { method: 'POST', body: 'x' });
    await response.text();
    return response.headers.get('x-generation') === String(n);
  });
  await load.stop();
  const reloads = await countReloads();
  await waitFor(() => streams.every((stream) => stream.last === n || stream.failure !== undefined));

  assert.deepEqual(load.failures, []);
  assert.ok(load.completed >= 20, `only ${load.completed} requests completed`);
  assert.deepEqual([...new Set(streams.map((stream) => stream.failure))], [undefined]);
  for (const stream of streams) stream.close();
  t.diagnostic(`${load.completed} requests, ${reloads} configurations in force, ${streams.length} streams`);
});
