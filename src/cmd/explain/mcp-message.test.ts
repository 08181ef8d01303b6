import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildMessage, findMethodMismatch, latestProtocolVersion, type McpItem } from './mcp-message.ts';

function build(method: string, item?: McpItem, version = latestProtocolVersion, given?: Record<string, unknown>) {
  const { body, headers } = buildMessage({ method, item, arguments: given, protocolVersion: version });
  const named = new Map<string, string>();
  for (let i = 0; i < headers.length; i += 2) named.set(headers[i]!, headers[i + 1]!);
  return { message: JSON.parse(body) as { id?: number; params: Record<string, unknown> }, headers: named };
}

describe('buildMessage', () => {
  test('the newest version: the request carries its version, and headers repeat method and name', () => {
    const { message, headers } = build('tools/call', { kind: 'tool', name: 'ticket_list' }, undefined, { a: 1 });
    assert.equal(headers.get('mcp-protocol-version'), '2026-07-28');
    assert.equal(headers.get('mcp-method'), 'tools/call');
    assert.equal(headers.get('mcp-name'), 'ticket_list');
    const { _meta: meta, ...params } = message.params;
    assert.deepEqual(params, { name: 'ticket_list', arguments: { a: 1 } });
    assert.equal((meta as Record<string, unknown>)['io.modelcontextprotocol/protocolVersion'], '2026-07-28');
  });

  test('a name that no header can carry travels as base64', () => {
    for (const [name, encoded] of [
      ['zażółć', `=?base64?${Buffer.from('zażółć').toString('base64')}?=`],
      [' a', `=?base64?${Buffer.from(' a').toString('base64')}?=`],
      ['=?base64?x?=', `=?base64?${Buffer.from('=?base64?x?=').toString('base64')}?=`],
      ['a b', 'a b'],
      ['x', 'x'],
    ] as const)
      assert.equal(build('tools/call', { kind: 'tool', name }).headers.get('mcp-name'), encoded);
  });

  test('older versions: a header names the version, but for initialize, which asks for it', () => {
    const old = build('prompts/get', { kind: 'prompt', name: 'p' }, '2025-06-18');
    assert.deepEqual([...old.headers.keys()], ['content-type', 'accept', 'mcp-protocol-version']);
    assert.deepEqual(old.message.params, { name: 'p' });
    const first = build('initialize', undefined, '2025-11-25');
    assert.ok(!first.headers.has('mcp-protocol-version'));
    assert.equal(first.message.params['protocolVersion'], '2025-11-25');
  });

  test('resources have a URI, completions a reference, notifications no id', () => {
    assert.deepEqual(build('resources/read', { kind: 'resource', name: 'file:///a' }, '2025-11-25').message.params, {
      uri: 'file:///a',
    });
    const { ref } = build('completion/complete', { kind: 'resource', name: 'file:///{x}' }, '2025-11-25').message
      .params;
    assert.deepEqual(ref, { type: 'ref/resource', uri: 'file:///{x}' });
    assert.equal(build('notifications/initialized').message.id, undefined);
    assert.equal(build('ping').message.id, 1);
  });
});

test('a method that does not use the item is a mistake', () => {
  assert.equal(findMethodMismatch('tools/call', { kind: 'tool', name: 'x' }), undefined);
  assert.equal(
    findMethodMismatch('tools/call', { kind: 'prompt', name: 'x' }),
    '--method tools/call does not use a prompt; with --prompt it is prompts/get or completion/complete',
  );
});
