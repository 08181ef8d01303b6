// The servers that tests of a federation use do what they say, asked directly by real clients.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sdkV1, sdkV2, sdkV2Stateless } from '../mcp/sdk-clients.ts';
import { startFederationServer, startFederationServers } from '../mcp/federation-servers.ts';

test('each era is spoken as it says', async (t) => {
  const servers = await startFederationServers({
    old: { era: 'legacy', tools: [{ name: 'a' }, { name: 'b' }], pageSize: 1 },
    plain: { era: 'legacy', answersAsJson: true },
    new: { era: 'modern', tools: [{ name: 'c' }], ttlMs: 5 },
    mixed: { era: 'both', tools: [{ name: 'd' }] },
    older: { era: 'sse', tools: [{ name: 'e' }] },
  });
  t.after(() => servers.closeAll());
  for (const [server, library, tool] of [
    [servers.old, sdkV1, 'b'],
    [servers.plain, sdkV1, 'where'],
    [servers.new, sdkV2Stateless, 'c'],
    [servers.mixed, sdkV2, 'd'],
    [servers.mixed, sdkV2Stateless, 'd'],
    [servers.older, sdkV1, 'e'],
  ] as const) {
    const client = await library.connect({ url: server.url, legacySse: server.era === 'sse' });
    t.after(() => client.close());
    assert.equal(client.serverName, server.name);
    assert.equal(await client.callTool(tool, { x: 1 }), `${server.name} ${tool} {"x":1}`);
  }
  await assert.rejects(sdkV2Stateless.connect({ url: servers.old.url }));
  await assert.rejects(sdkV2.connect({ url: servers.new.url }));
});

test('a killed server refuses connections, and a restarted one has no sessions', async (t) => {
  const server = await startFederationServer({ name: 'one', era: 'legacy' });
  t.after(() => server.close());
  const client = await sdkV1.connect({ url: server.url });
  t.after(() => client.close());
  assert.equal(server.sessionCount, 1);
  await server.kill();
  await assert.rejects(fetch(server.url));
  await server.restart();
  assert.equal(server.sessionCount, 0);
  await assert.rejects(client.callTool('where', {}), /Session not found/);
  assert.equal(server.listRequests('tools/call').length, 1);
});
