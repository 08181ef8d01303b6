import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFieldLines } from './field-lines.ts';

test('names keep their spelling, common or not', () => {
  for (const name of [
    'authorization',
    'Authorization',
    'AUTHORIZATION',
    'aUthorization',
    'Mcp-Session-Id',
    'mcp-session-id',
    'MCP-Session-Id',
    'X-Something-Else',
    'a',
    "!#$%&'*+-.^_`|~",
  ])
    assert.deepEqual(readFieldLines(`${name}: b\r\n\r\n`, 0, 10), [name, 'b']);
});

test('names that differ by a character are different names', () => {
  const name = 'content-type';
  for (let at = 0; at < name.length; at++) {
    for (const letter of 'abc-CT') {
      const other = `${name.slice(0, at)}${letter}${name.slice(at + 1)}`;
      assert.deepEqual(readFieldLines(`${other}: b\r\n\r\n`, 0, 10), [other, 'b']);
    }
  }
});
