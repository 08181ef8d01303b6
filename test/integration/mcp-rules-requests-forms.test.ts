// Messages in more than one place: headers that repeat the body, and bodies with several messages.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { call, message, rpcError, type RuledSystem, startRuledSystem } from './mcp-rules-requests-fixture.ts';

let system: RuledSystem;
before(async () => (system = await startRuledSystem()));
after(() => system?.close());
beforeEach(() => system.upstream.forget());

describe('headers that repeat the body', () => {
  const modern = { 'mcp-protocol-version': '2026-07-28' };
  const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
  const opened = message('tools/call', { name: 'ticket_open', ...meta });

  test('agree', async () => {
    const headers = { ...modern, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'ticket_open', 'Mcp-Param-Amount': '5' };
    assert.equal((await system.post(opened, { headers })).status, 200);
    const encoded = { ...headers, 'Mcp-Name': '=?base64?dGlja2V0X29wZW4=?=' };
    assert.equal((await system.post(opened, { headers: encoded })).status, 200);
    assert.deepEqual(system.upstream.requests[1]!.all('mcp-name'), ['=?base64?dGlja2V0X29wZW4=?=']);
    assert.deepEqual(system.upstream.requests[0]!.all('mcp-param-amount'), ['5']);
  });

  for (const [name, headers, problem] of [
    [
      'another method',
      { 'mcp-method': 'tools/list', 'mcp-name': 'ticket_open' },
      'The Mcp-Method header does not match the method of the message.',
    ],
    [
      'another case',
      { 'mcp-method': 'Tools/Call', 'mcp-name': 'ticket_open' },
      'The Mcp-Method header does not match the method of the message.',
    ],
    [
      'another name',
      { 'mcp-method': 'tools/call', 'mcp-name': 'ticket_close' },
      'The Mcp-Name header does not match the name in the message.',
    ],
    [
      'another encoded name',
      { 'mcp-method': 'tools/call', 'mcp-name': '=?base64?d2lwZQ==?=' },
      'The Mcp-Name header does not match the name in the message.',
    ],
    [
      'a broken one',
      { 'mcp-method': 'tools/call', 'mcp-name': '=?base64?*?=' },
      'The Mcp-Name header cannot be decoded.',
    ],
    [
      'a method twice',
      { 'mcp-method': ['tools/call', 'tools/call'], 'mcp-name': 'ticket_open' },
      'The Mcp-Method header was sent more than once.',
    ],
    ['no method', { 'mcp-name': 'ticket_open' }, 'The Mcp-Method header is missing.'],
    ['no name', { 'mcp-method': 'tools/call' }, 'The Mcp-Name header is missing.'],
    [
      'another version',
      { 'mcp-protocol-version': '2025-11-25', 'mcp-method': 'tools/call', 'mcp-name': 'ticket_open' },
      'The MCP-Protocol-Version header and the message name different versions.',
    ],
  ] as const)
    test(name, async () => {
      const sent = { ...modern, ...headers } as Record<string, string | string[]>;
      assert.equal(system.readRpc(await system.post(opened, { headers: sent })), rpcError(400, 1, -32020, problem));
    });

  test('also in older versions, which do not need them', async () => {
    const headers = { 'mcp-protocol-version': '2025-06-18', 'mcp-method': 'tools/list' };
    assert.equal(
      system.readRpc(await system.post(call('ticket_open'), { headers })),
      rpcError(400, 1, -32020, 'The Mcp-Method header does not match the method of the message.'),
    );
  });

  test('a method that the version no longer has is 404', async () => {
    const headers = { ...modern, 'mcp-method': 'ping' };
    assert.equal(
      system.readRpc(await system.post(message('ping'), { headers })),
      rpcError(404, 1, -32601, 'Method not found'),
    );
  });
});

describe('batches', () => {
  const notice = '{"jsonrpc":"2.0","method":"notifications/cancelled"}';

  test('are judged message by message', async () => {
    const allowed = call('ticket_open', {}, 1);
    const answer = await system.post(
      `[${allowed}, ${call('wipe', {}, 2)},${call('ticket_pay', { amount: 100 }, 3)},${message('tools/list', {}, 4)}, ${notice}]`,
    );
    assert.equal(answer.status, 200);
    const byId = new Map((JSON.parse(answer.body) as { id: number }[]).map((entry) => [entry.id, entry]));
    assert.deepEqual(
      [...byId.keys()].toSorted((left, right) => left - right),
      [1, 2, 3, 4],
    );
    assert.deepEqual(byId.get(1), { jsonrpc: '2.0', id: 1, result: { done: 'tools/call' } });
    assert.deepEqual(byId.get(2), { jsonrpc: '2.0', id: 2, error: { code: -32602, message: 'Unknown tool: wipe' } });
    assert.deepEqual(byId.get(3), {
      jsonrpc: '2.0',
      id: 3,
      error: {
        code: 403,
        message: 'The rules of this gateway do not allow this message.',
        data: { reason: 'rbac_denied' },
      },
    });
    assert.deepEqual(byId.get(4), {
      jsonrpc: '2.0',
      id: 4,
      result: { tools: ['ticket_open', 'ticket_close', 'ticket_pay'].map((name) => ({ name })) },
    });
    assert.deepEqual(JSON.parse(system.upstream.requests[0]!.body), [
      JSON.parse(allowed),
      JSON.parse(message('tools/list', {}, 4)),
      JSON.parse(notice),
    ]);
  });

  test('of which nothing is left are answered by the gateway', async () => {
    assert.equal(
      system.readRpc(await system.post(`[${call('wipe', {}, 1)},${call('wipe', {}, 'b')}]`)),
      '200 [{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: wipe"}},{"jsonrpc":"2.0","id":"b","error":{"code":-32602,"message":"Unknown tool: wipe"}}]',
    );
  });

  test('of which only notifications are left: they go on, and the rest is answered', async () => {
    const answer = await system.post(`[${call('wipe', {}, 1)},${notice}]`);
    assert.equal(answer.status, 200);
    assert.deepEqual(JSON.parse(answer.body), [
      { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'Unknown tool: wipe' } },
    ]);
    assert.equal(system.upstream.requests[0]!.body, `[${notice}]`);
  });

  for (const [name, body, headers, problem] of [
    ['none at all', '[]', {}, 'The body is an empty batch.'],
    [
      'too many',
      `[${Array.from({ length: 101 }, (_, id) => message('ping', {}, id)).join(',')}]`,
      {},
      'The body is a batch of more than 100 messages.',
    ],
    [
      'one id twice',
      `[${call('ticket_open')},${call('ticket_open')}]`,
      {},
      'The body is a batch with two requests of the same id.',
    ],
    ['a batch in a batch', `[[${call('ticket_open')}]]`, {}, 'The body is not a JSON-RPC message.'],
    [
      'a version without them',
      `[${call('ticket_open')}]`,
      { 'mcp-protocol-version': '2025-06-18' },
      'The body is a batch, which this protocol version does not have.',
    ],
  ] as const)
    test(name, async () =>
      assert.equal(system.readRpc(await system.post(body, { headers })), rpcError(400, null, -32600, problem)),
    );
});
