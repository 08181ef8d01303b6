import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildContext, buildRoute } from '../../test/integration/admin-fixture.ts';
import { createMetrics } from '../base/metrics.ts';
import type { Decision } from './decision.ts';
import { createGatewayMetrics, type GatewayMetrics } from './request-metrics.ts';

function start(): { readonly gateway: GatewayMetrics; readonly read: (name: string) => Promise<string[]> } {
  const metrics = createMetrics();
  const gateway = createGatewayMetrics(metrics, '1.2.3');
  const read = async (name: string): Promise<string[]> =>
    (await metrics.expose())
      .split('\n')
      .filter((line) => line.startsWith(name) && /^[{ ]/.test(line.slice(name.length)));
  return { gateway, read };
}

describe('requests', () => {
  test('are counted by where they went and how they ended', async () => {
    const { gateway, read } = start();
    const context = buildContext({ startedAt: performance.now() - 3_000 });
    gateway.requests.start(context);
    assert.deepEqual(await read('mcp_gateway_requests_in_flight'), ['mcp_gateway_requests_in_flight 1']);
    gateway.requests.finish(context, true, 10, 20);
    const refused = buildContext({ status: 404, reason: 'no_route', route: undefined, upstreamMs: undefined });
    gateway.requests.start(refused);
    gateway.requests.finish(refused, true, 0, 0);
    assert.deepEqual(await read('mcp_gateway_requests_in_flight'), ['mcp_gateway_requests_in_flight 0']);
    assert.deepEqual(await read('mcp_gateway_requests_total'), [
      'mcp_gateway_requests_total{listener="default/gw/http",route="default/tickets",method="POST",code="200",reason=""} 1',
      'mcp_gateway_requests_total{listener="default/gw/http",route="",method="POST",code="404",reason="no_route"} 1',
    ]);
    const buckets = await read('mcp_gateway_request_duration_seconds_bucket');
    assert.equal(
      buckets.some((line) => line.endsWith('tickets",le="2.5"} 0')),
      true,
    );
    assert.equal(
      buckets.some((line) => line.endsWith('tickets",le="300"} 1')),
      true,
    );
    assert.equal((await read('mcp_gateway_upstream_response_seconds_count')).length, 1);
    assert.deepEqual(await read('mcp_gateway_received_bytes_total'), ['mcp_gateway_received_bytes_total 20']);
    assert.deepEqual(await read('mcp_gateway_sent_bytes_total'), ['mcp_gateway_sent_bytes_total 10']);
  });

  const decision: Decision = {
    step: 'traffic.jwtAuthentication',
    policy: 'default/jwt',
    mode: 'Optional',
    outcome: 'allow',
    reason: 'missing_token',
    detail: undefined,
    decidedBy: undefined,
    rules: [],
  };
  const denied: Decision = {
    ...decision,
    step: 'traffic.authorization',
    policy: 'default/team',
    mode: '',
    outcome: 'deny',
    reason: 'rbac_denied',
  };

  test('are counted by what every policy decided', async () => {
    const { gateway, read } = start();
    for (const decisions of [[], [decision], [decision, denied]])
      gateway.requests.finish(buildContext({ decisions }), true, 0, 0);
    const name = 'mcp_gateway_policy_decisions_total';
    assert.deepEqual(await read(name), [
      `${name}{policy="default/jwt",step="traffic.jwtAuthentication",mode="Optional",outcome="allow",reason="missing_token"} 2`,
      `${name}{policy="default/team",step="traffic.authorization",mode="",outcome="deny",reason="rbac_denied"} 1`,
    ]);
  });

  test('decisions of very many policies are counted together', async () => {
    const { gateway, read } = start();
    for (let index = 0; index < 3_000; index += 1) {
      const decisions = [{ ...denied, policy: `default/p${index}` }];
      gateway.requests.finish(buildContext({ decisions }), true, 0, 0);
    }
    const lines = await read('mcp_gateway_policy_decisions_total');
    assert.equal(lines.length, 501);
    assert.match(lines.at(-1)!, /policy="other",step="traffic.authorization",.*\} 2500$/);
  });

  test('cannot grow the registry by what clients and upstreams send', async () => {
    const { gateway, read } = start();
    for (let index = 0; index < 3_000; index += 1) {
      const context = buildContext({ status: index, route: buildRoute(`default/r${index}`) }, { method: `M${index}` });
      gateway.requests.start(context);
      gateway.requests.finish(context, true, 1, 1);
    }
    const lines = await read('mcp_gateway_requests_total');
    assert.equal(lines.length <= 1_100, true, `${lines.length} series`);
    assert.equal(
      lines.every((line) => line.includes('method="other"')),
      true,
    );
    assert.equal(
      lines.some((line) => line.includes('route="other",method="other",code="other"')),
      true,
    );
  });

  test('streams are counted while they are open, once each', async () => {
    const { gateway, read } = start();
    const context = buildContext();
    const close = gateway.requests.openStream(context);
    context.route = undefined;
    assert.match((await read('mcp_gateway_open_streams')).join(), /route="default\/tickets"\} 1$/);
    close();
    close();
    assert.match((await read('mcp_gateway_open_streams')).join(), /route="default\/tickets"\} 0$/);
  });
});

test('connections, upstreams and configuration', async () => {
  const { gateway, read } = start();
  gateway.connections.opened();
  gateway.connections.opened();
  gateway.connections.closed();
  gateway.connections.refused('too_many_connections');
  gateway.upstreams.connectFailed('b', 'refused');
  gateway.upstreams.endpointEjected('b');
  gateway.upstreams.endpointEjected('b');
  gateway.upstreams.endpointReturned('b');
  gateway.upstreams.requestRetried('b');
  gateway.config.applied(7, { listeners: 1, routes: 2, backends: 3 });
  gateway.config.rejected();
  gateway.config.setProblems(4);
  const expected: Record<string, string> = {
    mcp_gateway_connections: ' 1',
    mcp_gateway_connections_total: ' 2',
    mcp_gateway_connections_refused_total: '{reason="too_many_connections"} 1',
    mcp_gateway_upstream_connect_failures_total: '{backend="b",reason="refused"} 1',
    mcp_gateway_upstream_ejections_total: '{backend="b"} 2',
    mcp_gateway_upstream_ejected_endpoints: '{backend="b"} 1',
    mcp_gateway_upstream_retries_total: '{backend="b"} 1',
    mcp_gateway_config_version: ' 7',
    mcp_gateway_config_problems: ' 4',
    mcp_gateway_build_info: `{version="1.2.3",node="${process.versions.node}"} 1`,
  };
  for (const [name, rest] of Object.entries(expected)) assert.deepEqual(await read(name), [`${name}${rest}`]);
  assert.deepEqual(await read('mcp_gateway_config_applies_total'), [
    'mcp_gateway_config_applies_total{result="applied"} 1',
    'mcp_gateway_config_applies_total{result="rejected"} 1',
  ]);
});
