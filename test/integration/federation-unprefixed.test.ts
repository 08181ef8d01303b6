// Several MCP servers behind one endpoint whose names have no prefixes, with real clients and servers of both eras.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';
import { sdkV1, sdkV2, sdkV2Stateless } from '../mcp/sdk-clients.ts';
import { initialize, post, type RawMessage, request } from './federation-fixture.ts';

const tool = (name: string) => ({ name, description: name });

describe('servers whose names have no prefixes', () => {
  let tickets: FederationServer;
  let wiki: FederationServer;
  let gateway: GatewayRun;

  before(async () => {
    tickets = await startFederationServer({
      name: 'tickets',
      era: 'legacy',
      pageSize: 1,
      tools: ['close', 'search', 'purge'].map(tool),
      prompts: [{ name: 'greet' }],
      resources: [{ uri: 'tickets:///1', name: 'one' }],
      templates: [{ uriTemplate: 'tickets:///{id}', name: 'each' }],
    });
    wiki = await startFederationServer({
      name: 'wiki',
      era: 'modern',
      tools: ['read', 'search', 'purge'].map(tool),
      prompts: [{ name: 'ask' }],
      resources: [{ uri: 'wiki:///a', name: 'a' }],
      templates: [{ uriTemplate: 'wiki:///{+page}', name: 'pages' }],
    });
    gateway = await startFederatedGateway({
      targets: {
        tickets: { url: tickets.url },
        // Who excludes a name leaves it to the other one.
        wiki: { url: wiki.url, settings: { tools: { exclude: ['purge'] } } },
      },
      mcp: { names: { prefix: 'Never' } },
    });
  });
  after(async () => {
    await gateway.stop();
    await Promise.all([tickets.close(), wiki.close()]);
  });

  async function ask(session: string, method: string, params: object): Promise<RawMessage> {
    return (await post(gateway, request(method, params), { session })).messages.at(-1)!;
  }

  test('a call before any list reaches its server', async () => {
    const session = await initialize(gateway);
    const { result } = await ask(session, 'tools/call', { name: 'read', arguments: {} });
    assert.deepEqual(result?.['content'], [{ type: 'text', text: 'wiki read {}' }]);
  });

  for (const library of [sdkV1, sdkV2, sdkV2Stateless])
    test(`${library.name}: every listed tool reaches its own server, and what two have is nobody’s`, async () => {
      const client = await library.connect({ url: gateway.urlOf('/mcp') });
      assert.deepEqual(await client.listTools(), ['close', 'purge', 'read']);
      assert.match(await client.callTool('close', { a: 1 }), /^tickets close \{"a":1\}$/);
      assert.match(await client.callTool('purge', {}), /^tickets purge/);
      assert.match(await client.callTool('read', { a: 2 }), /^wiki read \{"a":2\}$/);
      await assert.rejects(client.callTool('search', {}), /Unknown tool: search/);
      await assert.rejects(client.callTool('wiki_read', {}), /Unknown tool: wiki_read/);
      await client.close();
    });

  test('prompts, resources and templates', async () => {
    const session = await initialize(gateway);
    const { result: templates } = await ask(session, 'resources/templates/list', {});
    const uris = (templates!['resourceTemplates'] as { uriTemplate: string }[]).map(({ uriTemplate }) => uriTemplate);
    assert.deepEqual(uris, ['tickets:///{id}', 'wiki:///{+page}']);
    for (const uri of ['tickets:///1', 'wiki:///a']) {
      const { result } = await ask(session, 'resources/read', { uri });
      assert.equal((result!['contents'] as { uri: string }[])[0]!.uri, uri);
    }
    tickets.forgetRequests();
    wiki.forgetRequests();
    await ask(session, 'resources/read', { uri: 'tickets:///2' });
    await ask(session, 'resources/read', { uri: 'wiki:///b/c' });
    assert.equal(tickets.listRequests('resources/read').length, 1);
    assert.equal(wiki.listRequests('resources/read').length, 1);
    const { error } = await ask(session, 'resources/read', { uri: 'tickets:///2/3' });
    assert.equal(error?.code, -32_002);
    assert.equal(tickets.listRequests('resources/read').length, 1);
    const { result: prompt } = await ask(session, 'prompts/get', { name: 'ask' });
    assert.ok(prompt !== undefined);
  });

  test('nothing changes hands while a server is down', async () => {
    const session = await initialize(gateway);
    const list = async (): Promise<readonly string[]> => {
      const { result } = await ask(session, 'tools/list', {});
      return (result!['tools'] as { name: string }[]).map(({ name }) => name);
    };
    assert.deepEqual(await list(), ['close', 'purge', 'read']);
    wiki.forgetRequests();
    await tickets.kill();
    try {
      await wiki.setTools(['read', 'search', 'close'].map(tool));
      assert.deepEqual(await list(), ['read']);
      for (const name of ['close', 'search']) {
        const { error } = await ask(session, 'tools/call', { name, arguments: {} });
        assert.equal(error?.message, `Unknown tool: ${name}`);
      }
      assert.match((await ask(session, 'tools/call', { name: 'purge', arguments: {} })).error!.message, /"tickets"/);
      assert.equal(wiki.listRequests('tools/call').length, 0);
    } finally {
      await tickets.restart();
    }
    await wiki.setTools(['read', 'search'].map(tool));
    await waitFor(async () => (await list()).join(' ') === 'close purge read');
    const { result } = await ask(session, 'tools/call', { name: 'close', arguments: {} });
    assert.deepEqual(result?.['content'], [{ type: 'text', text: 'tickets close {}' }]);
  });
});
