// `mcp-gatehouse gateway` with a federation: it tells its controller which servers are up, and which are down.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import {
  BackendSchema,
  McpTransport,
  NamePrefix,
  SessionRouting,
  TargetFailureMode,
} from '../../src/ir/gen/config_pb.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startFederationServer } from '../mcp/federation-servers.ts';
import { configure, publish, route, startController, startGatewayCommand, waitForSettled } from './gateway-command-fixture.ts'; // prettier-ignore

const key = 'ProxyBackend/n/all';

function federation(ports: Readonly<Record<string, number>>) {
  const targets = Object.entries(ports).map(([name, port]) => ({
    server: {
      name,
      path: '/mcp',
      transport: McpTransport.STREAMABLE_HTTP,
      upstream: { endpoints: [{ host: '127.0.0.1', port }], hostHeader: `127.0.0.1:${port}`, connectTimeoutMs: 5_000 },
    },
    prefix: name,
    failureMode: TargetFailureMode.FAIL_OPEN,
  }));
  return create(BackendSchema, {
    key,
    kind: {
      case: 'federation',
      value: {
        targets,
        sessionRouting: SessionRouting.STATEFUL,
        namePrefix: NamePrefix.ALWAYS,
        serverInfo: { name: 'all' },
      },
    },
  });
}

test('servers are not told before a client has come; then as they are, and no more when they are gone', async (t) => {
  const desk = await startFederationServer({ name: 'desk', era: 'legacy', tools: [{ name: 'close' }] });
  t.after(() => desk.close());
  const server = await startController(t);
  const [port, closed] = (await findFreePorts(2)) as [number, number];
  await startGatewayCommand(t, `http://127.0.0.1:${server.port}`);
  const backends = [federation({ desk: desk.port, wiki: closed })];
  const routes = [route('all', '/mcp', { backends: [{ backend: key, weight: 1 }] })];
  await waitForSettled(server, publish(server, configure(port, closed, { routes, backends })));
  assert.equal(server.connected.get()[0]?.targets?.length ?? 0, 0);

  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
  const answer = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  assert.equal(answer.status, 200);
  await answer.text();
  const told = await waitFor('the controller knows of both', () => {
    const targets = server.connected.get()[0]?.targets ?? [];
    return targets.length === 2 ? targets : undefined;
  });
  assert.deepEqual(
    told.map(({ backend, target, down, error }) => [backend, target, down, error !== '']),
    [
      [key, 'desk', false, false],
      [key, 'wiki', true, true],
    ],
  );
  assert.match(told[1]!.error, /ECONNREFUSED/);
  assert.ok(Math.abs(told[1]!.since - Date.now() / 1_000) < 60);

  await waitForSettled(server, publish(server, configure(port, closed, { routes: [route('r', '/')] })));
  await waitFor(
    'the federation is gone',
    () => server.connected.get()[0]?.targets === undefined || server.connected.get()[0]?.targets?.length === 0,
  );
});
