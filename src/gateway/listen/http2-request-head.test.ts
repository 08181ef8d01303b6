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

test('the crumbs of Cookie become one field', () => {
  const head = judge(':method', 'GET', ':path', '/', 'cookie', 'a=1', 'x', '1', 'cookie', 'b=2', 'cookie', 'c=3');
  assert.deepEqual(head.kind === 'accepted' && head.headers, ['cookie', 'a=1; b=2; c=3', 'x', '1']);
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
  const base = [':authority', 'a:1', ':path', '/ws', ':scheme', 'http'];
  const extended = judge(':method', 'CONNECT', ...base, ':protocol', 'WebSocket');
  // Routed as the GET that it would be in HTTP/1, and that the upstream gets.
  assert.deepEqual(extended.kind === 'accepted' && [extended.method, extended.target, extended.protocol], [
    'GET',
    '/ws',
    'websocket',
  ]);
  for (const protocol of ['h2c', 'HTTP/2', 'a b', '', 'a, b'])
    assert.equal(reasonOf(':method', 'CONNECT', ...base, ':protocol', protocol), 'bad_request');
  assert.equal(reasonOf(':method', 'POST', ...base, ':protocol', 'websocket'), 'bad_request');
});

test('a length that cannot be counted exactly is refused', () => {
  const base = [':method', 'POST', ':path', '/', 'content-length'];
  assert.equal(reasonOf(...base, '9007199254740991'), undefined);
  for (const length of ['9007199254740992', '9223372036854775807', '+1', ''])
    assert.equal(reasonOf(...base, length), 'bad_request');
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
