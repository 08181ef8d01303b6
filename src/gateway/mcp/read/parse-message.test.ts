import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { foldKeys } from './known-keys.ts';
import { parseBody } from './parse-message.ts';

const noKeys = foldKeys([]);

function parse(text: string, argumentKeys = noKeys): ReturnType<typeof parseBody> {
  return parseBody(Buffer.from(text), argumentKeys);
}

/** The message, or "-32600 1 the problem". */
function read(text: string, argumentKeys = noKeys): unknown {
  const parsed = parse(text, argumentKeys);
  if (!parsed.ok) return `${parsed.code} ${JSON.stringify(parsed.id) ?? 'no id'}: ${parsed.problem}`;
  return parsed.isBatch ? parsed.messages : parsed.messages[0];
}

describe('messages', () => {
  for (const [text, message] of [
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', { kind: 'request', id: 1, method: 'ping', params: {} }],
    [
      '{"id":"a","params":{"name":"x"},"method":"tools/call","jsonrpc":"2.0"}',
      { kind: 'request', id: 'a', method: 'tools/call', params: { name: 'x' } },
    ],
    ['{"jsonrpc":"2.0","id":0,"method":""}', { kind: 'request', id: 0, method: '', params: {} }],
    ['{"jsonrpc":"2.0","id":-7,"method":"m"}', { kind: 'request', id: -7, method: 'm', params: {} }],
    ['{"jsonrpc":"2.0","id":1.0,"method":"m"}', { kind: 'request', id: 1, method: 'm', params: {} }],
    ['{"jsonrpc":"2.0","id":"","method":"m"}', { kind: 'request', id: '', method: 'm', params: {} }],
    ['{"jsonrpc":"2.0","method":"n","params":{}}', { kind: 'notification', method: 'n', params: {} }],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', { kind: 'response' }],
    ['{"jsonrpc":"2.0","id":1,"result":null}', { kind: 'response' }],
    ['{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}', { kind: 'response' }],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}', { kind: 'response' }],
    ['{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}', { kind: 'response' }],
    [
      '{"jsonrpc":"2.0","id":1,"method":"\\u0074ools/call","extra":1}',
      { kind: 'request', id: 1, method: 'tools/call', params: {} },
    ],
  ] as const)
    test(text, () => assert.deepEqual(read(text), message));
});

describe('what is no message', () => {
  for (const [text, problem] of [
    ['', '-32700 no id: is not JSON'],
    ['{', '-32700 no id: is not JSON'],
    ['hello', '-32700 no id: is not JSON'],
    ['a=b&method=tools/call', '-32700 no id: is not JSON'],
    ['null', '-32600 no id: is not a JSON-RPC message'],
    ['1', '-32600 no id: is not a JSON-RPC message'],
    ['"tools/call"', '-32600 no id: is not a JSON-RPC message'],
    ['{}', '-32600 no id: is not JSON-RPC 2.0'],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', '-32600 1: is not JSON-RPC 2.0'],
    ['{"jsonrpc":2.0,"id":1,"method":"ping"}', '-32600 1: is not JSON-RPC 2.0'],
    ['{"jsonrpc":["2.0"],"id":1,"method":"ping"}', '-32600 1: is not JSON-RPC 2.0'],
    ['{"id":1,"method":"ping"}', '-32600 1: is not JSON-RPC 2.0'],
    ['{"jsonrpc":"2.0","id":1}', '-32600 no id: has no method'],
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', '-32600 no id: has no method'],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', '-32600 no id: has an id that is neither a string nor an integer'],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', '-32600 no id: has an id that is neither a string nor an integer'],
    ['{"jsonrpc":"2.0","id":1e400,"method":"ping"}', '-32600 no id: has an id that is neither a string nor an integer'],
    [
      '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}',
      '-32600 no id: has an id that is neither a string nor an integer',
    ],
    ['{"jsonrpc":"2.0","id":[1],"method":"ping"}', '-32600 no id: has an id that is neither a string nor an integer'],
    ['{"jsonrpc":"2.0","id":true,"method":"ping"}', '-32600 no id: has an id that is neither a string nor an integer'],
    ['{"jsonrpc":"2.0","id":null,"result":{}}', '-32600 no id: has an id that is neither a string nor an integer'],
    ['{"jsonrpc":"2.0","result":{}}', '-32600 no id: has an id that is neither a string nor an integer'],
    ['{"jsonrpc":"2.0","id":1,"method":7}', '-32600 1: has a method that is not a string'],
    ['{"jsonrpc":"2.0","id":1,"method":null}', '-32600 1: has a method that is not a string'],
    ['{"jsonrpc":"2.0","id":1,"method":["tools/call"]}', '-32600 1: has a method that is not a string'],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', '-32600 1: has params that are not an object'],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', '-32600 1: has params that are not an object'],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', '-32600 1: has params that are not an object'],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', '-32600 1: is a request and an answer at once'],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}', '-32600 1: is a request and an answer at once'],
    ['{"jsonrpc":"2.0","id":1,"params":{},"result":{}}', '-32600 no id: is a request and an answer at once'],
    ['{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}', '-32600 no id: has the same key twice'],
    ['{"jsonrpc":"2.0","id":1,"id":1,"method":"a"}', '-32600 no id: has the same key twice'],
    [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"a"}}',
      '-32600 no id: has the same key twice',
    ],
    [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","__proto__":{"name":"b"}}}',
      '-32600 no id: has a key that is not allowed',
    ],
  ] as const)
    test(text === '' ? 'nothing' : text, () => assert.equal(read(text), problem));
});

