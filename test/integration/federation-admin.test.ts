// What an operator sees of the servers of a federation: at the admin port, and in the metrics.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';
import { initialize, post, request } from './federation-fixture.ts';
import { readSeries } from './gateway-fixture.ts';

const backend = 'ProxyBackend/default/all';

interface ShownTarget {
  readonly name: string;
  readonly prefix: string | null;
  readonly failureMode: string;
  readonly health: string;
  readonly version: string | null;
  readonly serverInfo: { readonly name: string; readonly version: string } | null;
  readonly tools: number | null;
  readonly lastError: { readonly time: string; readonly message: string } | null;
  readonly problem: string | null;
  readonly endpoints: readonly string[];
}

describe('the servers of a federation', () => {
  let tickets: FederationServer;
  let wiki: FederationServer;
  let gateway: GatewayRun;

  before(async () => {
    tickets = await startFederationServer({
      name: 'desk',
      era: 'legacy',
      tools: [{ name: 'close' }, { name: 'purge' }],
    });
    wiki = await startFederationServer({ name: 'wiki', era: 'modern', tools: [{ name: 'find' }] });
    gateway = await startFederatedGateway({
      targets: {
        tickets: { url: tickets.url, settings: { prefix: 'tix', tools: { exclude: ['purge'] } } },
        wiki: { url: wiki.url, settings: { failureMode: 'FailClosed' } },
      },
    });
  });
  after(async () => {
    await gateway.stop();
    await Promise.all([tickets.close(), wiki.close()]);
  });

  const read = async (path: string, accept = 'text/html'): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${gateway.adminPort}${path}`, { headers: { accept } });
    assert.equal(answer.status, 200);
    return answer.text();
  };
  const readTargets = async (path: string): Promise<readonly ShownTarget[]> => {
    const { federations } = JSON.parse(await read(path)) as {
      readonly federations: readonly { readonly backend: string; readonly targets: readonly ShownTarget[] }[];
    };
    assert.deepEqual(
      federations.map((each) => each.backend),
      [backend],
    );
    return federations[0]!.targets;
  };
  const series = async (name: string): Promise<Record<string, number>> => {
    const all = await readSeries(gateway, `mcp_gateway_federation_${name}`);
    return Object.fromEntries(
      Array.from(all, ([labels, value]) => [labels.replace(`backend="${backend}",`, ''), value]),
    );
  };

  test('are unknown until somebody asks them', async () => {
    const shown = await readTargets('/routes?format=json');
    assert.deepEqual(shown[0], {
      name: 'tickets',
      prefix: 'tix',
      failureMode: 'FailOpen',
      health: 'unknown',
      version: null,
      serverInfo: null,
      tools: null,
      lastError: null,
      problem: null,
      endpoints: [`127.0.0.1:${tickets.port}`],
    });
    assert.match(await read('/'), /nobody has asked it yet/);
    assert.deepEqual(await series('target_up'), {});
  });

  test('are up, with what they say of themselves, their version and their tools', async () => {
    const session = await initialize(gateway);
    await post(gateway, request('tools/list', {}), { session });
    for (const path of ['/routes?format=json', '/config?format=json']) {
      const shown = await readTargets(path);
      assert.deepEqual(
        shown.map((each) => [
          each.name,
          each.health,
          each.version,
          each.serverInfo?.name,
          each.tools,
          each.failureMode,
        ]),
        [
          ['tickets', 'up', '2025-11-25', 'desk', 1, 'FailOpen'],
          ['wiki', 'up', '2026-07-28', 'wiki', 1, 'FailClosed'],
        ],
      );
    }
    for (const path of ['/', '/routes'])
      assert.match(await read(path), /tix_…[^]*desk 1\.0[^]*MCP 2025-11-25[^]*badge good">up/, path);
    assert.match(await read('/config'), /tickets \(tix_\): up, desk 1\.0\.0, MCP 2025-11-25, 1 tool/);
    assert.match(
      await read('/routes?format=text'),
      /federation ProxyBackend\/default\/all, 2 servers\n {2}tickets \(tix_\): up/,
    );
    assert.deepEqual(await series('target_up'), { '{target="tickets"}': 1, '{target="wiki"}': 1 });
    assert.deepEqual(await series('target_tools'), { '{target="tickets"}': 1, '{target="wiki"}': 1 });
  });

  test('a call is counted and timed at the one server', async () => {
    const session = await initialize(gateway);
    const earlier = await series('requests_total');
    await post(gateway, request('tools/call', { name: 'tix_close', arguments: {} }), { session });
    const later = await series('requests_total');
    const key = '{target="tickets",result="answered"}';
    assert.deepEqual({ ...later, [key]: later[key]! - 1 }, earlier);
    const counts = await series('request_seconds_count');
    assert.equal(counts['{target="tickets"}'], later[key]);
  });

  test('one that is down is said to be down everywhere, with its last error, and comes back', async () => {
    await wiki.kill();
    const session = await initialize(gateway);
    await waitFor('it is down', async () => (await readTargets('/routes?format=json'))[1]!.health === 'down');
    await post(gateway, request('tools/call', { name: 'wiki_find', arguments: {} }), { session });
    const [fine, down] = await readTargets('/routes?format=json');
    assert.equal(fine!.health, 'up');
    assert.match(down!.lastError!.message, /ECONNREFUSED/);
    assert.ok(Date.parse(down!.lastError!.time) <= Date.now());
    const page = await read('/');
    assert.match(page, /1 server down/);
    assert.match(page, /badge bad">down<\/span>[^]*ago: [^<]*ECONNREFUSED/);
    assert.match(await read('/config'), /class="bad">wiki \(wiki_\): down/);
    assert.deepEqual(await series('target_up'), { '{target="tickets"}': 1, '{target="wiki"}': 0 });
    assert.ok((await series('requests_total'))['{target="wiki",result="down"}']! > 0);
    await wiki.restart();
    await waitFor('it is up', async () => (await series('target_up'))['{target="wiki"}'] === 1);
  });
});
