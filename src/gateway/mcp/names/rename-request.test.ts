import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesItem, renameItem } from './rename-request.ts';

test('the one item of a request gets another name, and nothing else changes', () => {
  const cases = [
    ['tools/call', '{"name":"tix_a","arguments":{"name":"tix_a"}}', '{"name":"a","arguments":{"name":"tix_a"}}'],
    ['prompts/get', '{ "name" : "tix_a" }', '{ "name" : "a" }'],
    ['resources/read', '{"uri":"tix+x:a"}', '{"uri":"a"}'],
    [
      'completion/complete',
      '{"ref":{"type":"ref/prompt","name":"tix_a"},"argument":{"name":"n"}}',
      '{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"n"}}',
    ],
    [
      'completion/complete',
      '{"ref":{"type":"ref/resource","uri":"tix+x:{a}"}}',
      '{"ref":{"type":"ref/resource","uri":"a"}}',
    ],
    ['tasks/cancel', '{"taskId":"tix_1"}', '{"taskId":"a"}'],
  ] as const;
  for (const [method, asked, sent] of cases) {
    const wrap = (params: string): string => `{"jsonrpc":"2.0","id":"name","method":"${method}","params":${params}}`;
    assert.equal(renameItem(wrap(asked), method, 'a'), wrap(sent));
  }
});

test('the task of a request', () => {
  const wrap = (task: string): string =>
    `{"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"${task}"}}}}`;
  assert.equal(
    renameItem(wrap('tix_1'), 'tools/call', 'a', (id) => id.slice(4)),
    wrap('1'),
  );
});

test('messages without an item', () => {
  assert.equal(namesItem('tools/list'), false);
  assert.throws(() => renameItem('{"method":"tools/list"}', 'tools/list', 'a'), /does not name its item/);
  assert.throws(() => renameItem('{"method":"tools/call","params":{}}', 'tools/call', 'a'), /without the name/);
});
