import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAnswerStatus, readStatus } from './api-status.ts';

test('a Status is read', () => {
  const body = JSON.stringify({ kind: 'Status', code: 409, reason: 'AlreadyExists', message: 'there is one' });
  assert.deepEqual(readAnswerStatus(409, body, undefined), {
    code: 409,
    reason: 'AlreadyExists',
    message: 'there is one',
    retryAfterSeconds: undefined,
  });
});

test('what is no Status gets the reason of its code, and the start of its first line', () => {
  assert.deepEqual(readAnswerStatus(404, '404 page not found\n', undefined), {
    code: 404,
    reason: 'NotFound',
    message: 'the API server answered 404: 404 page not found',
    retryAfterSeconds: undefined,
  });
  assert.equal(readAnswerStatus(418, '', undefined).reason, 'Unknown');
  assert.equal(readAnswerStatus(502, '[1]', undefined).message, 'the API server answered 502: [1]');
  assert.ok(readAnswerStatus(500, 'x'.repeat(100_000), undefined).message.length < 300);
  assert.ok(readStatus({ message: 'x'.repeat(100_000) }).message.length <= 1_000);
});

test('when to come back: from the header, else from the details', () => {
  const body = JSON.stringify({ kind: 'Status', code: 429, details: { retryAfterSeconds: 5 } });
  assert.equal(readAnswerStatus(429, body, '9').retryAfterSeconds, 9);
  assert.equal(readAnswerStatus(429, body, undefined).retryAfterSeconds, 5);
  assert.equal(readAnswerStatus(429, '', '2').retryAfterSeconds, 2);
  for (const odd of ['-1', 'soon', '1e9', '9999999'])
    assert.equal(readAnswerStatus(429, '', odd).retryAfterSeconds, undefined);
  assert.equal(readStatus({ details: { retryAfterSeconds: 0 } }).retryAfterSeconds, undefined);
});

test('a namespace that is being deleted is known by its cause', () => {
  const read = (causes: unknown): boolean | undefined => {
    const body = JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'no', details: { causes } });
    return readAnswerStatus(403, body, undefined).isNamespaceTerminating;
  };
  assert.equal(read([{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }]), true);
  for (const other of [undefined, [], [{ reason: 'FieldValueInvalid' }], [null], 'NamespaceTerminating'])
    assert.equal(read(other), undefined);
});

test('anything at all can be read', () => {
  for (const value of [undefined, null, 5, 'x', [], { code: 'x', reason: 5, details: [] }])
    assert.equal(readStatus(value, 503).code, 503);
});
