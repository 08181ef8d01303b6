import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { readAnswer } from './registration-attempt.ts';

const judge = (status: number, body: unknown): string => {
  const outcome = readAnswer(status, typeof body === 'string' ? body : JSON.stringify(body));
  return outcome.ok
    ? `ok ${outcome.answer.client_id}`
    : `${outcome.kind} ${outcome.error}${outcome.mayBeScope ? ' scope?' : ''}`;
};

test('200 and 201 with a client_id are a success, without one they are garbage', () => {
  for (const status of [200, 201]) {
    assert.equal(judge(status, { client_id: 'x' }), 'ok x');
    for (const body of [
      {},
      { client_id: '' },
      { client_id: 7 },
      '[]',
      '<html>',
      '',
      '{"client_id": "x", "__proto__": {}}',
    ])
      assert.equal(judge(status, body), 'unavailable ', JSON.stringify(body));
  }
});

test('400 with a code of RFC 7591 is for the client', () => {
  for (const error of [
    'invalid_redirect_uri',
    'invalid_client_metadata',
    'invalid_software_statement',
    'unapproved_software_statement',
  ])
    assert.equal(judge(400, { error }), `refused ${error}`);
});

test('any other 4xx is for the operator', () => {
  for (const [status, body] of [
    [400, { error: 'access_denied' }],
    [400, ''],
    [400, '<html>'],
    [401, {}],
    [401, { error: 'invalid_client_metadata' }],
    [404, ''],
    [429, { error: 'slow_down' }],
  ] as const)
    assert.match(judge(status, body), /^denied/, `${status} ${JSON.stringify(body)}`);
});

test('5xx, and what is no answer to a registration, is for later', () => {
  for (const [status, body] of [
    [500, '<html>'],
    [503, { error: 'invalid_client_metadata' }],
    [204, ''],
    [202, { client_id: 'x' }],
    [599, ''],
  ] as const)
    assert.match(judge(status, body), /^unavailable/, String(status));
});

test('the scope may be the reason', () => {
  assert.equal(judge(400, { error: 'invalid_scope' }), 'denied invalid_scope scope?');
  assert.equal(
    judge(403, { error: 'insufficient_scope', error_description: 'Policy rejected' }),
    'denied insufficient_scope scope?',
  );
  assert.equal(judge(403, ''), 'denied  scope?');
  assert.equal(
    judge(400, { error: 'invalid_client_metadata', error_description: 'scope x is not allowed' }),
    'refused invalid_client_metadata scope?',
  );
  assert.equal(
    judge(400, { error: 'invalid_client_metadata', error_description: 'redirect' }),
    'refused invalid_client_metadata',
  );
  assert.equal(judge(401, { error: 'invalid_scope' }), 'denied invalid_scope scope?');
});

test('words of the IdP are cleaned before they go anywhere', () => {
  const outcome = readAnswer(
    400,
    JSON.stringify({ error: 'invalid_client_metadata', error_description: `a\r\nb\u202e${'c'.repeat(1_000)}` }),
  );
  assert.ok(!outcome.ok);
  assert.match(outcome.description, /^a b c+$/);
  assert.ok(outcome.description.length <= 300);
});

test('property: no answer makes it throw', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 200, max: 599 }),
      fc.oneof(fc.string(), fc.json()),
      (status, body) => void readAnswer(status, body),
    ),
  );
});
