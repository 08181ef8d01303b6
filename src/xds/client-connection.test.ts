// What is said about connections that end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { describeConnectionError } from './client-connection.ts';

const brokeOff = /^the connection broke: /;

test('a connection that ends without a word is told in words, however that reached us', () => {
  for (const message of ['http/2 stream closed with error code CANCEL (0x8)', 'read ECONNRESET', 'write EPIPE'])
    assert.match(describeConnectionError(new ConnectError(message, Code.Canceled)), brokeOff, message);
});

test('what says why it ended is told as it is', () => {
  assert.equal(
    describeConnectionError(new ConnectError('the token is not known', Code.Unauthenticated)),
    'the token is not known',
  );
  const cause = new Error('connect ECONNREFUSED 127.0.0.1:9978');
  assert.match(
    describeConnectionError(new ConnectError('', Code.Unavailable, undefined, undefined, cause)),
    /ECONNREFUSED/,
  );
});
