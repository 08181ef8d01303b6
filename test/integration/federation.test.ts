// Several MCP servers behind one endpoint, with real clients and servers of both eras.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';
import { sdkV1, sdkV2, sdkV2Stateless } from '../mcp/sdk-clients.ts';

describe('two servers of different eras behind one endpoint', () => {
  let tickets: FederationServer;
  let crm: FederationServer;
  let gateway: GatewayRun;

  before(async () => {
    tickets = await startFederationServer({
      name: 'tickets',
      era: 'legacy',
      tools: [{ name: 'close' }, { name: 'open_all' }],
    });
    crm = await startFederationServer({ name: 'crm', era: 'modern', tools: [{ name: 'close' }] });
    gateway = await startFederatedGateway({ targets: { tickets: { url: tickets.url }, crm: { url: crm.url } } });
  });
  after(async () => {
    await gateway.stop();
    await Promise.all([tickets.close(), crm.close()]);
  });

  for (const library of [sdkV1, sdkV2, sdkV2Stateless]) {
    test(`${library.name}: one list, and every tool reaches its own server`, async () => {
      const client = await library.connect({ url: gateway.urlOf('/mcp') });
      assert.equal(client.serverName, 'all');
      assert.deepEqual(await client.listTools(), ['tickets_close', 'tickets_open_all', 'crm_close']);
      assert.match(await client.callTool('tickets_open_all', { a: 1 }), /tickets.*open_all/);
      assert.match(await client.callTool('crm_close', { a: 1 }), /crm.*close/);
      await assert.rejects(client.callTool('other_close', {}), /Unknown tool: other_close/);
      await client.close();
    });
  }
});
