import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spring } from './spring.ts';

test('no scope in a registration', () => {
  assert.deepEqual(spring.omitRegistrationMembers, ['scope']);
  assert.ok(spring.remarks!.some((remark) => /works once/.test(remark)));
});
