// --store of a gateway: what it opens, what it says about it, and what it refuses.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { type GatewayRunOptions, runGateway } from '../kit/run-gateway.ts';

const resources: GatewayRunOptions['resources'] = (port) => [
  gatewayResource(port),
  routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
  backendResource('mcp', 9),
];
let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-gateway-store-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const run = (...flags: string[]) => runGateway({ resources, flags: ['--log-format', 'json', ...flags] });

describe('a gateway', () => {
  test('with SQLite makes the file, and says which store it is', async (t) => {
    const path = join(folder, 'sqlite', 'store.db');
    const gateway = await run('--store', `sqlite:${path}`);
    t.after(() => gateway.stop());
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(await gateway.readMetric('mcp_gateway_store_up'), 1);
    const said = gateway.readLog().filter(({ store }) => store !== undefined);
    assert.deepEqual(
      said.map(({ msg, store, reach }) => ({ msg, store, reach })),
      [{ msg: `the store is sqlite:${path}`, store: `sqlite:${path}`, reach: 'machine' }],
    );
  });

  test('with a server that is not there starts, is ready, and says so once', async (t) => {
    const [port] = await findFreePorts(1);
    const gateway = await run('--store', `redis://127.0.0.1:${port}/0`);
    t.after(() => gateway.stop());
    assert.equal(await gateway.readMetric('mcp_gateway_store_up'), 0);
    const said = gateway.readLog().filter(({ store }) => store !== undefined);
    assert.deepEqual(
      said.map(({ msg }) => msg),
      [
        `the store does not answer (redis://127.0.0.1:${port}/0: nothing listens there); until it answers, logins and refreshes that need it are answered with 503`,
      ],
    );
    assert.equal((await fetch(`http://127.0.0.1:${gateway.readinessPort}/ready`)).status, 200);
  });

  test('without the flag has no metric of a store, and says nothing', async (t) => {
    const gateway = await run();
    t.after(() => gateway.stop());
    await assert.rejects(gateway.readMetric('mcp_gateway_store_up'), /there is no metric/);
    assert.deepEqual(
      gateway.readLog().filter(({ store }) => store !== undefined),
      [],
    );
  });

  test('does not start with a store that it cannot use', async () => {
    chmodSync(folder, 0o755);
    try {
      await assert.rejects(run('--store', `sqlite:${join(folder, 'store.db')}`), (error: Error) => {
        assert.match(error.message, /--store: the folder \S+ has mode 0755, and others can use it\. Run: chmod 700 /);
        return true;
      });
    } finally {
      chmodSync(folder, 0o700);
    }
    await assert.rejects(run('--store', 'redis://:hunter2@127.0.0.1/0'), (error: Error) => {
      assert.match(error.message, /--store must not have a password in it/);
      assert.ok(!error.message.includes('hunter2'));
      return true;
    });
  });
});
