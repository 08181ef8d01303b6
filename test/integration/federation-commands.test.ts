// What `check` and `explain` say of a federation: its targets, what clients see of their names, and which of them a tool belongs to.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkCommand } from '../../src/cmd/check.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import type { ExplainReport } from '../../src/cmd/explain/explain-report.ts';
import { printResources, runExplain, writeFolder } from './explain-fixture.ts';

const federation = {
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'ProxyBackend',
  metadata: { name: 'desk' },
  spec: {
    mcp: {
      targets: [
        {
          name: 'tickets',
          prefix: 'tix',
          static: { host: '127.0.0.1', port: 3001 },
          tools: { exclude: ['*_purge'] },
        },
        {
          name: 'crm',
          static: { host: '127.0.0.1', port: 3002, path: '/sse', protocol: 'SSE' },
          failureMode: 'FailClosed',
        },
        { name: 'gone', backendRef: { name: 'nothing', port: 80 } },
      ],
    },
  },
};
const gateway = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'edge' },
  spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }] },
};
const route = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'desk' },
  spec: {
    parentRefs: [{ name: 'edge' }],
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: '/desk' } }],
        backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'desk' }],
      },
    ],
  },
};
const rules = {
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: 'desk' },
  spec: {
    targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'desk' }],
    backend: {
      mcp: {
        authorization: {
          action: 'Deny',
          policy: { matchExpressions: ['mcp.target.tool == "secret" && mcp.target.name == "crm"'] },
        },
      },
    },
  },
};
const files = { 'gateway.yaml': printResources([gateway, federation, route, rules]) };

test('check shows every target with what clients see of its names', async (t) => {
  const folder = await writeFolder(t, files);
  let out = '';
  const io = { stdout: (text: string) => void (out += text), stderr: () => undefined, color: false, env: {} };
  await executeCommand(checkCommand, ['-f', folder], io);
  const lines = out.split('\n').map((line) => line.trim().replaceAll(/ {2,}/g, ' | '));
  const start = lines.findIndex((line) => line.startsWith('ProxyBackend default/desk | MCP, federation'));
  assert.deepEqual(lines.slice(start, start + 4), [
    'ProxyBackend default/desk | MCP, federation | 3 targets, one server to clients',
    'tickets: tix_NAME, tix+URI | Streamable HTTP, FailOpen | http://127.0.0.1:3001/mcp',
    'crm: crm_NAME, crm+URI | SSE, FailClosed | http://127.0.0.1:3002/sse',
    'gone: gone_NAME, gone+URI | Streamable HTTP, FailOpen | counts as down: Service default/nothing does not exist',
  ]);
});

test('explain --tool says whose tool it is and what that server calls it', async (t) => {
  const folder = await writeFolder(t, files);
  const explain = async (tool: string): Promise<ExplainReport> => {
    const request = ['--request', 'POST http://127.0.0.1:8080/desk', '--tool', tool, '--json'];
    const { out } = await runExplain(['-f', join(folder, 'gateway.yaml'), ...request]);
    return JSON.parse(out) as ExplainReport;
  };
  const item = async (tool: string) => (await explain(tool)).forward?.federation?.item;
  assert.deepEqual(await item('tix_ticket_close'), { target: 'tickets', own: 'ticket_close', isServed: true });
  assert.deepEqual(await item('tix_a_purge'), { target: 'tickets', own: 'a_purge', isServed: false });
  // A Deny rule that reads what is not there denies.
  assert.equal((await explain('other_a')).verdict.outcome, 'denied');
  assert.deepEqual((await explain('tix_a')).forward?.endpoints, ['http://127.0.0.1:3001']);
  // Rules see the server's own name.
  assert.equal((await explain('crm_secret')).verdict.outcome, 'denied');
  assert.equal((await explain('tix_secret')).verdict.outcome, 'forwarded');
});

