import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsendableHeadError } from '../../../http1/message-head.ts';
import { reasons } from '../../http/reasons.ts';
import {
  classifyUpstreamError,
  describeError,
  UpstreamConnectTimeoutError,
  UpstreamOverloadedError,
  UpstreamProtocolError,
  UpstreamUpgradeError,
  type UpstreamPhase,
} from './upstream-error.ts';

function withCode(code: string, message = 'failed'): Error {
  return Object.assign(new Error(message), { code });
}

const cases: [Error, UpstreamPhase, string][] = [
  [withCode('ECONNREFUSED'), 'connecting', 'upstream_unreachable'],
  [withCode('EHOSTUNREACH'), 'connecting', 'upstream_unreachable'],
  [withCode('ENOTFOUND'), 'connecting', 'upstream_unreachable'],
  [withCode('EAI_AGAIN'), 'connecting', 'upstream_unreachable'],
  [withCode('ECONNRESET'), 'connecting', 'upstream_unreachable'],
  [withCode('ERR_TLS_CERT_ALTNAME_INVALID'), 'connecting', 'upstream_unreachable'],
  [withCode('ETIMEDOUT'), 'connecting', 'upstream_connect_timeout'],
  [new UpstreamConnectTimeoutError('a:1', 5), 'connecting', 'upstream_connect_timeout'],
  [new UpstreamOverloadedError('a:1'), 'connecting', 'upstream_overloaded'],
  [new UpstreamUpgradeError('no'), 'connecting', 'upgrade_failed'],
  [withCode('ECONNRESET'), 'sent', 'upstream_reset'],
  [withCode('EPIPE'), 'sent', 'upstream_reset'],
  [new Error('the connection was closed'), 'sent', 'upstream_reset'],
  [new UpstreamProtocolError('what'), 'sent', 'upstream_protocol_error'],
  [
    withCode('ERR_HTTP2_STREAM_ERROR', 'Stream closed with error code NGHTTP2_PROTOCOL_ERROR'),
    'sent',
    'upstream_protocol_error',
  ],
  [
    withCode('ERR_HTTP2_STREAM_ERROR', 'Stream closed with error code NGHTTP2_INTERNAL_ERROR'),
    'sent',
    'upstream_reset',
  ],
  [withCode('ECONNRESET'), 'answering', 'upstream_aborted'],
  [new UpstreamProtocolError('what'), 'answering', 'upstream_aborted'],
  [new UnsendableHeadError('the target'), 'connecting', 'internal_error'],
];

for (const [error, phase, expected] of cases) {
  test(`${(error as { code?: string }).code} (${error.message}) while ${phase}: ${expected}`, () => {
    const reason = classifyUpstreamError(error, phase);
    assert.equal(reason, expected);
    assert.notEqual(reasons[reason].status, 404);
  });
}

test('the description for the operator names the code and what lies under it', () => {
  assert.equal(
    describeError(withCode('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1')),
    'connect ECONNREFUSED 127.0.0.1:1',
  );
  assert.equal(describeError(withCode('EPIPE', 'broken')), 'EPIPE: broken');
  assert.equal(
    describeError(new AggregateError([new Error('one'), new Error('two')], 'all failed')),
    'all failed (one; two)',
  );
  assert.equal(describeError(new Error('outer', { cause: new Error('inner') })), 'outer, because inner');
  assert.equal(describeError(new TypeError('')), 'TypeError');
});
