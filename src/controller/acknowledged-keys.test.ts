import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listAcknowledgedKeys } from './acknowledged-keys.ts';

test('signing keys are acknowledged when every process that counts has taken them', () => {
  const keys = { kids: ['a', 'b'], active: 'a' };
  const settled = { processes: 2, isSettled: () => true, rejections: [] };
  const list = (facts: typeof settled | undefined) => [
    ...listAcknowledgedKeys(new Map([['team/web', keys]]), new Map(facts === undefined ? [] : [['team/web', facts]])),
  ];
  assert.deepEqual(list(settled), [['team/web', keys]]);
  assert.deepEqual(list({ ...settled, isSettled: () => false }), []);
  assert.deepEqual(list({ ...settled, processes: 0 }), []);
  assert.deepEqual(list(undefined), []);
  const rejected = { list: 'secrets' as const, key: 'SigningKeys', reason: 'no' };
  assert.deepEqual(list({ ...settled, rejections: [rejected] as never[] }), []);
  assert.deepEqual(listAcknowledgedKeys(new Map(), new Map([['team/web', settled]])).size, 0);
});