test('explain prints the same in one line, also of prompts and resources', async (t) => {
  const folder = await writeFolder(t, files);
  const explain = async (...flags: readonly string[]): Promise<readonly string[]> => {
    const request = ['--request', 'POST http://127.0.0.1:8080/desk', ...flags];
    const { out } = await runExplain(['-f', join(folder, 'gateway.yaml'), ...request]);
    return out.split('\n').map((line) => line.trim());
  };
  for (const [flag, name, line] of [
    ['--tool', 'tix_ticket_close', 'target tickets, which calls it ticket_close'],
    ['--tool', 'tix_a_purge', 'target tickets, which calls it a_purge and does not serve it (include, exclude)'],
    ['--prompt', 'tix_greet', 'target tickets, which calls it greet'],
    ['--prompt', 'crm_a_b', 'target crm, which calls it a_b'],
    ['--resource', 'tix+file:///a', 'target tickets, which calls it file:///a'],
    ['--resource', 'ui://crm/board', 'target crm, which calls it ui://board'],
  ] as const) {
    // eslint-disable-next-line no-await-in-loop
    const lines = await explain(flag, name);
    assert.ok(lines.includes(line), `${flag} ${name}: ${lines.join('\n')}`);
  }
  assert.ok((await explain()).includes('federation of tickets, crm, gone'));
});

test('explain says it of what no target has', async (t) => {
  const folder = await writeFolder(t, { 'gateway.yaml': printResources([gateway, federation, route]) });
  const explain = async (...flags: readonly string[]): Promise<string> => {
    const request = ['--request', 'POST http://127.0.0.1:8080/desk', ...flags];
    return (await runExplain(['-f', join(folder, 'gateway.yaml'), ...request])).out;
  };
  const none =
    /^ *no target: names begin with one of tix_, crm_, gone_; explain what a page of an MCP App calls by the prefixed name$/m;
  assert.match(await explain('--tool', 'other_a'), none);
  assert.match(await explain('--prompt', 'greet'), none);
  assert.match(await explain('--resource', 'file:///a'), none);
});

test('without prefixes nobody claims to know whose a tool is', async (t) => {
  const { mcp } = federation.spec;
  const unprefixed = {
    ...federation,
    spec: { mcp: { targets: mcp.targets.slice(0, 1), mode: 'Federated', names: { prefix: 'Never' } } },
  };
  const folder = await writeFolder(t, {
    'gateway.yaml': printResources([gateway, unprefixed, route]),
    'rules.yaml': printResources([rules]),
  });
  let out = '';
  const io = { stdout: (text: string) => void (out += text), stderr: () => undefined, color: false, env: {} };
  await executeCommand(checkCommand, ['-f', folder], io);
  assert.match(out, /tickets: without a prefix/);
  const explain = async (tool: string, ...paths: readonly string[]): Promise<ExplainReport> => {
    const request = ['--request', 'POST http://127.0.0.1:8080/desk', '--tool', tool, '--json'];
    const { out: json } = await runExplain([...paths.flatMap((path) => ['-f', join(folder, path)]), ...request]);
    return JSON.parse(json) as ExplainReport;
  };
  const { forward } = await explain('close', 'gateway.yaml');
  assert.deepEqual(forward?.federation, {
    targets: [{ name: 'tickets', prefix: null }],
    item: { target: null, own: 'close', isServed: true },
  });
  const printed = async (tool: string): Promise<string> => {
    const request = ['--request', 'POST http://127.0.0.1:8080/desk', '--tool', tool];
    return (await runExplain(['-f', join(folder, 'gateway.yaml'), ...request])).out;
  };
  assert.match(await printed('close'), /whichever target lists it, if only one does: names have no prefixes/);
  assert.match(await printed('a_purge'), /no target: none of them serves it \(include, exclude\)/);
  const purge = await explain('a_purge', 'gateway.yaml');
  assert.equal(purge.forward?.federation?.item?.isServed, false);
  // A rule about targets cannot be evaluated, so a Deny denies.
  assert.equal((await explain('close', 'gateway.yaml', 'rules.yaml')).verdict.outcome, 'denied');
});
