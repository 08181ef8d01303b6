import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatRpcAnswer, formatRpcError } from './rpc-error.ts';

test('an error response, with the id as it was sent', () => {
  const error = { code: -32601, message: 'Method not found' };
  assert.equal(
    formatRpcError(1, error),
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}',
  );
  assert.equal(
    formatRpcError('a"b', { ...error, data: { uri: 'u' } }),
    '{"jsonrpc":"2.0","id":"a\\"b","error":{"code":-32601,"message":"Method not found","data":{"uri":"u"}}}',
  );
  assert.match(formatRpcError(undefined, error), /^\{"jsonrpc":"2.0","id":null,/);
  assert.match(formatRpcError(0, error), /"id":0,/);
  assert.match(formatRpcError('', error), /"id":"",/);
});

describe('as JSON, or as one event for who takes nothing else', () => {
  const events = {
    headers: ['content-type', 'text/event-stream', 'cache-control', 'no-store'],
    body: 'event: message\ndata: {}\n\n',
  };
  const json = { headers: ['content-type', 'application/json', 'cache-control', 'no-store'], body: '{}' };
  for (const [accept, expected] of [
    [[], json],
    [['application/json, text/event-stream'], json],
    [['text/event-stream, application/json;q=0.1'], json],
    [['*/*'], json],
    [['text/event-stream, */*'], json],
    [['application/*'], json],
    [['application/json'], json],
    [['text/html'], json],
    [['text/event-stream', 'application/json'], json],
    [['text/event-stream'], events],
    [['Text/Event-Stream; q=0.9'], events],
    [['text/event-stream, application/json;q=0'], events],
    [['text/*'], events],
  ] as const)
    test(accept.join(' and ') || 'no Accept', () =>
      assert.deepEqual(
        formatRpcAnswer(
          accept.flatMap((value) => ['Accept', value]),
          '{}',
        ),
        expected,
      ),
    );
});
