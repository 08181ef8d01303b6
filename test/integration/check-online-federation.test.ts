// `mcp-gatehouse check --online` and the servers of a federation.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import { checkCommand } from '../../src/cmd/check.ts';
import type { CheckReport } from '../../src/cmd/check-report.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { type FederationServerOptions, startFederationServer } from '../mcp/federation-servers.ts';

const gateway = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'edge' },
  spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }] },
};
const route = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'all' },
  spec: {
    parentRefs: [{ name: 'edge' }],
    rules: [
      {
        matches: [{ path: { value: '/mcp' } }],
        backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'all' }],
      },
    ],
  },
};

async function check(t: TestContext, targets: readonly object[], mcp: object = {}, flags: readonly string[] = []) {
  const folder = await mkdtemp(join(tmpdir(), 'check-federation-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const backend = {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyBackend',
    metadata: { name: 'all' },
    spec: { mcp: { ...mcp, targets } },
  };
  await writeFile(join(folder, 'gateway.yaml'), [gateway, route, backend].map((each) => stringify(each)).join('---\n'));
  let out = '';
  let err = '';
  const code = await executeCommand(checkCommand, ['-f', folder, '--online', ...flags], {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    color: false,
    env: {},
  });
  return { code, out, err };
}

async function start(t: TestContext, options: FederationServerOptions) {
  const server = await startFederationServer(options);
  t.after(() => server.close());
  const at = { static: { host: '127.0.0.1', port: server.port, path: new URL(server.url).pathname } };
  return { server, at };
}

const tools = (...names: readonly string[]) => names.map((name) => ({ name }));

/** The part about one server. */
function readBlock(out: string, target: string): string {
  return new RegExp(`^MCP server ${target} of .*\n(?: .*\n)*`, 'm').exec(out)?.[0] ?? out;
}

describe('check --online asks the servers of a federation', () => {
  test('of either era: version, lists, and what is not served', async (t) => {
    const desk = await start(t, { name: 'desk', era: 'legacy', tools: tools('close', 'purge') });
    const wiki = await start(t, { name: 'wiki', era: 'modern', tools: tools('find') });
    const older = await start(t, { name: 'older', era: 'sse', tools: tools('look') });
    const targets = [
      { name: 'tickets', ...desk.at, tools: { exclude: ['purge'] } },
      { name: 'wiki', ...wiki.at },
      { name: 'older', static: { ...older.at.static, protocol: 'SSE' } },
    ];
    const { code, out, err } = await check(t, targets);
    assert.deepEqual([code, err], [0, '']);
    const tickets = readBlock(out, 'tickets');
    assert.ok(tickets.startsWith(`MCP server tickets of ProxyBackend default/all  ${desk.server.url}\n`), tickets);
    assert.match(
      tickets,
      /✓ server .*desk .*MCP 2025-11-25\n.*✓ tools .*2 tools\n.*! .*1 of them served: include and exclude/,
    );
    assert.match(readBlock(out, 'wiki'), /MCP 2026-07-28\n.*1 tool\n/);
    assert.match(readBlock(out, 'older'), /MCP 2024-11-05\n.*1 tool\n/);
    const { servers } = JSON.parse((await check(t, targets, {}, ['--json'])).out) as CheckReport;
    assert.deepEqual(
      servers!.map((each) => [each.backend, each.target, each.ok, each.tools]),
      [
        ['ProxyBackend default/all', 'tickets', true, 2],
        ['ProxyBackend default/all', 'wiki', true, 1],
        ['ProxyBackend default/all', 'older', true, 1],
      ],
    );
    assert.ok(!desk.server.requests.some(({ rpcMethod }) => rpcMethod === 'tools/call'));
    assert.equal(desk.server.sessionCount, 0);
  });

  test('one that is not there is a problem, and the others are asked', async (t) => {
    const [closed] = await findFreePorts(1);
    const wiki = await start(t, { name: 'wiki', era: 'both', tools: tools('find') });
    const targets = [
      { name: 'tickets', static: { host: '127.0.0.1', port: closed! } },
      { name: 'wiki', ...wiki.at },
    ];
    const { code, out, err } = await check(t, targets);
    assert.deepEqual([code, err], [1, '1 problem\n']);
    assert.match(readBlock(out, 'tickets'), /✗ connection .*ECONNREFUSED.*\n.*→ Nothing listens/);
    assert.match(readBlock(out, 'wiki'), /1 tool\n/);
    const { problems } = JSON.parse((await check(t, targets, {}, ['--json'])).out) as CheckReport;
    assert.deepEqual(
      problems.map(({ code: kind, name, path }) => [kind, name, path]),
      [['mcp_server', 'all', '']],
    );
    assert.match(problems[0]!.message, /^ProxyBackend default\/all, target tickets, at http:/);
  });

  test('names that are too long for some clients', async (t) => {
    const long = 'x'.repeat(55);
    const desk = await start(t, { name: 'desk', era: 'legacy', tools: tools(long, 'x'.repeat(54), 'short') });
    const wiki = await start(t, { name: 'wiki', era: 'legacy', tools: [] });
    const { code, out } = await check(t, [
      { name: 'desk1', ...desk.at },
      { name: 'wiki', ...wiki.at },
    ]);
    assert.equal(code, 0);
    assert.match(
      readBlock(out, 'desk1'),
      new RegExp(`! .*1 name is longer than 60 characters.*: desk1_${long}\n.*shorter prefix`),
    );
  });

  test('names that two servers claim without prefixes are served by neither', async (t) => {
    const desk = await start(t, { name: 'desk', era: 'legacy', tools: tools('search', 'close', 'purge') });
    const wiki = await start(t, { name: 'wiki', era: 'modern', tools: tools('search', 'purge', 'find') });
    const targets = [
      { name: 'desk', ...desk.at },
      { name: 'wiki', ...wiki.at, tools: { exclude: ['purge'] } },
    ];
    const { code, out, err } = await check(t, targets, { names: { prefix: 'Never' } });
    assert.deepEqual([code, err], [1, '2 problems\n']);
    assert.match(
      readBlock(out, 'desk'),
      /✗ names .*1 name is also listed by wiki, and served by none of them: search\n.*→ Leave/,
    );
    assert.match(readBlock(out, 'wiki'), /✗ names .*1 name is also listed by desk, .*: search\n/);
    assert.equal((await check(t, targets)).code, 0);
  });
});
