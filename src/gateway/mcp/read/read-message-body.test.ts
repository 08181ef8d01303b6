import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createContext, type FakeRequest } from '../../authentication/testing/auth-fixture.ts';
import { findUnreadableForm, maxMessageBytes, readMessageBody } from './read-message-body.ts';

async function read(request: FakeRequest, maxBytes = 10, timeoutMs = 60_000): Promise<unknown> {
  const body = await readMessageBody(
    createContext({ method: 'POST', ...request }).context.exchange,
    maxBytes,
    timeoutMs,
  );
  return body.ok ? Buffer.from(body.bytes).toString() : body.reason;
}

test('a body within its limit is read whole', async () => {
  assert.equal(maxMessageBytes, 4_194_304);
  assert.equal(await read({}), '');
  assert.equal(await read({ body: [] }), '');
  assert.equal(await read({ body: ['hel', 'lo'] }), 'hello');
  assert.equal(await read({ body: ['0123456789'] }), '0123456789');
  const large = 'x'.repeat(5_000);
  assert.equal(await read({ body: [large, 'y', large, '', 'z'] }, 20_000), `${large}y${large}z`);
  assert.equal(await read({ body: Array.from(large) }, 5_000), large);
});

test('a larger one is refused, by its announced length before it is read', async () => {
  assert.equal(await read({ body: ['01234', '567890'] }), 'body_too_large');
  assert.equal(await read({ body: ['a'] }, 0), 'body_too_large');
  let wasRead = false;
  const { exchange } = createContext({ method: 'POST', body: ['x'], headers: ['Content-Length', '11'] }).context;
  const body = await readMessageBody(
    { ...exchange, readBody: (sink) => ((wasRead = true), exchange.readBody(sink)) },
    10,
  );
  assert.equal(body.ok ? '' : body.reason, 'body_too_large');
  assert.equal(wasRead, false);
});

test('one that does not end in time, one that breaks off, one whose client leaves', async () => {
  assert.equal(await read({ body: ['a'], bodyEnd: 'never' }, 10, 1), 'body_timeout');
  assert.equal(await read({ body: ['a'], bodyEnd: 'broken' }), 'client_disconnected');
  const { exchange } = createContext({ method: 'POST', body: ['a'], bodyEnd: 'never' }).context;
  const body = await readMessageBody({ ...exchange, onClose: (callback) => callback(false, 0, 0) });
  assert.equal(body.ok ? '' : body.reason, 'client_disconnected');
});

describe('the form of the body', () => {
  for (const headers of [
    ['Content-Type', 'application/json'],
    ['content-type', 'Application/JSON; charset=UTF-8'],
    ['content-type', 'application/json;charset="utf-8"'],
    ['content-type', 'application/json; charset=utf8'],
    ['content-type', 'application/json; profile=x'],
    ['content-type', 'application/json', 'content-encoding', 'identity'],
  ])
    test(`${headers.join(' ')} is fine`, () => assert.equal(findUnreadableForm(headers), undefined));

  for (const [headers, problem] of [
    [[], 'it has no content type'],
    [['content-type', ''], 'its content type is not application/json'],
    [['content-type', 'text/plain'], 'its content type is not application/json'],
    [['content-type', 'application/x-www-form-urlencoded'], 'its content type is not application/json'],
    [['content-type', 'application/jsonp'], 'its content type is not application/json'],
    [['content-type', 'application/json-patch+json'], 'its content type is not application/json'],
    [['content-type', 'text/plain, application/json'], 'its content type is not application/json'],
    [['content-type', 'multipart/form-data; x=application/json'], 'its content type is not application/json'],
    [['content-type', 'application/json; charset=utf-16'], 'its charset is not UTF-8'],
    [['content-type', 'application/json; charset=utf-7'], 'its charset is not UTF-8'],
    [['content-type', 'application/json; charset=utf-8; charset=utf-16le'], 'its charset is not UTF-8'],
    [['content-type', 'application/json', 'Content-Type', 'application/json'], 'it has several content types'],
    [['content-type', 'application/json', 'Content_Type', 'text/plain'], 'it has several content types'],
    [['content-type', 'application/json', 'content-encoding', 'gzip'], 'it has a content encoding'],
    [['content-type', 'application/json', 'content-encoding', 'identity, br'], 'it has a content encoding'],
    [['content-type', 'application/json', 'content-encoding', ''], 'it has a content encoding'],
  ] as const)
    test(`${headers.join(' ')}: ${problem}`, () => assert.equal(findUnreadableForm(headers), problem));
});
