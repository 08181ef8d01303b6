import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { readHttp2RequestHead } from './http2-request-head.ts';

const limits = { maxHeaderCount: 10, maxHeaderBytes: 2_000 };
const judge = (...raw: string[]) => readHttp2RequestHead(raw, limits);
const reasonOf = (...raw: string[]) => {
  const head = judge(...raw);
  return head.kind === 'refused' ? head.reason : undefined;
};

test('pseudo-headers become the parts of the exchange, fields stay in order', () => {
  assert.deepEqual(
    judge(':method', 'GET', ':path', '/a?b', ':authority', 'x:1', ':scheme', 'http', 'b', '1', 'a', '2', 'b', '3'),
    {
      kind: 'accepted',
      method: 'GET',
      target: '/a?b',
      authority: 'x:1',
      headers: ['b', '1', 'a', '2', 'b', '3'],
      expectsContinue: false,
      protocol: undefined,
    },
  );
});

test('Host takes the place of a missing :authority and may not contradict it', () => {
  const base = [':method', 'GET', ':path', '/'];
  const head = judge(...base, 'host', 'x.test');
  assert.equal(head.kind === 'accepted' && head.authority, 'x.test');
  assert.equal(reasonOf(...base, ':authority', 'X.test', 'host', 'x.TEST'), undefined);
  assert.equal(reasonOf(...base, ':authority', 'a.test', 'host', 'b.test'), 'missing_host');
  assert.equal(reasonOf(...base, 'host', 'a.test', 'host', 'a.test'), 'missing_host');
  assert.equal(reasonOf(...base, ':authority', 'user@a.test'), 'missing_host');
});

test('targets that are no path are refused', () => {
  assert.equal(reasonOf(':method', 'GET', ':path', ''), 'bad_target');
  assert.equal(reasonOf(':method', 'GET', ':path', 'http://a/'), 'bad_target');
  assert.equal(reasonOf(':method', 'GET', ':path', '*'), 'bad_target');
  assert.equal(reasonOf(':method', 'OPTIONS', ':path', '*'), undefined);
});

test('CONNECT, plain and extended', () => {
  const plain = judge(':method', 'CONNECT', ':authority', 'a:1');
  assert.deepEqual(plain.kind === 'accepted' && [plain.target, plain.protocol], ['', undefined]);
  const extended = judge(
    ':method',
    'CONNECT',
    ':authority',
    'a:1',
    ':path',
    '/ws',
    ':scheme',
    'http',
    ':protocol',
    'WebSocket',
  );
  assert.deepEqual(extended.kind === 'accepted' && [extended.target, extended.protocol], ['/ws', 'websocket']);
});

test('limits', () => {
  const many = Array.from({ length: 11 }, () => ['x', '1']).flat();
  assert.equal(reasonOf(':method', 'GET', ':path', '/', ...many), 'too_many_headers');
  assert.equal(reasonOf(':method', 'GET', ':path', '/', 'x', 'a'.repeat(2_000)), 'headers_too_large');
});

test('a verdict for every input', () => {
  const name = fc.oneof(fc.constantFrom(':method', ':path', ':authority', ':protocol', 'host', 'expect'), fc.string());
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.string())), (pairs) => {
      const head = judge(...pairs.flat());
      if (head.kind === 'accepted')
        assert.ok(head.headers.every((field, index) => index % 2 === 1 || !field.startsWith(':')));
    }),
  );
});
