import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { waitFor } from '../../../test/kit/wait-for.ts';
import { denyRequest } from './answer.ts';
import { createContext } from '../authentication/testing/auth-fixture.ts';

test('many refusals at once are answered one turn of the event loop after the other, none is lost', async () => {
  await nextTurn();
  const requests = Array.from({ length: 100 }, () => createContext());
  const countAnswered = (): number => requests.filter(({ answered }) => answered.status === 401).length;
  for (const { context } of requests)
    denyRequest(context, 'missing_token', { headers: ['www-authenticate', 'Bearer'] });
  const atOnce = countAnswered();
  assert.ok(atOnce > 0 && atOnce < 50, `${atOnce} at once`);
  for (const { context } of requests) assert.equal(context.reason, 'missing_token');
  let before = atOnce;
  const count = (): boolean => {
    const now = countAnswered();
    assert.ok(now - before <= atOnce);
    before = now;
    return now === 100;
  };
  await waitFor('all are answered', count, { intervalMs: 0 });
  for (const { answered } of requests) assert.match(answered.body, /"error":"missing_token"/);
});

test('one that was answered in the meantime is left alone', async () => {
  await nextTurn();
  const requests = Array.from({ length: 100 }, () => createContext());
  for (const { context } of requests) denyRequest(context, 'no_route');
  const { context, answered } = requests.at(-1)!;
  assert.equal(answered.status, 0);
  Object.defineProperty(context.exchange, 'headSent', { value: true });
  const others = requests.slice(0, -1);
  await waitFor(() => others.every((each) => each.answered.status !== 0), { intervalMs: 0 });
  await nextTurn();
  assert.equal(answered.status, 0);
});
