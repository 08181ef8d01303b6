import assert from 'node:assert/strict';
import { test } from 'node:test';
import { okta } from './okta.ts';

test('registration takes an API token in a scheme of its own', () => {
  assert.equal(okta.initialAccessTokenScheme, 'SSWS');
  assert.equal(okta.resourceParameter, 'audience');
  assert.match(okta.needsBroker!, /audience/);
});
