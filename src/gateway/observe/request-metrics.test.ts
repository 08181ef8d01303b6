import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildContext, buildListener, buildRoute } from '../../../test/integration/admin-fixture.ts';
import { createMetrics } from '../../base/metrics.ts';
import type { Decision } from '../request/decision.ts';
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

  test('are counted right however many ends there are, and when they come again', async () => {
    const { gateway, read } = start();
    const methods = ['GET', 'POST', 'PUT'];
    const outcomes = ['allow', 'deny', 'respond'] as const;
    const reasons = ['rbac_denied', 'token_expired', 'missing_token'] as const;
    const steps = ['traffic.jwtAuthentication', 'traffic.authorization', 'backend.mcp.authorization'] as const;
    // More than are remembered at one place, and of one policy.
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 81; index += 1) {
        const [outcome, reason, step] = [outcomes[index % 3]!, reasons[Math.floor(index / 3) % 3], steps[index % 2]!];
        const mode = index < 41 ? 'Strict' : 'Optional';
        const decisions = [{ ...decision, outcome, reason, step, mode } satisfies Decision];
        const status = 200 + Math.floor(index / 3);
        gateway.requests.finish(buildContext({ status, decisions }, { method: methods[index % 3]! }), true, 0, 0);
      }
    }
    const requests = await read('mcp_gateway_requests_total');
    assert.equal(requests.length, 81);
    for (const line of requests) assert.match(line, /\} 3$/);
    const counts = (await read('mcp_gateway_policy_decisions_total')).map((line) => Number(/ (\d+)$/.exec(line)![1]));
    assert.equal(counts.length, 36);
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      243,
    );
  });

  test('are counted by the reason, also where all else is the same', async () => {
    const { gateway, read } = start();
    for (const reason of ['no_route', undefined, 'bad_target', 'no_route'] as const)
      gateway.requests.finish(buildContext({ status: 404, reason }), true, 0, 0);
    const lines = await read('mcp_gateway_requests_total');
    assert.deepEqual(
      lines.map((line) => /reason="(.*)"\} (\d+)$/.exec(line)!.slice(1)),
      [
        ['no_route', '2'],
        ['', '1'],
        ['bad_target', '1'],
      ],
    );
  });

  test('are counted at the listener and the route of this very request', async () => {
    const { gateway, read } = start();
    for (let round = 0; round < 2; round += 1) {
      for (const listener of [buildListener('a'), buildListener('b'), undefined]) {
        for (const route of [buildRoute('default/x'), buildRoute('default/y'), undefined])
          gateway.requests.finish(buildContext({ listener, route, upstreamMs: route && 1 }), true, 0, 0);
      }
    }
    const places = ['default/gw/a', 'default/gw/b', ''].flatMap((listener) =>
      ['default/x', 'default/y', ''].map((route) => ({ listener, route })),
    );
    assert.deepEqual(
      await read('mcp_gateway_requests_total'),
      places.map(
        ({ listener, route }) =>
          `mcp_gateway_requests_total{listener="${listener}",route="${route}",method="POST",code="200",reason=""} 2`,
      ),
    );
    // A place that called no upstream has no such distribution.
    assert.deepEqual(
      await read('mcp_gateway_upstream_response_seconds_count'),
      places
        .filter(({ route }) => route !== '')
        .map(
          ({ listener, route }) =>
            `mcp_gateway_upstream_response_seconds_count{listener="${listener}",route="${route}"} 2`,
        ),
    );
  });

  test('very many places are counted together, and those of the beginning by themselves', async () => {
    const { gateway, read } = start();
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < 1_500; index += 1)
        gateway.requests.finish(buildContext({ route: buildRoute(`default/r${index}`) }), true, 0, 0);
    }
    const lines = await read('mcp_gateway_request_duration_seconds_count');
    assert.equal(lines.length, 501);
    assert.match(lines[0]!, /route="default\/r0"\} 2$/);
    assert.match(lines.at(-1)!, /route="other"\} 2000$/);
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
