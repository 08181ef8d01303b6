import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../base/metrics.ts';
import { addDeparted, sumExpositions } from './sum-expositions.ts';

const none = new Map<string, number>();

function readSample(text: string, key: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${key} `));
  return line === undefined ? undefined : Number(line.slice(key.length + 1));
}

/** The metrics of a process that has seen this. */
async function expose({
  requests = 0,
  open = 0,
  ejected = 0,
  up = 1,
  version = 0,
  route = 'a b "c"',
}): Promise<string> {
  const metrics = createMetrics();
  const labels = { route: { max: 10 } };
  const counter = metrics.counter('mcp_gateway_requests_total', 'Requests.', labels);
  const duration = metrics.histogram('mcp_gateway_request_duration_seconds', 'Durations.', labels, [1, 2]);
  if (requests > 0) counter.add({ route }, requests);
  for (let left = requests; left > 0; left -= 1) duration.observe({ route }, 1.5);
  metrics.gaugeOf('mcp_gateway_connections', 'Connections.', () => open);
  metrics.gaugeOf('mcp_gateway_upstream_ejected_endpoints', 'Ejected.', () => ejected);
  metrics.gaugesOf('mcp_gateway_federation_target_up', 'Up.', 'target', () => ({ tickets: up }));
  metrics.gaugeOf('mcp_gateway_config_version', 'Version.', () => version);
  return metrics.expose();
}

const requests = 'mcp_gateway_requests_total{route="a b \\"c\\""}';

test('counts, distributions and most gauges are summed; others are the largest, the smallest, or those of who answers', async () => {
  const own = await expose({ version: 7 });
  const others = [
    await expose({ requests: 2, open: 3, ejected: 1, up: 0, version: 100 }),
    await expose({ requests: 5, open: 4, ejected: 1, version: 100 }),
  ];
  const sum = sumExpositions(own, others, none);
  assert.equal(readSample(sum, requests), 7);
  const labels = 'route="a b \\"c\\""';
  assert.equal(readSample(sum, `mcp_gateway_request_duration_seconds_bucket{${labels},le="1"}`), 0);
  assert.equal(readSample(sum, `mcp_gateway_request_duration_seconds_bucket{${labels},le="2"}`), 7);
  assert.equal(readSample(sum, `mcp_gateway_request_duration_seconds_bucket{${labels},le="+Inf"}`), 7);
  assert.equal(readSample(sum, `mcp_gateway_request_duration_seconds_sum{${labels}}`), 10.5);
  assert.equal(readSample(sum, `mcp_gateway_request_duration_seconds_count{${labels}}`), 7);
  assert.equal(readSample(sum, 'mcp_gateway_connections'), 7);
  assert.equal(readSample(sum, 'mcp_gateway_upstream_ejected_endpoints'), 1);
  assert.equal(readSample(sum, 'mcp_gateway_federation_target_up{target="tickets"}'), 0);
  assert.equal(readSample(sum, 'mcp_gateway_config_version'), 7);
});

test('what one process exposes comes out as it went in', async () => {
  const own = await expose({ requests: 2, open: 1, version: 1 });
  const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
  assert.deepEqual(lines(sumExpositions(own, [], none)), lines(own));
});

test('what a process has counted stays counted when it is gone; what it had open does not', async () => {
  const departed = addDeparted(
    addDeparted(none, await expose({ requests: 2, open: 9 })),
    await expose({ requests: 3, open: 9, route: 'gone' }),
  );
  const sum = sumExpositions(await expose({}), [await expose({ requests: 1, open: 1 })], departed);
  assert.equal(readSample(sum, requests), 3);
  assert.equal(readSample(sum, 'mcp_gateway_requests_total{route="gone"}'), 3);
  assert.equal(readSample(sum, 'mcp_gateway_request_duration_seconds_count{route="gone"}'), 3);
  assert.equal(readSample(sum, 'mcp_gateway_connections'), 1);
});

test('each family is described once', async () => {
  const text = sumExpositions(await expose({}), [await expose({ requests: 1 }), await expose({ requests: 1 })], none);
  const types = text.split('\n').filter((line) => line.startsWith('# TYPE'));
  assert.equal(new Set(types).size, types.length);
});
