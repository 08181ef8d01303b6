import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findHeader } from '../../http/headers.ts';
import { decodeFieldValue } from '../read/header-agreement.ts';
import {
  addEnvelope,
  reduceCapabilities,
  removeEnvelope,
  writeModernHeaders,
  writePostHeaders,
} from './modern-request.ts';
import { splitHeaders } from './speaker.ts';

const client = { clientInfo: '{"name":"c"}', capabilities: '{"x":{}}' };
const envelope =
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/clientCapabilities":{"x":{}}';

test('the envelope comes into `_meta`, and goes again', () => {
  assert.equal(addEnvelope('{"id":1}', client), `{"params":{"_meta":{${envelope}}},"id":1}`);
  const text = '{"id":1,"params":{"name":"n","_meta":{"progressToken":"p"}}}';
  const added = addEnvelope(text, client);
  assert.equal(added, `{"id":1,"params":{"name":"n","_meta":{${envelope},"progressToken":"p"}}}`);
  assert.equal(removeEnvelope(added), text);
  assert.equal(removeEnvelope('{"id":1}'), '{"id":1}');
  assert.doesNotMatch(addEnvelope('{}', { ...client, clientInfo: undefined }), /clientInfo/);
});

test('what lets a server ask is not told to one of the other era', () => {
  assert.equal(
    reduceCapabilities('{"sampling":{},"roots":{"listChanged":true},"elicitation":{},"tasks":{},"extensions":{"a":1}}'),
    '{"extensions":{"a":1}}',
  );
});

test('headers repeat the message, encoded where they must be', () => {
  const mcp = ['Mcp_Session_Id', 'x', 'MCP-Name', 'no', 'MCP-Param-A', 'b'];
  const others = ['Accept', '*/*', 'X-A', 'b', 'Content_Type', 'text/plain', 'Last-Event-ID', 'x', 'If-Match', 'x'];
  const { kept, parameters } = splitHeaders([...others, ...mcp]);
  assert.deepEqual(kept, ['X-A', 'b']);
  assert.deepEqual(parameters, ['MCP-Param-A', 'b']);
  const sender = { headers: kept, host: '' };
  const write = (method: string, params: Record<string, unknown>): string[] =>
    writeModernHeaders(sender, { kind: 'request', id: 1, method, params }, ['mcp-param-a', 'b']);
  const plain = write('tools/call', { name: 'n' });
  assert.equal(findHeader(plain, 'mcp-method'), 'tools/call');
  assert.equal(findHeader(plain, 'mcp-name'), 'n');
  assert.equal(findHeader(plain, 'mcp-param-a'), 'b');
  assert.equal(findHeader(plain, 'x-a'), 'b');
  assert.equal(findHeader(plain, 'mcp-protocol-version'), '2026-07-28');
  assert.equal(findHeader(plain, 'accept'), 'application/json, text/event-stream');
  for (const name of ['ä', ' a', 'a ', '', '\n', '=?base64?YQ==?=', 'a b']) {
    const written = findHeader(write('prompts/get', { name }), 'mcp-name')!;
    assert.match(written, /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/);
    assert.equal(decodeFieldValue(written), name);
  }
  assert.equal(findHeader(write('resources/read', { uri: 'a:b' }), 'mcp-name'), 'a:b');
  assert.equal(findHeader(write('tasks/get', { taskId: 't' }), 'mcp-name'), 't');
  assert.equal(findHeader(write('tools/list', { name: 'n' }), 'mcp-name'), undefined);
  assert.equal(findHeader(writePostHeaders(sender), 'mcp-method'), undefined);
});
