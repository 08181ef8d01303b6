// A gateway with a store in a real redis-server: alone and with workers, while the server goes and comes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startRecordingUpstream } from '../kit/recording-upstream.ts';
import { startRedisServer } from '../kit/redis-server.ts';
import { runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

describe('a gateway whose store goes and comes', () => {
  for (const workers of ['1', '2'])
    test(`serves on, stays ready, and says so once (--workers ${workers})`, async (t) => {
      const server = await startRedisServer();
      t.after(() => server.stop());
      const upstream = await startRecordingUpstream('mcp');
      t.after(() => upstream.close());
      const gateway = await runGatewayProcess({
        resources: (port) => [
          gatewayResource(port),
          routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
          backendResource('mcp', upstream.port),
        ],
        flags: ['--log-format', 'json', '--store', server.url, '--workers', workers],
      });
      t.after(() => gateway.stop());
      const isUp = async (): Promise<boolean> => (await gateway.readMetric('mcp_gateway_store_up')) === 1;
      const check = async (): Promise<number[]> =>
        Promise.all(
          [gateway.urlOf('/mcp'), `http://127.0.0.1:${gateway.readinessPort}/ready`].map(
            async (url) => (await fetch(url)).status,
          ),
        );
      assert.equal(await isUp(), true);
      // Each process that serves has a connection of its own.
      const clients = (await server.run('CLIENT', 'LIST')).match(/\bid=/g)?.length ?? 0;
      assert.ok(clients >= (workers === '1' ? 2 : 4), `${clients} connections`);
      await server.kill();
      await waitFor('the store is down', async () => !(await isUp()));
      assert.deepEqual(await check(), [200, 200]);
      await server.restart();
      await waitFor('the store is up', isUp);
      assert.deepEqual(await check(), [200, 200]);
      const said = gateway.readLog().flatMap(({ store, msg }) => (store === undefined ? [] : [String(msg)]));
      assert.equal(said.length, 3, said.join('\n'));
      assert.match(said[0]!, /^the store is redis:/);
      assert.match(said[1]!, /^the store does not answer/);
      assert.equal(said[2], 'the store answers again');
      assert.equal(await gateway.stop(), 0);
    });
});
