import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMember, readMessageHead, replaceId, replaceProgressToken } from './message-head.ts';

test('answers, requests and notifications', () => {
  const cases = [
    ['{"jsonrpc":"2.0","id":1,"result":{}}', { kind: 'response', id: '1', method: undefined, isError: false }],
    [
      ' { "result" : {"id":2} , "id" : "a\\u0062" } \n',
      { kind: 'response', id: '"ab"', method: undefined, isError: false },
    ],
    ['{"id":null,"error":{}}', { kind: 'response', id: undefined, method: undefined, isError: true }],
    ['{"error":{}}', { kind: 'response', id: undefined, method: undefined, isError: true }],
    ['{"id":1,"method":"ping"}', { kind: 'request', id: '1', method: 'ping', isError: false }],
    [
      '{"method":"notifications\\/progress","params":{"id":1}}',
      { kind: 'notification', id: undefined, method: 'notifications/progress', isError: false },
    ],
  ] as const;
  for (const [text, head] of cases) assert.deepEqual(readMessageHead(text), head, text);
});

test('what could be read in two ways is no message', () => {
  const texts = [
    '',
    '[]',
    '1',
    '{}',
    '{"id":1}',
    '{"id":1,"result":{}',
    '{"id":1,"result":{}} {}',
    '{"id":1,"id":2,"result":{}}',
    '{"ID":1,"result":{}}',
    '{"id":1,"Result":{}}',
    '{"id":1,"result":{},"error":{}}',
    '{"id":1,"method":"a","result":{}}',
    '{"id":1.5,"result":{}}',
    '{"id":{},"result":{}}',
    '{"id":null,"result":{}}',
    '{"id":null,"method":"a"}',
    '{"result":{}}',
    '{"id":1,"method":2}',
  ];
  for (const text of texts) assert.equal(readMessageHead(text), undefined, text);
});

test('another id, another progress token', () => {
  assert.equal(replaceId('{"id":1,"result":{"id":1}}', '"x"'), '{"id":"x","result":{"id":1}}');
  assert.equal(
    replaceProgressToken('{"params":{"name":"a","_meta":{"progressToken":1,"x":2}}}', '9'),
    '{"params":{"name":"a","_meta":{"progressToken":9,"x":2}}}',
  );
  assert.equal(
    replaceProgressToken('{"method":"notifications/progress","params":{"progressToken":"a","progress":1}}', '"b"'),
    '{"method":"notifications/progress","params":{"progressToken":"b","progress":1}}',
  );
  assert.equal(readMember('{"params":{"_meta":{"progressToken":"a"}}}', ['params', '_meta', 'progressToken']), '"a"');
  assert.equal(readMember('{"params":[]}', ['params', 'x']), undefined);
});
