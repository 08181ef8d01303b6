// Rules over MCP messages from the outside: what clients send to a real gateway, what they are told, and what reaches the server.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  ask,
  askHttp2,
  openRequest,
  openSession,
  readAccessLog,
  readError,
  readSeries,
  readText,
  receiveResponse,
} from './gateway-fixture.ts';
import { call, limit, message, rpcError, type RuledSystem, startRuledSystem } from './mcp-rules-requests-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

let system: RuledSystem;
before(async () => (system = await startRuledSystem()));
after(() => system?.close());
beforeEach(() => system.upstream.forget());

describe('allowed messages reach the server unchanged', () => {
  test('a call, byte for byte', async () => {
    const body = ` {"jsonrpc":"2.0","params":{"arguments":{"n":12345678901234567890,"\\u0061":"ä"},"name":"ticket_open"},"method":"tools/call","id":"x"}\n`;
    const answer = await system.post(body);
    assert.deepEqual(
      [answer.status, JSON.parse(answer.body)],
      [200, { jsonrpc: '2.0', id: 'x', result: { done: 'tools/call' } }],
    );
    const [request] = system.upstream.requests;
    assert.equal(Buffer.from(request!.body, 'latin1').toString(), body);
    assert.deepEqual(request!.all('content-length'), [String(Buffer.byteLength(body))]);
    assert.deepEqual(request!.all('authorization'), []);
  });

  test('without a length, and over HTTP/2', async () => {
    const client = openRequest(system.gateway.port, {
      method: 'POST',
      path: '/mcp',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${system.alice}` },
    });
    const body = call('ticket_open');
    client.write(body.slice(0, 20));
    client.end(body.slice(20));
    const response = await receiveResponse(client);
    assert.equal(response.statusCode, 200, await readText(response));
    const session = await openSession(system.gateway.port);
    const head = {
      ':method': 'POST',
      ':path': '/mcp',
      'content-type': 'application/json',
      authorization: `Bearer ${system.alice}`,
    };
    const answer = await askHttp2(session, head, body);
    session.close();
    assert.equal(answer.status, 200, answer.body);
    assert.deepEqual(
      system.upstream.requests.map((request) => request.body),
      [body, body],
    );
  });

  test('notifications, answers to the server, GET and DELETE', async () => {
    for (const body of [
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","id":4,"result":{}}',
    ])
      assert.equal((await system.post(body)).status, 202);
    for (const method of ['GET', 'DELETE'])
      assert.equal(
        (await ask(system.gateway.port, { method, path: '/mcp', headers: { authorization: `Bearer ${system.alice}` } }))
          .status,
        200,
      );
    assert.deepEqual(
      system.upstream.requests.map(({ method }) => method),
      ['POST', 'POST', 'GET', 'DELETE'],
    );
  });

  test('a body of exactly 4 MiB', async () => {
    const empty = call('ticket_open', { text: '' });
    const body = call('ticket_open', { text: 'x'.repeat(limit - empty.length) });
    assert.equal(body.length, limit);
    const answer = await system.post(body);
    assert.equal(answer.status, 200, answer.body);
    assert.equal(system.upstream.requests[0]!.body.length, limit);
  });
});

describe('forbidden messages do not reach the server', () => {
  test('a hidden tool is answered as one that does not exist', async () => {
    assert.equal(system.readRpc(await system.post(call('wipe'))), rpcError(200, 1, -32602, 'Unknown tool: wipe'));
    assert.equal(
      system.readRpc(await system.post(call('no_such_tool'))),
      rpcError(200, 1, -32602, 'Unknown tool: no_such_tool'),
    );
    assert.equal(
      system.readRpc(await system.post(call('ticket_open'), { token: system.bob })),
      rpcError(200, 1, -32602, 'Unknown tool: ticket_open'),
    );
  });

  test('and is in no list', async () => {
    const listed = async (token: string): Promise<string[]> => {
      const { result } = JSON.parse((await system.post(message('tools/list'), { token })).body) as {
        result: { tools: { name: string }[] };
      };
      return result.tools.map(({ name }) => name);
    };
    assert.deepEqual(await listed(system.alice), ['ticket_open', 'ticket_close', 'ticket_pay']);
    assert.deepEqual(await listed(system.bob), []);
  });

  test('as one event to a client that takes nothing else', async () => {
    const answer = await system.post(call('wipe', {}, 'e'), { headers: { accept: 'text/event-stream' } });
    assert.equal(answer.headers['content-type'], 'text/event-stream');
    assert.equal(
      answer.body,
      'event: message\ndata: {"jsonrpc":"2.0","id":"e","error":{"code":-32602,"message":"Unknown tool: wipe"}}\n\n',
    );
    assert.equal(system.upstream.headCount, 0);
  });

  test('a hidden resource, by version', async () => {
    const read = message('resources/read', { uri: 'file:///etc/passwd' });
    const data = '"data":{"uri":"file:///etc/passwd"}';
    assert.equal(
      system.readRpc(await system.post(read, { headers: { 'mcp-protocol-version': '2025-11-25' } })),
      `200 {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found",${data}}}`,
    );
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'resources/read',
      'mcp-name': 'file:///etc/passwd',
    };
    assert.equal(
      system.readRpc(await system.post(read, { headers })),
      `200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Resource not found",${data}}}`,
    );
  });

  test('arguments that a rule does not allow are no secret: 403', async () => {
    assert.equal((await system.post(call('ticket_pay', { amount: 99 }))).status, 200);
    system.upstream.forget();
    assert.equal(readError(await system.post(call('ticket_pay', { amount: 100 }))), '403 rbac_denied');
    assert.equal(readError(await system.post(call('ticket_pay', { amount: '1' }))), '403 rbac_denied');
    assert.equal(system.upstream.headCount, 0);
  });

  test('a missing scope: 403 with all scopes that the call needs', async () => {
    const answer = await system.post(call('ticket_close'));
    assert.equal(readError(answer), '403 insufficient_scope');
    assert.equal(
      answer.headers['www-authenticate'],
      `Bearer error="insufficient_scope", resource_metadata="http://127.0.0.1:${system.gateway.port}/.well-known/oauth-protected-resource/mcp", scope="mcp tickets:write"`,
    );
    assert.equal(system.upstream.headCount, 0);
    const stepped = await system.sign('alice', { groups: ['support'], scope: 'mcp tickets:write' });
    assert.equal((await system.post(call('ticket_close'), { token: stepped })).status, 200);
  });

  test('without MCP authentication the challenge is a plain one', async () => {
    const answer = await ask(
      system.gateway.port,
      { method: 'POST', path: '/scoped', headers: { 'content-type': 'application/json' } },
      call('anything'),
    );
    assert.equal(readError(answer), '401 missing_token');
    assert.equal(answer.headers['www-authenticate'], 'Bearer scope="call"');
    assert.equal(system.upstream.headCount, 0);
    const list = await system.post(message('tools/list'), { path: '/scoped' });
    assert.match(list.body, /"wipe"/);
  });
});

describe('the older transport', () => {
  test('refusals are errors of HTTP', async () => {
    const sent = { path: '/legacy' };
    assert.equal(system.readRpc(await system.post(call('wipe'), sent)), rpcError(400, 1, -32602, 'Unknown tool: wipe'));
    assert.equal(
      system.readRpc(await system.post(message('Tools/Call'), sent)),
      rpcError(400, 1, -32601, 'Method not found'),
    );
    assert.equal((await system.post(call('ticket_open'), sent)).status, 200);
    assert.deepEqual(
      system.upstream.requests.map(({ url, body }) => `${url} ${body}`),
      [`/sse ${call('ticket_open')}`],
    );
  });
});

describe('without rules the body is not read', () => {
  test('requests without a message pass', async () => {
    const answer = await system.post('neither { JSON nor\u0000 anything', {
      path: '/open',
      headers: { 'content-type': 'text/plain', 'content-encoding': 'x' },
    });
    assert.equal((JSON.parse(answer.body) as { body: string }).body, 'neither { JSON nor\u0000 anything');
  });

  test('a slow upload streams: its first bytes arrive before its last are sent', async () => {
    const arrived = Promise.withResolvers<string>();
    system.plain.handle('/mcp/slow', (request, response) => {
      request.once('data', (chunk: Buffer) => arrived.resolve(chunk.toString()));
      request.on('end', () => response.end('done'));
    });
    const client = openRequest(system.gateway.port, {
      method: 'POST',
      path: '/open/slow',
      headers: { 'content-type': 'application/json' },
    });
    client.write('{"jsonrpc":');
    assert.equal(await arrived.promise, '{"jsonrpc":');
    client.end('"2.0"}');
    const response = await receiveResponse(client);
    assert.equal(await readText(response), 'done');
  });

  test('with rules nothing arrives before the whole was judged', async () => {
    const socket = connect(system.gateway.port, '127.0.0.1');
    await once(socket, 'connect');
    const body = call('ticket_open');
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${system.gateway.port}\r\nAuthorization: Bearer ${system.alice}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body.slice(0, -1)}`,
    );
    // Another request goes all the way while this one waits.
    assert.equal((await system.post(message('ping', {}, 7))).status, 200);
    assert.equal(system.upstream.requests.length, 1);
    socket.write(body.slice(-1));
    const text = await readText(socket);
    assert.match(text, /^HTTP\/1\.1 200 /);
    assert.equal(system.upstream.requests.length, 2);
  });
});

test('the log and the metrics name the refused message and the policy', async () => {
  await system.post(call('ticket_open'));
  await system.post('{');
  await system.post(message('Tools/Call'));
  await system.post(message('ping'), { headers: { 'mcp-method': 'tools/list' } });
  await system.post(call('ticket_close'));
  const answer = await system.post(call('wipe'));
  const id = String(answer.headers['x-request-id']);
  await waitFor(() => readAccessLog(system.gateway).some((line) => line['request_id'] === id));
  const line = readAccessLog(system.gateway).find((each) => each['request_id'] === id)!;
  assert.equal(line['reason'], 'item_hidden');
  assert.equal(line['status'], 200);
  assert.match(String(line['detail']), /^no Allow rule matches: policy default\/tickets/);
  const decisions = await readSeries(system.gateway, 'mcp_gateway_policy_decisions_total');
  const labels = [...decisions.keys()].filter((series) => series.includes('step="backend.mcp.authorization"'));
  for (const [outcome, reason] of [
    ['allow', ''],
    ['respond', 'item_hidden'],
    ['deny', 'message_malformed'],
    ['deny', 'method_unknown'],
    ['deny', 'header_mismatch'],
    ['deny', 'insufficient_scope'],
  ] as const)
    assert.ok(
      labels.some(
        (series) =>
          series.includes('policy="default/tickets"') &&
          series.includes(`outcome="${outcome}"`) &&
          series.includes(`reason="${reason}"`),
      ),
      `${outcome} ${reason}: ${labels.join('\n')}`,
    );
});
