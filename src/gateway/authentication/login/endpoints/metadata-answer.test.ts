import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerIdpUnavailable, answerMetadata } from './metadata-answer.ts';
import type { OAuthRequest } from '../oauth-endpoint.ts';
import { createContext, createResource, valueOf } from '../../testing/auth-fixture.ts';

test('a document is JSON, and kept by caches only where it is the same for every host', () => {
  const answer = answerMetadata(createResource(), { a: 1 });
  assert.deepEqual([answer.status, JSON.parse(answer.body)], [200, { a: 1 }]);
  assert.equal(valueOf(answer.headers, 'content-type'), 'application/json');
  assert.equal(valueOf(answer.headers, 'cache-control'), 'no-store');
  assert.equal(valueOf(answer.headers, 'vary'), 'Host, X-Forwarded-Port, X-Forwarded-Proto');
  const fixed = answerMetadata(createResource({ message: { resource: 'https://public.example/mcp' } }), {});
  assert.equal(valueOf(fixed.headers, 'cache-control'), 'max-age=60');
  assert.equal(valueOf(fixed.headers, 'vary'), undefined);
});

test('an IdP that cannot be asked is 503 with whole seconds, at least one; details are for the operator', () => {
  const { context } = createContext();
  for (const [seconds, header] of [
    [0, '1'],
    [0.2, '1'],
    [7.5, '8'],
  ] as const) {
    const answer = answerIdpUnavailable({ context } as OAuthRequest, seconds, 'ECONNREFUSED 10.0.0.1');
    assert.deepEqual([answer.status, answer.reason, answer.detail], [503, 'idp_unavailable', 'ECONNREFUSED 10.0.0.1']);
    assert.equal(valueOf(answer.headers, 'retry-after'), header);
    const body = JSON.parse(answer.body) as Record<string, string>;
    assert.deepEqual([body['error'], body['request_id']], ['temporarily_unavailable', context.requestId]);
    assert.doesNotMatch(answer.body, /10\.0\.0\.1/);
  }
});
