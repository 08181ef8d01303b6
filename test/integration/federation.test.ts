// Several MCP servers behind one endpoint, with real clients and servers of both eras.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitFor } from '../kit/wait-for.ts';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, type FederationTool, startFederationServer } from '../mcp/federation-servers.ts';
import { sdkV1, sdkV2, sdkV2Stateless } from '../mcp/sdk-clients.ts';
import { initialize, modern, openStream, post, printError, request } from './federation-fixture.ts';

const counts: FederationTool = {
  name: 'count',
  async run(_args, context) {
    await context.progress(1, 2);
    await context.progress(2, 2);
    return { content: [{ type: 'resource_link', uri: 'file:///counted', name: 'counted' }] };
  },
};
const asks: FederationTool = {
  name: 'ask',
  async run(_args, context) {
    const params = { messages: [{ role: 'user', content: { type: 'text', text: context.server } }], maxTokens: 10 };
    const answer = (await context.ask('sampling/createMessage', params)) as { content: { text: string } };
    return { content: [{ type: 'text', text: answer.content.text }] };
  },
};

describe('servers of different eras behind one endpoint', () => {
  let tickets: FederationServer;
  let crm: FederationServer;
  let wiki: FederationServer;
  let gateway: GatewayRun;

  before(async () => {
    const prompts = [{ name: 'greet' }];
    const resources = [{ uri: 'file:///a', name: 'a' }];
    const content = { tools: [{ name: 'close' }, counts, asks], prompts, resources };
    tickets = await startFederationServer({ ...content, name: 'tickets', era: 'legacy', pageSize: 1 });
    crm = await startFederationServer({ ...content, name: 'crm', era: 'legacy' });
    wiki = await startFederationServer({ ...content, name: 'wiki', era: 'modern', tools: [{ name: 'close' }, counts] });
    gateway = await startFederatedGateway({
      targets: { tickets: { url: tickets.url }, crm: { url: crm.url }, wiki: { url: wiki.url } },
    });
  });
  after(async () => {
    await gateway.stop();
    await Promise.all([tickets.close(), crm.close(), wiki.close()]);
  });

  for (const library of [sdkV1, sdkV2, sdkV2Stateless]) {
    test(`${library.name}: one list, and every tool reaches its own server`, async () => {
      const client = await library.connect({ url: gateway.urlOf('/mcp') });
      assert.equal(client.serverName, 'all');
      const own = ['close', 'count', 'ask'];
      const expected = [...own.map((name) => `tickets_${name}`), ...own.map((name) => `crm_${name}`)];
      assert.deepEqual(await client.listTools(), [...expected, 'wiki_close', 'wiki_count']);
      assert.match(await client.callTool('tickets_close', { a: 1 }), /^tickets close \{"a":1\}$/);
      assert.match(await client.callTool('wiki_close', { a: 2 }), /^wiki close \{"a":2\}$/);
      const progress: number[] = [];
      await client.callTool('crm_count', {}, (each) => progress.push(each));
      await client.callTool('wiki_count', {}, (each) => progress.push(each));
      assert.deepEqual(progress, [1, 2, 1, 2]);
      await assert.rejects(client.callTool('other_close', {}), /Unknown tool: other_close/);
      await client.close();
    });
  }

  for (const library of [sdkV1, sdkV2])
    test(`${library.name}: two servers ask at the same time, and each gets its own answer`, async () => {
      const client = await library.connect({ url: gateway.urlOf('/mcp') });
      const answers = await Promise.all([client.callTool('tickets_ask', {}), client.callTool('crm_ask', {})]);
      assert.deepEqual(answers, ['the answer to "tickets"', 'the answer to "crm"']);
      await client.close();
    });

  test('a server that asks what the client cannot do gets the client’s own words for it', async () => {
    const session = await initialize(gateway, { capabilities: {} });
    const call = request('tools/call', { name: 'crm_ask', arguments: {} });
    const stream = await openStream(gateway, { session, body: call });
    const { id, method } = await waitFor('the question', () => stream.messages.find((each) => 'method' in each));
    assert.equal(method, 'sampling/createMessage');
    const error = { code: -32_601, message: 'There is no model here.' };
    const told = await post(gateway, { jsonrpc: '2.0', id, error }, { session });
    assert.equal(told.status, 202);
    await waitFor('the answer', () => stream.isOver);
    // The tool fails with what it was told, as SDK v1 writes it.
    assert.deepEqual(stream.messages.at(-1), {
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32_601, message: 'MCP error -32601: There is no model here.' },
    });
  });

  test('prompts, resources and completions, with the names of clients in both directions', async () => {
    const session = await initialize(gateway);
    const ask = async (method: string, params: object): Promise<unknown> => {
      const { messages } = await post(gateway, request(method, params), { session });
      return messages.at(-1)!.result ?? messages.at(-1)!.error;
    };
    assert.deepEqual(await ask('prompts/list', {}), {
      prompts: [{ name: 'tickets_greet' }, { name: 'crm_greet' }, { name: 'wiki_greet' }],
    });
    const uris = async (): Promise<string[]> => {
      const found: string[] = [];
      for (let cursor: string | undefined; ;) {
        const params = cursor === undefined ? {} : { cursor };
        // eslint-disable-next-line no-await-in-loop
        const page = (await ask('resources/list', params)) as { resources: { uri: string }[]; nextCursor?: string };
        found.push(...page.resources.map(({ uri }) => uri));
        cursor = page.nextCursor;
        if (cursor === undefined) return found;
      }
    };
    assert.deepEqual(await uris(), ['tickets+file:///a', 'crm+file:///a', 'wiki+file:///a']);
    const { contents } = (await ask('resources/read', { uri: 'wiki+file:///a' })) as { contents: unknown };
    assert.deepEqual(contents, [{ uri: 'wiki+file:///a', mimeType: 'text/plain', text: 'wiki file:///a' }]);
    assert.deepEqual(await ask('resources/read', { uri: 'crm+file:///x' }), {
      code: -32_002,
      message: 'Resource not found',
      data: { uri: 'crm+file:///x' },
    });
    const ref = { type: 'ref/prompt', name: 'crm_greet' };
    assert.deepEqual(await ask('completion/complete', { ref, argument: { name: 'a', value: '' } }), {
      completion: { values: ['crm: {"type":"ref/prompt","name":"greet"}'] },
    });
    assert.deepEqual(await ask('logging/setLevel', { level: 'debug' }), {});
    assert.deepEqual(await ask('ping', {}), {});
  });

  test('a call costs the other servers nothing', async () => {
    const session = await initialize(gateway);
    await waitFor('the sessions have begun', () => crm.listRequests('notifications/initialized').length > 0);
    for (const server of [tickets, crm, wiki]) server.forgetRequests();
    await post(gateway, request('tools/call', { name: 'crm_close' }), { session });
    // A tool could be one that a page of an app calls by its own name; anything else is not looked for.
    await post(gateway, request('prompts/get', { name: 'nobody_greet' }), { session });
    assert.deepEqual([tickets.requests.length, crm.requests.length, wiki.requests.length], [0, 1, 0]);
  });

  test('list_changed, and updates of resources, on the stream of a GET', async () => {
    const session = await initialize(gateway);
    const stream = await openStream(gateway, { session });
    assert.equal(stream.status, 200);
    await post(gateway, request('resources/subscribe', { uri: 'crm+file:///a' }), { session });
    await waitFor('an update', async () => {
      await crm.tellUpdated('file:///a');
      return stream.messages.some(({ params }) => params?.['uri'] === 'crm+file:///a');
    });
    stream.close();
  });

  test('a subscription of 2026-07-28 hears of servers of both eras', async () => {
    const { body, headers } = modern('subscriptions/listen', {
      notifications: { toolsListChanged: true, resourceSubscriptions: ['crm+file:///a', 'wiki+file:///a', 'x+y:z'] },
    });
    const stream = await openStream(gateway, { body, headers });
    await waitFor('the acknowledgement', () => stream.messages.length > 0);
    const [first] = stream.messages;
    assert.equal(first!.method, 'notifications/subscriptions/acknowledged');
    assert.deepEqual(first!.params?.['notifications'], {
      toolsListChanged: true,
      resourceSubscriptions: ['crm+file:///a', 'wiki+file:///a'],
    });
    for (const [server, uri] of [
      [crm, 'crm+file:///a'],
      [wiki, 'wiki+file:///a'],
    ] as const)
      // eslint-disable-next-line no-await-in-loop
      await waitFor(`an update of ${uri}`, async () => {
        await server.tellUpdated('file:///a');
        return stream.messages.some(({ params }) => params?.['uri'] === uri);
      });
    const ids = stream.messages.map(
      ({ params }) => (params!['_meta'] as Record<string, unknown>)['io.modelcontextprotocol/subscriptionId'],
    );
    assert.deepEqual(new Set(ids), new Set([1]));
    stream.close();
  });

  test('header fields of 2026-07-28 say what the message says, in the names of the server, and only to servers that know them', async () => {
    for (const server of [crm, wiki]) server.forgetRequests();
    const send = async (method: string, params: Record<string, unknown>, name: string): Promise<void> => {
      const { body, headers } = modern(method, params);
      const own = { 'mcp-name': name, 'mcp-param-region': 'north' };
      assert.equal(
        (await post(gateway, body, { headers: { ...headers, ...own } })).headers.get('www-authenticate'),
        null,
      );
    };
    const encode = (value: string): string => `=?base64?${Buffer.from(value).toString('base64')}?=`;
    const read = (server: FederationServer): (string | undefined)[][] =>
      server.requests
        .filter(({ rpcMethod }) => /call|get|read/.test(rpcMethod ?? ''))
        .map(({ headers }) => ['mcp-method', 'mcp-name', 'mcp-param-region'].map((field) => headers[field] as string));
    for (const name of ['crm', 'wiki']) {
      await send('tools/call', { name: `${name}_close` }, `${name}_close`);
      await send('prompts/get', { name: `${name}_größe` }, encode(`${name}_größe`));
      await send('resources/read', { uri: `${name}+file:///a` }, `${name}+file:///a`);
      await send('tasks/get', { taskId: `${name}_7` }, `${name}_7`);
    }
    assert.deepEqual(read(wiki), [
      ['tools/call', 'close', 'north'],
      ['prompts/get', encode('größe'), 'north'],
      ['resources/read', 'file:///a', 'north'],
      ['tasks/get', '7', 'north'],
    ]);
    assert.deepEqual(new Set(read(crm).flat()), new Set([undefined]));
    assert.equal(read(crm).length, 4);
  });

  test('a batch is split and answered together', async () => {
    const session = await initialize(gateway, { version: '2025-03-26' });
    const body = [request('tools/call', { name: 'crm_close' }, 1), request('ping', {}, 'p'), request('nothing', {}, 3)];
    const { status, messages } = await post(gateway, body, { session });
    assert.equal(status, 200);
    const byId = new Map(messages.map((message) => [message.id, message]));
    assert.ok(byId.get(1)?.result);
    assert.ok(byId.get('p')?.result);
    assert.equal(byId.get(3)?.error?.code, -32_601);
  });

  test('what is no message of this endpoint', async () => {
    const session = await initialize(gateway);
    assert.equal((await post(gateway, '{', { session })).status, 400);
    assert.equal(printError(await post(gateway, '{', { session })), '-32700 The body is not JSON.');
    assert.equal(
      printError(await post(gateway, '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', { session })),
      '-32600 The body has the same key twice.',
    );
    assert.equal(
      (await post(gateway, request('ping'), { session, headers: { 'content-type': 'text/plain' } })).status,
      415,
    );
    assert.equal((await post(gateway, request('ping'), { session, path: '/mcp/behind' })).status, 404);
    assert.equal((await post(gateway, request('ping'), { session, path: '/mcp/' })).status, 200);
    const ask = (method: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(gateway.urlOf('/mcp'), { method, headers: { 'mcp-session-id': session, ...headers } });
    assert.equal((await ask('PUT')).status, 405);
    assert.equal((await ask('GET', { accept: 'application/json' })).status, 406);
    const { body, headers } = modern('tools/call', { name: 'crm_close' });
    assert.equal(
      printError(await post(gateway, body, { headers: { ...headers, 'mcp-name': 'other' } })),
      '-32020 The Mcp-Name header does not match the name in the message.',
    );
    assert.equal((await post(gateway, modern('ping').body, { headers: modern('ping').headers })).status, 404);
  });
});
