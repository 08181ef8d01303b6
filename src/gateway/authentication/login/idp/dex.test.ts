import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dex } from './dex.ts';

test('every login needs openid, and there is no registration', () => {
  assert.deepEqual(dex.requiredLoginScopes, ['openid']);
  assert.equal(dex.hasNoRegistration, true);
  assert.ok(dex.remarks!.some((remark) => /requiredScopes/.test(remark)));
});
