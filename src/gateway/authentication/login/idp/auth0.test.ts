import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auth0 } from './auth0.ts';

test('the resource goes in audience, which clients do not send', () => {
  assert.equal(auth0.resourceParameter, 'audience');
  assert.match(auth0.needsBroker!, /audience/);
  assert.equal(auth0.hasNoRegistration, undefined);
});