describe('keys that could be taken for others', () => {
  const wrap = (member: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},${member}}`;
  const params = (member: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",${member}}}`;
  for (const [text, meant] of [
    ['{"jsonrpc":"2.0","id":1,"Method":"tools/call"}', 'method'],
    ['{"JSONRPC":"2.0","id":1,"method":"tools/call"}', 'jsonrpc'],
    [wrap('"Method":"ping"'), 'method'],
    [wrap('"METHOD":"ping"'), 'method'],
    [wrap('"ıd":2'), 'id'],
    [wrap('"parAms":{}'), 'params'],
    [wrap('"Result":{}'), 'result'],
    [wrap('"\\u004dethod":"ping"'), 'method'],
    [params('"Name":"b"'), 'name'],
    [params('"NAME":"b"'), 'name'],
    [params('"Uri":"b"'), 'uri'],
    [params('"Arguments":{}'), 'arguments'],
    [params('"argumentſ":{}'), 'arguments'],
    [params('"REF":{}'), 'ref'],
    [params('"_Meta":{}'), '_meta'],
    [params('"ref":{"type":"ref/prompt","name":"a","Name":"b"}'), 'name'],
    [params('"ref":{"Type":"ref/prompt"}'), 'type'],
    [params('"_meta":{"io.modelcontextprotocol/ProtocolVersion":"x"}'), 'io.modelcontextprotocol/protocolVersion'],
    [params('"notifications":{"ResourceSubscriptions":[]}'), 'resourceSubscriptions'],
  ] as const)
    test(text, () => assert.match(String(read(text)), new RegExp(`has a key that could be taken for ${meant}$`)));

  test('are fine where they mean nothing', () => {
    const text = params('"arguments":{"Name":"x","Method":"y","ID":1},"_meta":{"Name":1,"progressToken":2}');
    assert.equal((read(text) as { kind: string }).kind, 'request');
  });

  test('in arguments: those that rules read, at any depth', () => {
    const keys = foldKeys(['path', 'filter']);
    for (const given of ['{"Path":"/etc"}', '{"path":"/a","PATH":"/b"}', '{"a":[{"b":{"Filter":1}}]}'])
      assert.match(String(read(params(`"arguments":${given}`), keys)), /^-32600 1: has a key that could be taken for/);
    for (const given of ['{"path":"/etc"}', '{"other":{"Other":1}}', '{}', '[]', 'null', '1'])
      assert.equal((read(params(`"arguments":${given}`), keys) as { kind: string }).kind, 'request');
  });
});

describe('batches', () => {
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

  test('are read message by message, with their places', () => {
    const text = `[ ${ping} ,\n{"jsonrpc":"2.0","method":"n"}]`;
    const parsed = parse(text);
    assert.ok(parsed.ok && parsed.isBatch);
    assert.deepEqual(
      parsed.messages.map(({ kind }) => kind),
      ['request', 'notification'],
    );
    assert.deepEqual(
      parsed.spans.map(({ start, end }) => text.slice(start, end).trim()),
      [ping, '{"jsonrpc":"2.0","method":"n"}'],
    );
  });

  for (const [text, problem] of [
    ['[]', '-32600 no id: is an empty batch'],
    ['[[]]', '-32600 no id: is not a JSON-RPC message'],
    [`[[${ping}]]`, '-32600 no id: is not a JSON-RPC message'],
    [`[${ping},1]`, '-32600 no id: is not a JSON-RPC message'],
    [`[${ping},{"jsonrpc":"1","id":2,"method":"x"}]`, '-32600 no id: is not JSON-RPC 2.0'],
    [`[${Array.from({ length: 101 }, () => ping).join(',')}]`, '-32600 no id: is a batch of more than 100 messages'],
  ] as const)
    test(text.slice(0, 60), () => assert.equal(read(text), problem));

  test('of a hundred are read', () => {
    const parsed = parse(`[${Array.from({ length: 100 }, () => ping).join(',')}]`);
    assert.ok(parsed.ok);
    assert.equal(parsed.messages.length, 100);
  });
});
