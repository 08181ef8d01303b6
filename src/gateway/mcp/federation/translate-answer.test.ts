import assert from 'node:assert/strict';
import { test } from 'node:test';
import { antiquateAnswer, modernizeAnswer, modernizeError } from './translate-answer.ts';

const result = (members: string): string => `{"jsonrpc":"2.0","id":1,"result":{${members}}}`;
const error = (code: number, rest = ''): string =>
  `{"jsonrpc":"2.0","id":1,"error":{"code":${code},"message":"m"${rest}}}`;

test('results for clients of 2026-07-28 say what they are and how long they last', () => {
  assert.equal(modernizeAnswer(result('"content":[ ]'), 'tools/call'), result('"resultType":"complete","content":[ ]'));
  assert.equal(
    modernizeAnswer(result('"tools":[]'), 'tools/list'),
    result('"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]'),
  );
  const said = result('"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[]');
  assert.equal(modernizeAnswer(said, 'tools/list'), said);
});

test('errors for clients of 2026-07-28 have codes that they know', () => {
  const data = ',"data":{"uri":"a:b"}';
  assert.equal(
    modernizeAnswer(error(-32_002, data), 'resources/read'),
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m","data":{"uri":"a:b"}}}',
  );
  assert.match(modernizeAnswer(error(-32_042), 'tools/call'), /"code":-32603/);
  for (const code of [-32_601, -32_602, 17]) {
    assert.equal(modernizeAnswer(error(code), 'tools/call'), error(code));
    assert.equal(modernizeError(error(code)), error(code));
  }
  assert.match(modernizeError(error(-32_042, data)), /"code":-32603,"message":"m","data":{"uri":"a:b"}/);
  assert.match(modernizeError(error(-32_002).replace('-32002', '-3.2002e4')), /"code":-32602/);
});

test('results for older clients are without what they do not know', () => {
  assert.equal(
    antiquateAnswer(result('"tools":[],"resultType":"complete","ttlMs":5,"cacheScope":"public"'), 'tools/list'),
    result('"tools":[]'),
  );
  assert.equal(antiquateAnswer(result('"a":{"ttlMs":1}'), 'tools/call'), result('"a":{"ttlMs":1}'));
});

test('a question in a result becomes an error for a client that could not answer it', () => {
  const asked = JSON.parse(
    antiquateAnswer(result('"resultType":"input_required","inputRequests":{}'), 'tools/call'),
  ) as { id: number; result?: object; error: { code: number } };
  assert.equal(asked.id, 1);
  assert.equal(asked.result, undefined);
  assert.equal(asked.error.code, -32_603);
});

test('an unknown resource has the code of its era', () => {
  const data = ',"data":{"uri":"a:b"}';
  assert.match(antiquateAnswer(error(-32_602, data), 'resources/read'), /"code":-32002/);
  assert.equal(antiquateAnswer(error(-32_602), 'resources/read'), error(-32_602));
  assert.equal(
    antiquateAnswer(error(-32_602, ',"data":{"uri":"a","x":1}'), 'resources/read'),
    error(-32_602, ',"data":{"uri":"a","x":1}'),
  );
  assert.equal(antiquateAnswer(error(-32_602, data), 'tools/call'), error(-32_602, data));
});
