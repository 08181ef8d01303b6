import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hideSecrets } from './hide-secrets.ts';

test('what equals a secret is hidden, in every form in which it was sent', () => {
  const secret = 's3cret/+ value';
  for (const form of [
    secret,
    's3cret%2F%2B+value',
    's3cret%2F%2B%20value',
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret).toString('base64url'),
  ])
    assert.equal(hideSecrets(`bad client (${form}, ${form})`, [undefined, secret]), 'bad client ([hidden], [hidden])');
});

test('all other words stay, and what is too short to be a secret hides nothing', () => {
  assert.equal(hideSecrets('invalid client id', ['client-secret', '', 'a', 'id', undefined]), 'invalid client id');
});
