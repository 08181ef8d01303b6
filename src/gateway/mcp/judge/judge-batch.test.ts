import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { valueOf } from '../../authentication/testing/auth-fixture.ts';
import { alice, aliceRules, createRules, judgeRequest, message, printVerdict } from '../testing/message-fixture.ts';

describe('batches', () => {
  const batch = async (messages: readonly unknown[], headers: readonly string[] = []): Promise<string> => {
    const { verdict } = await judgeRequest({
      rules: aliceRules,
      token: alice,
      message: messages,
      request: { headers },
    });
    if (verdict.kind !== 'continue') return printVerdict(verdict);
    assert.ok(verdict.body !== undefined && verdict.filterAnswer !== undefined);
    return Buffer.from(verdict.body).toString();
  };
  const ok = message('tools/call', { name: 'open_a' }, 1);
  const hidden = message('tools/call', { name: 'x' }, 2);
  const denied = message('tools/call', { name: 'open_a', arguments: { amount: 100 } }, 3);
  const unknown = message('Tools/Call', {}, 4);
  const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } };
  const strange = { jsonrpc: '2.0', method: 'notifications/strange' };

  for (const [name, messages, headers, expected] of [
    ['all allowed', [ok, notice], [], JSON.stringify([ok, notice])],
    ['with the version that has them', [ok], ['MCP-Protocol-Version', '2025-03-26'], JSON.stringify([ok])],
    ['refused ones are taken out', [hidden, ok, denied, notice, unknown], [], JSON.stringify([ok, notice])],
    ['refused notifications, too', [strange, ok], [], JSON.stringify([ok])],
    ['only notifications are left', [hidden, notice], [], JSON.stringify([notice])],
    [
      'all refused',
      [hidden, denied, unknown],
      [],
      '200 2 -32602 Unknown tool: x | 3 403 The rules of this gateway do not allow this message. | 4 -32601 Method not found',
    ],
    ['all refused, and a notification', [hidden, strange], [], '200 2 -32602 Unknown tool: x'],
    ['only refused notifications', [strange, strange], [], 'deny method_unknown'],
    [
      'a version without them',
      [ok],
      ['MCP-Protocol-Version', '2025-06-18'],
      '400 null -32600 The body is a batch, which this protocol version does not have.',
    ],
    [
      'of a version without them',
      [ok],
      ['MCP-Protocol-Version', '2026-07-28'],
      '400 null -32600 The body is a batch, which this protocol version does not have.',
    ],
    [
      'two of the same id',
      [ok, { ...hidden, id: 1 }],
      [],
      '400 null -32600 The body is a batch with two requests of the same id.',
    ],
    [
      'with initialize',
      [message('initialize'), notice],
      [],
      '400 null -32600 The body is a batch with an initialize request.',
    ],
    [
      'with a header for one',
      [ok],
      ['Mcp-Method', 'tools/call'],
      '400 null -32020 A batch has no method that Mcp-Method or Mcp-Name could repeat.',
    ],
    ['with something else in it', [ok, 7], [], '400 null -32600 The body is not a JSON-RPC message.'],
  ] as const)
    test(name, async () => assert.equal(await batch(messages, headers), expected));

  test('1 and "1" are different ids', async () => {
    const both = [ok, { ...ok, id: '1' }];
    assert.equal(await batch(both), JSON.stringify(both));
  });

  test('what was refused is answered within the server’s answer, and lists in it are filtered', async () => {
    const messages = [hidden, message('tools/list', {}, 5), message('prompts/list', {}, 'p')];
    const { verdict } = await judgeRequest({ rules: aliceRules, token: alice, message: messages });
    assert.ok(verdict.kind === 'continue');
    const treatment = verdict.filterAnswer!(200, ['content-type', 'application/json']);
    assert.ok(treatment.kind === 'collect');
    const answer = [
      { jsonrpc: '2.0', id: 5, result: { tools: [{ name: 'open_a' }, { name: 'x' }] } },
      { jsonrpc: '2.0', id: 'p', result: { prompts: [{ name: 'greet' }, { name: 'other' }] } },
    ];
    const filtered = treatment.filter(Buffer.from(JSON.stringify(answer)));
    assert.ok(filtered.ok);
    const text = Buffer.from(filtered.changed!.body).toString();
    const byId = new Map((JSON.parse(text) as { id: unknown }[]).map((entry) => [entry.id, entry]));
    assert.deepEqual(byId.get(5), { jsonrpc: '2.0', id: 5, result: { tools: [{ name: 'open_a' }] } });
    assert.deepEqual(byId.get('p'), { jsonrpc: '2.0', id: 'p', result: { prompts: [{ name: 'greet' }] } });
    assert.deepEqual(byId.get(2), { jsonrpc: '2.0', id: 2, error: { code: -32602, message: 'Unknown tool: x' } });
  });

  test('scopes are asked for once, for all that goes on', async () => {
    const scoped = createRules({
      expressions: ['mcp.tool.name != "hidden"'],
      scopes: [
        { tools: ['a'], scopes: ['sa'] },
        { tools: ['b'], scopes: ['sb'] },
        { tools: ['hidden'], scopes: ['secret'] },
      ],
    });
    const messages = ['a', 'b', 'hidden'].map((name, id) => message('tools/call', { name }, id));
    const { verdict } = await judgeRequest({ rules: scoped, token: alice, message: messages });
    assert.ok(verdict.kind === 'deny');
    assert.equal(
      valueOf(verdict.responseHeaders, 'www-authenticate'),
      'Bearer error="insufficient_scope", scope="sa sb"',
    );
  });

  test('messages go on byte for byte', async () => {
    const text =
      '[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}} , { "jsonrpc" : "2.0","id":1,"method":"ping","params":{"n":12345678901234567890}}]';
    const request = { method: 'POST', headers: ['Content-Type', 'application/json'], body: [text] };
    const { verdict } = await judgeRequest({ rules: aliceRules, token: alice, request });
    assert.ok(verdict.kind === 'continue');
    assert.equal(
      Buffer.from(verdict.body!).toString(),
      '[ { "jsonrpc" : "2.0","id":1,"method":"ping","params":{"n":12345678901234567890}}]',
    );
  });
});
