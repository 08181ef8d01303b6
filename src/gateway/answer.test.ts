import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { denyRequest } from './answer.ts';
import { createContext } from './policies/mcp-authentication/testing/auth-fixture.ts';

test('many refusals at once are answered one turn of the event loop after the other, none is lost', async () => {
  await nextTurn();
  const requests = Array.from({ length: 100 }, () => createContext());
  const countAnswered = (): number => requests.filter(({ answered }) => answered.status === 401).length;
  for (const { context } of requests)
    denyRequest(context, 'missing_token', { headers: ['www-authenticate', 'Bearer'] });
  const atOnce = countAnswered();
  assert.ok(atOnce > 0 && atOnce < 50, `${atOnce} at once`);
  for (const { context } of requests) assert.equal(context.reason, 'missing_token');
  for (let before = atOnce; before < 100; before = countAnswered()) {
    await nextTurn();
    assert.ok(countAnswered() - before <= atOnce);
  }
  for (const { answered } of requests) assert.match(answered.body, /"error":"missing_token"/);
});

test('one that was answered in the meantime is left alone', async () => {
  await nextTurn();
  const requests = Array.from({ length: 100 }, () => createContext());
  for (const { context } of requests) denyRequest(context, 'no_route');
  const { context, answered } = requests.at(-1)!;
  assert.equal(answered.status, 0);
  Object.defineProperty(context.exchange, 'headSent', { value: true });
  while (requests.some((each) => each.answered.status === 0 && each.context !== context)) await nextTurn();
  await nextTurn();
  assert.equal(answered.status, 0);
});
