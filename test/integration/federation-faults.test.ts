// Servers of a federation that are away, come back, refuse, break off or say nothing: what clients see of it, and that the others go on.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { startRecordingUpstream } from '../kit/recording-upstream.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';
import { initialize, modern, openStream, post, printError, type RawAnswer, request } from './federation-fixture.ts';

const listTools = ({ messages }: RawAnswer): { names: string[]; missing: unknown } => {
  const { tools, _meta: meta } = messages.at(-1)!.result as {
    tools: { name: string }[];
    _meta?: Record<string, unknown>;
  };
  return { names: tools.map(({ name }) => name), missing: meta?.['gateway.proxy/unavailable'] };
};

describe('a server that is killed and restarted', () => {
  let tickets: FederationServer;
  let crm: FederationServer;
  let wiki: FederationServer;
  let gateway: GatewayRun;

  before(async () => {
    tickets = await startFederationServer({ name: 'tickets', era: 'legacy' });
    crm = await startFederationServer({ name: 'crm', era: 'legacy' });
    wiki = await startFederationServer({ name: 'wiki', era: 'modern' });
    gateway = await startFederatedGateway({
      targets: { tickets: { url: tickets.url }, crm: { url: crm.url }, wiki: { url: wiki.url } },
    });
  });
  after(async () => {
    await gateway.stop();
    await Promise.all([tickets.close(), crm.close(), wiki.close()]);
  });

  for (const name of ['crm', 'wiki'])
    test(`${name}: lists name it, calls to it fail at once, the others serve, and streams tell when it is back`, async (t) => {
      const server = name === 'crm' ? crm : wiki;
      const session = await initialize(gateway);
      const stream = await openStream(gateway, { session });
      t.after(() => stream.close());
      const changes = (): number =>
        stream.messages.filter(({ method }) => method === 'notifications/tools/list_changed').length;
      const list = async () => listTools(await post(gateway, request('tools/list'), { session }));
      const call = (tool: string) => post(gateway, request('tools/call', { name: tool, arguments: {} }), { session });
      const all = ['tickets_where', 'crm_where', 'wiki_where'];
      assert.deepEqual(await list(), { names: all, missing: undefined });

      await server.kill();
      const without = { names: all.filter((tool) => !tool.startsWith(name)), missing: [name] };
      await waitFor('it is missing', async () => (await list()).missing !== undefined);
      assert.deepEqual(await list(), without);
      await waitFor('the stream tells', () => changes() > 0);
      const failed = await call(`${name}_where`);
      assert.equal(failed.status, 200);
      assert.match(printError(failed), new RegExp(`^-32603 The server "${name}" `));
      assert.ok((await call('tickets_where')).messages.at(-1)!.result);
      // A new client is welcome.
      const late = await initialize(gateway);
      assert.deepEqual(listTools(await post(gateway, request('tools/list'), { session: late })), without);

      const told = changes();
      await server.restart();
      await waitFor('the stream tells that it is back', () => changes() > told);
      assert.deepEqual(await list(), { names: all, missing: undefined });
      assert.ok((await call(`${name}_where`)).messages.at(-1)!.result);
      const again = await post(gateway, request('tools/call', { name: `${name}_where` }), { session: late });
      assert.ok(again.messages.at(-1)!.result);
    });
});

test('all of them down is an error, whatever is asked', async (t) => {
  const [a, b] = await Promise.all([
    startFederationServer({ name: 'a', era: 'legacy' }),
    startFederationServer({ name: 'b', era: 'modern' }),
  ]);
  const gateway = await startFederatedGateway({ targets: { a: { url: a.url }, b: { url: b.url } } });
  t.after(async () => {
    await gateway.stop();
    await Promise.all([a.close(), b.close()]);
  });
  const session = await initialize(gateway);
  await Promise.all([a.kill(), b.kill()]);
  const list = await post(gateway, request('tools/list'), { session });
  assert.equal(printError(list), '-32603 None of the servers is available: a, b. Try again later.');
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const none = await post(gateway, request('initialize', params));
  assert.equal(printError(none), '-32603 No server behind this endpoint can be reached: a, b.');
  assert.equal(none.headers.get('mcp-session-id'), null);
  const { body, headers } = modern('server/discover');
  assert.match(printError(await post(gateway, body, { headers })), /^-32603 No server behind this endpoint/);
});

