import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRequestBody } from './read-request-body.ts';
import { createContext } from '../../testing/auth-fixture.ts';

const read = (request: Parameters<typeof createContext>[0], maxBytes = 10, timeoutMs = 60_000): Promise<unknown> =>
  readRequestBody(createContext({ method: 'POST', ...request }).context.exchange, maxBytes, timeoutMs);

test('a body within its limit is read whole, also when a character is cut in two', async () => {
  assert.deepEqual(await read({}), { ok: true, text: '' });
  assert.deepEqual(await read({ body: ['hel', 'lo'] }), { ok: true, text: 'hello' });
  assert.deepEqual(await read({ body: ['0123456789'] }), { ok: true, text: '0123456789' });
});

test('a larger one is refused, by its announced length before it is read', async () => {
  assert.deepEqual(await read({ body: ['01234', '567890'] }), { ok: false, problem: 'body_too_large' });
  assert.deepEqual(await read({ body: [], bodyEnd: 'never', headers: ['Content-Length', '11'] }), {
    ok: false,
    problem: 'body_too_large',
  });
});

test('one that does not end in time, and one that breaks off', async () => {
  assert.deepEqual(await read({ body: ['a'], bodyEnd: 'never' }, 10, 1), { ok: false, problem: 'body_timeout' });
  assert.deepEqual(await read({ body: ['a'], bodyEnd: 'broken' }), { ok: false, problem: 'gone' });
});
