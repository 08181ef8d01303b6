// What is said about open streams at the end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countStreams, describeWait } from './open-streams.ts';

test('streams are counted over all listeners and routes', () => {
  const exposition = [
    '# TYPE mcp_gateway_open_streams gauge',
    'mcp_gateway_open_streams{listener="default/a/http",route="default/a"} 2',
    'mcp_gateway_open_streams{listener="default/b/http",route="a } 7"} 1',
    'mcp_gateway_requests_in_flight 9',
  ].join('\n');
  assert.equal(countStreams(exposition), 3);
  assert.equal(countStreams(''), 0);
});

test('the line names the time, and how not to wait', () => {
  assert.equal(describeWait(3, 30_000, 'SIGINT'), '3 streams are open; they have 30 s; Ctrl-C again ends now');
  assert.equal(describeWait(1, 500, 'SIGTERM'), '1 stream is open; it has 1 s; a second signal ends it now');
  assert.equal(describeWait(0, 30_000, 'SIGINT'), undefined);
  assert.equal(describeWait(3, 0, 'SIGINT'), undefined);
});
