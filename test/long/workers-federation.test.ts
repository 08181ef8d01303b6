// A federation with `--workers 2`: the admin port and the metrics show what the workers know of its servers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { describeFederation } from '../mcp/federated-gateway.ts';
import { startFederationServers } from '../mcp/federation-servers.ts';
import { initialize, post, request } from '../integration/federation-fixture.ts';
import { readSeries } from '../integration/gateway-fixture.ts';

test('servers are as any of the workers finds them', async (t) => {
  const servers = await startFederationServers({ tickets: { era: 'legacy' }, wiki: { era: 'modern' } });
  t.after(() => servers.closeAll());
  const targets = { tickets: { url: servers.tickets.url }, wiki: { url: servers.wiki.url } };
  const gateway = await runGatewayProcess({
    resources: (port) => describeFederation(port, { targets }),
    flags: ['--workers', '2'],
  });
  t.after(() => gateway.stop());
  const readHealth = async (): Promise<readonly string[]> => {
    const answer = await fetch(`http://127.0.0.1:${gateway.adminPort}/routes?format=json`);
    const { federations } = (await answer.json()) as {
      federations: readonly { targets: readonly { health: string }[] }[];
    };
    return federations[0]!.targets.map(({ health }) => health);
  };
  assert.deepEqual(await readHealth(), ['unknown', 'unknown']);

  // Each request may come to either worker: the session is in its id.
  const session = await initialize(gateway);
  for (let count = 0; count < 8; count += 1) {
    const { messages } = await post(gateway, request('tools/list', {}), { session });
    const names = (messages.at(-1)!.result!['tools'] as readonly { name: string }[]).map(({ name }) => name);
    assert.deepEqual(names, ['tickets_where', 'wiki_where']);
  }
  assert.deepEqual(await readHealth(), ['up', 'up']);
  const up = await readSeries(gateway, 'mcp_gateway_federation_target_up');
  assert.deepEqual([...up.values()], [1, 1]);
  const tools = await readSeries(gateway, 'mcp_gateway_federation_target_tools');
  assert.deepEqual([...tools.values()], [1, 1]);

  await servers.wiki.kill();
  await waitFor('it is down', async () => {
    await post(gateway, request('tools/list', {}), { session });
    return (await readHealth())[1] === 'down';
  });
  assert.deepEqual(await readHealth(), ['up', 'down']);
  const later = await readSeries(gateway, 'mcp_gateway_federation_target_up');
  assert.deepEqual([...later.values()], [1, 0]);
});
