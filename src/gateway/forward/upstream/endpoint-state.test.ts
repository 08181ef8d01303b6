import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EndpointState, mergeEndpointStates } from './endpoint-state.ts';

test('what several processes see is one state per endpoint: ejected by any, the newest failure, all requests', () => {
  const state: EndpointState = { backend: 'a', endpoint: 'x:1', isEjected: false, outstanding: 1, lastFailure: null };
  const failed = { ...state, isEjected: true, lastFailure: { atMs: 7, message: 'new' } };
  const older = { ...state, outstanding: 2, lastFailure: { atMs: 3, message: 'old' } };
  const other = { ...state, backend: 'b' };
  assert.deepEqual(mergeEndpointStates([[state, other], [failed], [older]]), [
    { ...state, isEjected: true, outstanding: 4, lastFailure: { atMs: 7, message: 'new' } },
    other,
  ]);
  assert.deepEqual(mergeEndpointStates([]), []);
});
