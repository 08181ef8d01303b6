import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authentik } from './authentik.ts';

test('no registration, and the client id is the audience', () => {
  assert.equal(authentik.hasNoRegistration, true);
  assert.ok(authentik.remarks!.some((remark) => /client id/.test(remark)));
});
