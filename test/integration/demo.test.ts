// `npm start`: the page, the sample server behind the gateway, and what it says when a port is taken.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from '../mcp/child-process.ts';
import { findFreePorts } from '../mcp/gateway-under-test.ts';
import { waitFor } from './run-gateway.ts';

const program = fileURLToPath(new URL('../../src/cmd/main.ts', import.meta.url));
const flagNames = ['--port', '--server-port', '--admin-port', '--metrics-port', '--readiness-port'] as const;

async function startDemo(
  taken: Partial<Record<(typeof flagNames)[number], number>> = {},
): Promise<{ child: Child; port: number }> {
  const free = await findFreePorts(flagNames.length);
  const ports = flagNames.map((name, index) => taken[name] ?? free[index]!);
  const flags = flagNames.flatMap((name, index) => [name, String(ports[index])]);
  return { child: startChild({ command: process.execPath, args: [program, 'demo', ...flags] }), port: ports[0]! };
}

test('the demo serves its page and the sample MCP server, through the gateway', async (t) => {
  const { child, port } = await startDemo();
  t.after(() => child.stop());
  await waitFor(() => child.readOutput().includes('The demo is ready'));
  const base = `http://127.0.0.1:${port}`;
  assert.ok(child.readOutput().includes(`Connect an MCP client to ${base}/mcp`));

  const page = await fetch(`${base}/`);
  assert.equal(page.status, 200);
  const html = await page.text();
  assert.match(html, /<h1>mcp-gateway demo<\/h1>/);
  assert.ok(html.includes(`claude mcp add --transport http demo ${base}/mcp`));
  for (const asset of ['demo/demo.css', 'demo/demo.js']) {
    assert.ok(html.includes(asset));
    const response = await fetch(`${base}/${asset}`);
    assert.equal(response.status, 200);
    assert.ok((await response.text()).length > 500);
  }
  const { parts } = (await (await fetch(`${base}/demo/state.json`)).json()) as {
    parts: { name: string; ok: boolean }[];
  };
  assert.deepEqual(
    parts.map(({ name, ok }) => [name, ok]),
    [
      ['Gateway', true],
      ['Sample MCP server', true],
    ],
  );
  const answer = await fetch(`${base}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    }),
  });
  assert.match(await answer.text(), /"serverInfo":\{"name":"sample"/);
  assert.equal(await child.stop(), 0);
});

for (const flag of flagNames) {
  test(`a port that is taken (${flag}) is one clear line`, async (t) => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    t.after(() => other.close());
    const { port } = other.address() as AddressInfo;
    const { child } = await startDemo({ [flag]: port });
    assert.equal(await child.waitForExit(), 1);
    const lines = child
      .readOutput()
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{"level":"info"'));
    assert.equal(lines.length, 1, child.readOutput());
    assert.match(lines[0]!, new RegExp(`port ${port}\\b`, 'i'));
    assert.match(lines[0]!, /use/);
  });
}
