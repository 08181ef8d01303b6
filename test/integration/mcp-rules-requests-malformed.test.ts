// Bodies and requests that cannot be judged, or could be read in two ways: none of them reaches a server whose messages are judged.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { ask, openRequest, readError, readText, receiveResponse } from './gateway-fixture.ts';
import { call, limit, message, rpcError, type RuledSystem, startRuledSystem } from './mcp-rules-requests-fixture.ts';

let system: RuledSystem;
before(async () => (system = await startRuledSystem()));
after(() => system?.close());
beforeEach(() => system.upstream.forget());

describe('messages that cannot be judged are refused', () => {
  const cases: readonly [name: string, body: string, code: number, problem: string, id?: unknown][] = [
    ['nothing', '', -32700, 'The body is not JSON.'],
    ['no JSON', 'method=tools/call', -32700, 'The body is not JSON.'],
    ['half of it', call('ticket_open').slice(0, -1), -32700, 'The body is not JSON.'],
    ['two messages in a row', `${message('ping')}${call('wipe')}`, -32700, 'The body is not JSON.'],
    ['a text', '"tools/call"', -32600, 'The body is not a JSON-RPC message.'],
    ['null', 'null', -32600, 'The body is not a JSON-RPC message.'],
    ['no version', '{"id":1,"method":"ping"}', -32600, 'The body is not JSON-RPC 2.0.', 1],
    [
      'a fraction for an id',
      '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
      -32600,
      'The body has an id that is neither a string nor an integer.',
    ],
    [
      'null for an id',
      '{"jsonrpc":"2.0","id":null,"method":"ping"}',
      -32600,
      'The body has an id that is neither a string nor an integer.',
    ],
    [
      'a method twice',
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"wipe"}}',
      -32600,
      'The body has the same key twice.',
    ],
    [
      'a name twice',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_open","name":"wipe"}}',
      -32600,
      'The body has the same key twice.',
    ],
    [
      'a name twice, once escaped',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_open","n\\u0061me":"wipe"}}',
      -32600,
      'The body has the same key twice.',
    ],
    [
      '"Method"',
      '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"wipe"}}',
      -32600,
      'The body has a key that could be taken for method.',
    ],
    [
      '"Method" alone',
      '{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"wipe"}}',
      -32600,
      'The body has a key that could be taken for method.',
    ],
    [
      '"ıd"',
      '{"jsonrpc":"2.0","id":1,"ıd":2,"method":"ping"}',
      -32600,
      'The body has a key that could be taken for id.',
    ],
    [
      '"parAms"',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_open"},"parAms":{"name":"wipe"}}',
      -32600,
      'The body has a key that could be taken for params.',
    ],
    [
      '"Name"',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_open","Name":"wipe"}}',
      -32600,
      'The body has a key that could be taken for name.',
      1,
    ],
    [
      'an argument that looks like one that a rule reads',
      call('ticket_pay', { Amount: 1_000_000 }),
      -32600,
      'The body has a key that could be taken for amount.',
      1,
    ],
    [
      '__proto__',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_open","__proto__":{"name":"wipe"}}}',
      -32600,
      'The body has a key that is not allowed.',
    ],
    [
      'half a surrogate',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}',
      -32600,
      'The body has a text that is not valid Unicode.',
    ],
    ['10,000 levels', `${'['.repeat(10_000)}${']'.repeat(10_000)}`, -32600, 'The body is nested too deeply.'],
    [
      'params in order',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["wipe"]}',
      -32600,
      'The body has params that are not an object.',
      1,
    ],
    [
      'a call of nothing',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}',
      -32602,
      'The message has no name.',
      1,
    ],
    [
      'a name with a NUL',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ticket_\\u0000"}}',
      -32602,
      'The message has a name with control characters.',
      1,
    ],
    [
      'a call that nobody waits for',
      '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wipe"}}',
      -32600,
      'The message has no id, but its method requires one.',
    ],
  ];
  for (const [name, body, code, problem, id = null] of cases)
    test(name, async () => assert.equal(system.readRpc(await system.post(body)), rpcError(400, id, code, problem)));

  // JSON.parse takes the second key for the one that it has seen in its place: https://github.com/nodejs/node/issues/63785
  test('a name twice, once escaped, after a message with a key that looks like the escape', async () => {
    const prepare = String.raw`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":{"first":1,"name":"a","n\\u0":1}}}`;
    for (let i = 0; i < 3; i += 1) await system.post(prepare);
    system.upstream.forget();
    const body = String.raw`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"first":1,"name":"ticket_open","n\u0061me":"wipe"}}`;
    const expected = rpcError(400, null, -32600, 'The body has the same key twice.');
    assert.equal(system.readRpc(await system.post(body)), expected);
    assert.equal(system.upstream.headCount, 0);
  });

  test('bytes that are no UTF-8', async () => {
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${system.alice}`,
      'content-length': '3',
    };
    const client = openRequest(system.gateway.port, { method: 'POST', path: '/mcp', headers });
    client.end(Buffer.from([0x22, 0xff, 0x22]));
    const response = await receiveResponse(client);
    assert.deepEqual(
      [response.statusCode, await readText(response)],
      [400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"The body is not UTF-8."}}'],
    );
    assert.equal(system.upstream.headCount, 0);
  });

  for (const method of [
    'Tools/Call',
    'TOOLS/CALL',
    'tools//call',
    'tools/call ',
    ' tools/call',
    'tools/call\u0000',
    'toolſ/call',
    'acme/Sync',
    'server/discover',
  ])
    test(`the method ${JSON.stringify(method)}`, async () => {
      const body = message(method, { name: 'wipe' });
      assert.equal(system.readRpc(await system.post(body)), rpcError(200, 1, -32601, 'Method not found'));
      const headers = { 'mcp-protocol-version': '2025-11-25' };
      assert.equal(system.readRpc(await system.post(body, { headers })), rpcError(200, 1, -32601, 'Method not found'));
    });

  test('a method of an extension passes when a rule names it', async () => {
    assert.deepEqual(JSON.parse((await system.post(message('acme/sync'))).body), {
      jsonrpc: '2.0',
      id: 1,
      result: { done: 'acme/sync' },
    });
  });

  test('a body of more than 4 MiB, announced or not', async () => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${system.alice}` };
    const announced = openRequest(system.gateway.port, {
      method: 'POST',
      path: '/mcp',
      headers: { ...headers, 'content-length': String(limit + 1) },
    });
    // Not one byte of it is sent: the announcement is enough.
    announced.flushHeaders();
    const refused = await receiveResponse(announced);
    assert.equal(refused.statusCode, 413);
    assert.match(await readText(refused), /"error":"body_too_large"/);
    announced.destroy();

    const chunked = openRequest(system.gateway.port, { method: 'POST', path: '/mcp', headers });
    chunked.write('"'.padEnd(limit, 'x'));
    chunked.write('x');
    const late = await receiveResponse(chunked);
    assert.equal(late.statusCode, 413);
    chunked.destroy();
    assert.equal(system.upstream.headCount, 0);
  });

  test('bodies in another form', async () => {
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'application/json; charset=utf-16' },
      { 'content-encoding': 'gzip' },
    ])
      assert.equal(readError(await system.post(call('ticket_open'), { headers })), '415 body_not_readable');
    assert.equal(system.upstream.headCount, 0);
  });

  test('other methods, bodies where none belong, and a switch of protocols', async () => {
    const put = await system.post(call('ticket_open'), { method: 'PUT' });
    assert.equal(readError(put), '405 method_not_allowed');
    assert.equal(put.headers.allow, 'GET, POST, DELETE');
    assert.equal(readError(await system.post(call('wipe'), { method: 'GET' })), '400 message_malformed');
    assert.equal(readError(await system.post(call('wipe'), { method: 'DELETE' })), '400 message_malformed');
    const upgrade = await ask(system.gateway.port, {
      path: '/mcp',
      headers: {
        authorization: `Bearer ${system.alice}`,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      },
    });
    assert.equal(readError(upgrade), '403 upgrade_refused');
    assert.equal(system.upstream.headCount, 0);
  });
});
