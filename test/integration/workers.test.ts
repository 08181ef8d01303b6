// `mcp-gatehouse run --workers 2`: two processes on one port, and what one process would do.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startChild } from '../kit/child-process.ts';
import { program } from '../kit/gateway-program.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { startCountingUpstream } from './counting-upstream.ts';
import { startRequestLoad } from './load-clients.ts';
import { runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import {
  connectToBoth,
  connectToEach,
  countRequests,
  describeResources,
  findOwner,
  isGone,
  listWorkers,
  startWorkers,
} from './workers-fixture.ts';

const anyPorts = ['--admin-port', '0', '--metrics-port', '0', '--readiness-port', '0'];

describe('two workers on one port', () => {
  test('both answer, a change is in force at both, metrics are those of all, and log lines for people name the tool', async (t) => {
    const { gateway, upstream } = await startWorkers(t, { logFormat: 'text' });
    const connections = [...(await connectToBoth(t, gateway)).values()];
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'open_ticket' } });
    for (const connection of connections) await connection.post('/a', { 'content-type': 'application/json' }, call);
    await waitFor('both workers name the tool', () => {
      const lines = gateway.child.readOutput().split('\n');
      return lines.filter((line) => line.includes(' tools/call open_ticket ')).length === 2;
    });
    const before = await countRequests(gateway);
    for (const connection of connections) assert.equal((await connection.post('/a')).status, 200);
    await waitFor(async () => (await countRequests(gateway)) === before + 2);
    // The configuration is the gateway's: two workers have it once.
    assert.equal(await gateway.readMetric('mcp_gateway_config_version'), 1);
    assert.equal(await gateway.readMetric('mcp_gateway_workers'), 2);

    gateway.write(describeResources(gateway.port, upstream.port, '/b'));
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_config_version')) === 2);
    for (const connection of connections) {
      assert.equal((await connection.post('/a')).status, 404);
      assert.equal((await connection.post('/b')).status, 200);
    }
  });

  test('the port is theirs, another one is opened and closed at both, and the log level changes in all of them', async (t) => {
    const { gateway, upstream } = await startWorkers(t, { flags: ['--log-level', 'warn'] });
    const second = startChild({
      command: process.execPath,
      args: [program, 'run', '-f', `${gateway.folder}/gateway.yaml`, '--workers', '2', ...anyPorts],
    });
    t.after(() => second.stop());
    assert.equal(await second.waitForExit(), 1);
    assert.match(second.readOutput(), /another process or listener already uses it/);
    assert.deepEqual(listWorkers(second.pid), []);

    const own = [...(await connectToBoth(t, gateway)).values()];
    await fetch(`http://127.0.0.1:${gateway.adminPort}/loglevel?level=info`, { method: 'PUT' });
    const countLines = (): number => gateway.readLog().filter(({ kind }) => kind === 'access').length;
    const before = countLines();
    for (const connection of own) await connection.post('/a');
    await waitFor(() => countLines() === before + 2);

    const [other] = (await findFreePorts(1)) as [number];
    gateway.write(describeResources(other, upstream.port, '/a'));
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_config_version')) === 2);
    const connections = await connectToEach(listWorkers(gateway.child.pid), other, '/a');
    for (const connection of connections.values()) connection.close();
    assert.equal(connections.size, 2);
    await assert.rejects(fetch(`http://127.0.0.1:${gateway.port}/a`), 'nobody listens where the port was');
  });
});

describe('the end', () => {
  test('SIGTERM drains all workers: what is in flight ends, and nothing is left', async (t) => {
    const { gateway, pids } = await startWorkers(t, { delayMs: 20 });
    const before = pids();
    const load = startRequestLoad(`http://127.0.0.1:${gateway.port}/a`, 16);
    t.after(() => load.stop());
    await waitFor(() => load.completed > 100);
    process.kill(gateway.child.pid, 'SIGTERM');
    assert.equal(await gateway.child.waitForExit(), 0);
    await load.stop();
    // New connections are refused once nobody listens; nothing that was accepted failed.
    assert.deepEqual(
      load.failures.filter((failure) => !failure.startsWith('ECONNREFUSED')),
      [],
    );
    await waitFor(() => before.every(isGone));
  });
});

test('limits are those of all workers together', async (t) => {
  const { gateway } = await startWorkers(t, { flags: ['--max-connections', '2'] });
  const pids = listWorkers(gateway.child.pid);
  const held = await connectToEach(pids, gateway.port, '/a');
  assert.equal(held.size, 2);
  t.after(() => {
    for (const connection of held.values()) connection.close();
  });
  // Whichever worker gets it: the two places are taken.
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/a`, { method: 'POST', body: '{}' });
  assert.equal(answer.status, 503);
  assert.match(await answer.text(), /too_many_connections/);
});

test('one worker is this process itself', async (t) => {
  const upstream = await startCountingUpstream();
  t.after(() => upstream.close());
  const gateway = await runGatewayProcess({ resources: (port) => describeResources(port, upstream.port, '/a') });
  t.after(() => gateway.stop());
  assert.deepEqual(listWorkers(gateway.child.pid), []);
  const connections = await connectToEach([gateway.child.pid], gateway.port, '/a');
  for (const { localPort } of connections.values())
    assert.equal(findOwner([gateway.child.pid], localPort, gateway.port), gateway.child.pid);
  for (const connection of connections.values()) connection.close();
  assert.equal(connections.size, 1);
});
