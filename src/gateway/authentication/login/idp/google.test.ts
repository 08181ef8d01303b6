import assert from 'node:assert/strict';
import { test } from 'node:test';
import { google } from './google.ts';

test('no registration, and opaque tokens that nobody can validate', () => {
  assert.equal(google.hasNoRegistration, true);
  assert.ok(google.remarks!.some((remark) => /opaque/.test(remark)));
});
