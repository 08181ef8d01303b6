import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ListedTools } from './listed-tools.ts';
import { readRepeatedArguments, writeParameterHeaders } from './parameter-headers.ts';

const page = (names: readonly string[], nextCursor?: string): string =>
  JSON.stringify({ id: 1, result: { tools: names.map((name) => ({ name, inputSchema: {} })), nextCursor } });

test('tools are counted over all pages, also of lists that are read at the same time', () => {
  const tools = new ListedTools();
  tools.note(undefined, page(['a', 'b'], 'one'));
  assert.equal(tools.count, undefined);
  tools.note(undefined, page(['a', 'b'], 'one'));
  tools.note('one', page(['c'], 'two'));
  tools.note('two', page(['d']));
  assert.equal(tools.count, 4);
  // A page out of nowhere counts for nothing.
  tools.note('nine', page(['x']));
  tools.note(undefined, '{"id":1,"error":{"code":1,"message":""}}');
  tools.note(undefined, '{"id":1,"result":{"tools":"none"}}');
  assert.equal(tools.count, 4);
  assert.deepEqual(tools.find('d'), []);
  tools.forget();
  assert.equal(tools.find('d'), undefined);
  assert.equal(tools.count, 4);
});

test('arguments that are to be repeated are found where they can be reached, and written as fields', () => {
  const repeated = readRepeatedArguments({
    type: 'object',
    'x-mcp-header': 'Root',
    properties: {
      text: { type: 'string', 'x-mcp-header': 'Text' },
      in: { type: 'object', properties: { flag: { type: 'boolean', 'x-mcp-header': 'Flag' } } },
      count: { type: 'integer', 'x-mcp-header': 'Count' },
      bad: { type: 'string', 'x-mcp-header': 'no token' },
      plain: { type: 'string' },
    },
    oneOf: [{ properties: { hidden: { 'x-mcp-header': 'Hidden' } } }],
  });
  const write = (args: unknown): string[] => writeParameterHeaders(repeated, args);
  assert.deepEqual(write({ text: 'a', in: { flag: false }, count: 3, bad: 'x', plain: 'y' }), [
    'mcp-param-Text',
    'a',
    'mcp-param-Flag',
    'false',
    'mcp-param-Count',
    '3',
  ]);
  assert.deepEqual(write({ text: 'é', count: 2 ** 60 }), ['mcp-param-Text', '=?base64?w6k=?=']);
  assert.deepEqual(write({ text: null, in: [], count: {} }), []);
  assert.deepEqual(write(undefined), []);
  assert.deepEqual(readRepeatedArguments('x'), []);
});