test('a list fails for a target that must not be missing', async (t) => {
  const a = await startFederationServer({ name: 'a', era: 'legacy' });
  const b = await startFederationServer({ name: 'b', era: 'legacy' });
  const gateway = await startFederatedGateway({
    targets: { a: { url: a.url, settings: { failureMode: 'FailClosed' } }, b: { url: b.url } },
  });
  t.after(async () => {
    await gateway.stop();
    await Promise.all([a.close(), b.close()]);
  });
  await a.kill();
  // It never fails for one target.
  const session = await initialize(gateway);
  assert.match(
    printError(await post(gateway, request('tools/list'), { session })),
    /^-32603 The server a is not available/,
  );
  assert.ok((await post(gateway, request('tools/call', { name: 'b_where' }), { session })).messages.at(-1)!.result);
});

test('a server that refuses, says nonsense or breaks off in the middle of a call', async (t) => {
  let mode: 'refuse' | 'nonsense' | 'break' | 'empty' = 'refuse';
  const odd = await startRecordingUpstream('odd', (recorded, response) => {
    const body = Buffer.from(recorded.body, 'latin1').toString();
    const { id, method } = (body === '' ? {} : JSON.parse(body)) as { id?: unknown; method?: string };
    const json = (value: object): void =>
      void response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
    if (method === 'server/discover') return json({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'no' } });
    if (method === 'initialize')
      return json({
        jsonrpc: '2.0',
        id,
        result: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'odd', version: '1' },
        },
      });
    if (method !== 'tools/call') return void response.writeHead(recorded.method === 'GET' ? 405 : 202).end();
    switch (mode) {
      case 'refuse':
        return void response.writeHead(401, { 'www-authenticate': 'Bearer realm="theirs"' }).end();
      case 'nonsense':
        return void response.setHeader('content-type', 'application/json').end('{"jsonrpc":');
      case 'empty':
        return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
      case 'break':
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(': begins\n\n');
        return void setImmediate(() => response.destroy());
    }
  });
  const good = await startFederationServer({ name: 'good', era: 'legacy' });
  const gateway = await startFederatedGateway({
    targets: { odd: { url: `http://127.0.0.1:${odd.port}/mcp` }, good: { url: good.url } },
  });
  t.after(async () => {
    await gateway.stop();
    await Promise.all([odd.close(), good.close()]);
  });
  const session = await initialize(gateway);
  const call = (name: string) => post(gateway, request('tools/call', { name, arguments: {} }), { session });
  const refused = await call('odd_x');
  assert.equal(refused.status, 200);
  assert.equal(refused.headers.get('www-authenticate'), null);
  assert.equal(printError(refused), '-32603 The server "odd" refused the request (HTTP 401).');
  const seen: string[] = [];
  for (mode of ['nonsense', 'empty', 'break'] as const) {
    // eslint-disable-next-line no-await-in-loop
    seen.push(printError(await call('odd_x')));
    // eslint-disable-next-line no-await-in-loop
    assert.ok((await call('good_where')).messages.at(-1)!.result);
  }
  assert.deepEqual(seen, [
    '-32603 The server "odd" sent an answer that cannot be read.',
    '-32603 The server "odd" broke off before it answered.',
    '-32603 The server "odd" broke off before it answered.',
  ]);
});

test('a client that leaves: a server of 2025-11-25 is told only when the client speaks 2026-07-28', async (t) => {
  let running = 0;
  const server = await startFederationServer({
    name: 'slow',
    era: 'legacy',
    tools: [
      {
        name: 'wait',
        run: (_args, { signal }) => {
          running += 1;
          return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('left'))));
        },
      },
    ],
  });
  const gateway = await startFederatedGateway({ targets: { slow: { url: server.url }, other: { url: server.url } } });
  t.after(async () => {
    await gateway.stop();
    await server.close();
  });
  const leave = async (body: object, options: object): Promise<void> => {
    const earlier = running;
    const stop = new AbortController();
    const { headers = {}, session } = options as { headers?: Record<string, string>; session?: string };
    const asked = fetch(gateway.urlOf('/mcp'), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
        ...(session !== undefined && { 'mcp-session-id': session }),
      },
      body: JSON.stringify(body),
      signal: stop.signal,
    }).catch(() => undefined);
    await waitFor('the tool runs', () => running > earlier);
    stop.abort();
    await asked;
  };
  const session = await initialize(gateway);
  await leave(request('tools/call', { name: 'slow_wait', arguments: {} }, 'mine'), { session });
  // Cancelled explicitly, it goes to the one that was asked.
  await post(
    gateway,
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'mine' } },
    { session },
  );
  await waitFor('the cancellation', () => server.listRequests('notifications/cancelled').length > 0);
  server.forgetRequests();
  const { body, headers } = modern('tools/call', { name: 'slow_wait', arguments: {} });
  await leave(body, { headers });
  await waitFor('the cancellation', () => server.listRequests('notifications/cancelled').length === 1);
});
