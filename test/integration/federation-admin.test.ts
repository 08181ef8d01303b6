// What an operator sees of the servers of a federation: at the admin port, and in the metrics.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { executeCommand } from '../../src/cmd/command.ts';
import { statusCommand } from '../../src/cmd/status.ts';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';
import { initialize, post, request } from './federation-fixture.ts';
import { readSeries } from './gateway-fixture.ts';

const backend = 'ProxyBackend/default/all';

/** `mcp-gatehouse status`. */
async function runStatus(args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const code = await executeCommand(statusCommand, [...args], {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    color: false,
    env: {},
  });
  return { code, out, err };
}

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
      flags: ['--log-format', 'json'],
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

  test('status says when it cannot ask, and takes nothing that is about a cluster', async () => {
    const admin = `http://127.0.0.1:${gateway.adminPort}`;
    const none = await runStatus(['--admin', `http://127.0.0.1:${tickets.port}`]);
    assert.equal(none.code, 2);
    assert.match(none.err, /is not the admin port of a gateway/);
    for (const more of [['-A'], ['-n', 'team'], ['--watch'], ['tickets'], ['--controller-namespace', 'other']]) {
      const refused = await runStatus(['--admin', admin, ...more]);
      assert.equal(refused.code, 2, more.join(' '));
      assert.match(refused.err, /--admin asks one gateway/);
    }
  });

  test('are unknown until somebody asks them', async () => {
    const told = await runStatus(['--admin', `http://127.0.0.1:${gateway.adminPort}`]);
    assert.deepEqual([told.code, told.out.split('\n').at(-2)], [0, '0 of 2 servers are down.']);
    assert.match(told.out, /tickets \(tix_\): nobody has asked it yet/);
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
    const told = await runStatus(['--admin', `http://127.0.0.1:${gateway.adminPort}`]);
    assert.deepEqual([told.code, told.err], [1, '']);
    assert.match(told.out, /^federation ProxyBackend\/default\/all, 2 servers\n {2}tickets \(tix_\): up, desk 1\.0\.0/);
    assert.match(told.out, /\n {2}wiki \(wiki_\): down, [^\n]*ECONNREFUSED[^]*\n1 of 2 servers is down\.\n$/);
    const { out, code } = await runStatus(['--admin', `http://127.0.0.1:${gateway.adminPort}`, '-o', 'json']);
    const { well, federations } = JSON.parse(out) as { well: boolean; federations: { targets: ShownTarget[] }[] };
    assert.deepEqual([code, well, federations[0]!.targets.map(({ health }) => health)], [1, false, ['up', 'down']]);
    assert.ok((await series('requests_total'))['{target="wiki",result="down"}']! > 0);
    await wiki.restart();
    await waitFor('it is up', async () => (await series('target_up'))['{target="wiki"}'] === 1);
    const listChanges = () =>
      gateway.readLog().filter(({ msg }) => String(msg).startsWith('a server of a federation is'));
    await waitFor('the line', () => listChanges().length >= 2);
    const lines = listChanges().map(({ level, msg, backend: of, target }) => [level, msg, of, target]);
    assert.deepEqual(lines, [
      ['warn', 'a server of a federation is down', backend, 'wiki'],
      ['info', 'a server of a federation is back', backend, 'wiki'],
    ]);
    assert.match(String(listChanges()[0]!['detail']), /ECONNREFUSED/);
  });
});

test('names that several servers claim are shown', async () => {
  const servers = await Promise.all(
    ['one', 'two'].map((name) => startFederationServer({ name, era: 'legacy', tools: [{ name: 'same' }, { name }] })),
  );
  const gateway = await startFederatedGateway({
    targets: { one: { url: servers[0]!.url }, two: { url: servers[1]!.url } },
    mcp: { names: { prefix: 'Never' } },
  });
  try {
    const session = await initialize(gateway);
    await post(gateway, request('tools/call', { name: 'same', arguments: {} }), { session });
    const read = async (path: string, accept: string): Promise<string> => {
      const answer = await fetch(`http://127.0.0.1:${gateway.adminPort}${path}`, { headers: { accept } });
      return answer.text();
    };
    const { federations } = JSON.parse(await read('/config?format=json', 'application/json')) as {
      readonly federations: readonly { readonly contested: unknown }[];
    };
    assert.deepEqual(federations[0]!.contested, [{ kind: 'tool', name: 'same', targets: ['one', 'two'] }]);
    assert.match(
      await read('/routes', 'text/html'),
      /none of them serves them:<\/p>\s*<ul><li>tool <code>same<\/code>: one, two/,
    );
    const told = await runStatus(['--admin', `http://127.0.0.1:${gateway.adminPort}`]);
    assert.match(told.out, /\n {2}tool same: claimed by one, two, served by none\n/);
    // Servers are well; it is for people to decide whose the name shall be.
    assert.equal(told.code, 0);
    assert.equal(await gateway.readMetric(`mcp_gateway_federation_contested_names{backend="${backend}"}`), 1);
  } finally {
    await gateway.stop();
    await Promise.all(servers.map((server) => server.close()));
  }
});
