// `mcp-gateway run --workers 2`: two processes on one port, and what one process would do.
import assert from 'node:assert/strict';
import { after, before as beforeAll, describe, test, type TestContext } from 'node:test';
import { startChild } from '../kit/child-process.ts';
import { program } from '../kit/gateway-program.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { type CountingUpstream, startCountingUpstream } from './counting-upstream.ts';
import { openEventStream, startRequestLoad } from './load-clients.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayProcessRun, runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { connectToEach, findOwner, type KeptConnection, killHard, listWorkers } from './workers-fixture.ts';

const anyPorts = ['--admin-port', '0', '--metrics-port', '0', '--readiness-port', '0'];

async function start(
  t: { after(end: () => Promise<unknown>): void },
  { flags = [], delayMs = 0 }: { readonly flags?: readonly string[]; readonly delayMs?: number } = {},
): Promise<{ gateway: GatewayProcessRun; upstream: CountingUpstream; pids: () => number[] }> {
  const upstream = await startCountingUpstream({ delayMs });
  t.after(() => upstream.close());
  const gateway = await runGatewayProcess({
    resources: (port) => resources(port, upstream.port, '/a'),
    flags: ['--workers', '2', '--log-format', 'json', ...flags],
  });
  t.after(() => gateway.stop());
  return { gateway, upstream, pids: () => listWorkers(gateway.child.pid) };
}

function resources(port: number, upstream: number, path: string): object[] {
  return [gatewayResource(port), routeResource('a', [ruleTo(path, 'a')]), backendResource('a', upstream)];
}

async function connect(t: TestContext, gateway: GatewayProcessRun): Promise<Map<number, KeptConnection>> {
  const pids = listWorkers(gateway.child.pid);
  assert.equal(pids.length, 2);
  const connections = await connectToEach(pids, gateway.port, '/a');
  t.after(() => {
    for (const connection of connections.values()) connection.close();
  });
  assert.deepEqual(new Set(connections.keys()), new Set(pids), 'connections reach both workers');
  return connections;
}

function readLog(gateway: GatewayProcessRun): Record<string, unknown>[] {
  return gateway.child
    .readOutput()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('two workers on one port', () => {
  test('both answer, a change is in force at both, and metrics are those of all', async (t) => {
    const { gateway, upstream } = await start(t);
    const connections = [...(await connect(t, gateway)).values()];
    const before = await countRequests(gateway);
    for (const connection of connections) assert.equal((await connection.post('/a')).status, 200);
    await waitFor(async () => (await countRequests(gateway)) === before + 2);
    // The configuration is the gateway's: two workers have it once.
    assert.equal(await gateway.readMetric('mcp_gateway_config_version'), 1);
    assert.equal(await gateway.readMetric('mcp_gateway_workers'), 2);

    gateway.write(resources(gateway.port, upstream.port, '/b'));
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_config_version')) === 2);
    for (const connection of connections) {
      assert.equal((await connection.post('/a')).status, 404);
      assert.equal((await connection.post('/b')).status, 200);
    }
  });

  test('the port is theirs, another one is opened and closed at both, and the log level changes in all of them', async (t) => {
    const { gateway, upstream } = await start(t, { flags: ['--log-level', 'warn'] });
    const second = startChild({
      command: process.execPath,
      args: [program, 'run', '-f', `${gateway.folder}/gateway.yaml`, '--workers', '2', ...anyPorts],
    });
    t.after(() => second.stop());
    assert.equal(await second.waitForExit(), 1);
    assert.match(second.readOutput(), /another process or listener already uses it/);
    assert.deepEqual(listWorkers(second.pid), []);

    const own = [...(await connect(t, gateway)).values()];
    await fetch(`http://127.0.0.1:${gateway.adminPort}/loglevel?level=info`, { method: 'PUT' });
    const countLines = (): number => readLog(gateway).filter(({ kind }) => kind === 'access').length;
    const before = countLines();
    for (const connection of own) await connection.post('/a');
    await waitFor(() => countLines() === before + 2);

    const [other] = (await findFreePorts(1)) as [number];
    gateway.write(resources(other, upstream.port, '/a'));
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_config_version')) === 2);
    const connections = await connectToEach(listWorkers(gateway.child.pid), other, '/a');
    for (const connection of connections.values()) connection.close();
    assert.equal(connections.size, 2);
    await assert.rejects(fetch(`http://127.0.0.1:${gateway.port}/a`), 'nobody listens where the port was');
  });
});

describe('a worker that is gone', () => {
  let started: Awaited<ReturnType<typeof start>>;
  const ends: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    started = await start({ after: (end) => ends.push(end) }, { delayMs: 1 });
  });
  after(() => Promise.all(ends.map((end) => end())));

  test('is replaced, and no request of the others fails', async (t) => {
    const { gateway, pids } = started;
    const connections = await connect(t, gateway);
    const [victim, survivor] = pids() as [number, number];
    // One loop of requests for each connection, without a pause.
    const outcomes = new Map<number, { sent: number; failure: unknown }>();
    const state = { running: true };
    const loops = [...connections].map(async ([pid, connection]) => {
      const outcome = { sent: 0, failure: undefined as unknown };
      outcomes.set(pid, outcome);
      try {
        while (state.running) {
          assert.equal((await connection.post('/a')).status, 200);
          outcome.sent += 1;
        }
      } catch (error) {
        outcome.failure = error;
      }
    });
    await waitFor(() => [...outcomes.values()].every(({ sent }) => sent > 10));
    const counted = await countRequests(gateway);
    killHard(victim);
    await waitFor(() => outcomes.get(victim)!.failure !== undefined);
    const sent = outcomes.get(survivor)!.sent;
    await waitFor(() => outcomes.get(survivor)!.sent > sent + 50);
    assert.equal((await fetch(`http://127.0.0.1:${gateway.readinessPort}/ready`)).status, 200);
    assert.ok((await countRequests(gateway)) >= counted, 'what it had counted stays counted');

    await waitFor(async () => (await gateway.readMetric('mcp_gateway_workers')) === 2);
    state.running = false;
    await Promise.all(loops);
    assert.equal(outcomes.get(survivor)!.failure, undefined);
    assert.equal(await gateway.readMetric('mcp_gateway_worker_ends_total'), 1);
    const line = readLog(gateway).find(({ msg }) => String(msg).startsWith('a worker has ended'));
    assert.deepEqual([line?.['pid'], line?.['signal']], [victim, 'SIGKILL']);
    // The new one has the port and the configuration.
    const fresh = await connectToEach(pids(), gateway.port, '/a');
    for (const connection of fresh.values()) connection.close();
    assert.deepEqual(new Set(fresh.keys()), new Set(pids()));
  });

  test('gets the configuration of now when it is replaced', async () => {
    const { gateway, upstream, pids } = started;
    gateway.write(resources(gateway.port, upstream.port, '/b'));
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_config_version')) === 2);
    const old = pids();
    killHard(old[0]!);
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_workers')) === 2 && !pids().includes(old[0]!));
    const connections = await connectToEach(pids(), gateway.port, '/b');
    assert.equal(connections.size, 2);
    for (const connection of connections.values()) {
      assert.equal((await connection.post('/b')).status, 200);
      assert.equal((await connection.post('/a')).status, 404);
      connection.close();
    }
  });

  test('takes the readiness with it when it was the last', async () => {
    const { gateway, pids } = started;
    const isReady = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${gateway.readinessPort}/ready`)).ok;
    for (const pid of pids()) killHard(pid);
    await waitFor(async () => !(await isReady()));
    await waitFor(isReady);
  });
});

describe('the end', () => {
  test('SIGTERM drains all workers: what is in flight ends, and nothing is left', async (t) => {
    const { gateway, pids } = await start(t, { delayMs: 20 });
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

  test('signals for all processes at once, as terminals and systemd send them, mean the same', async (t) => {
    const { gateway, pids } = await start(t, { delayMs: 20 });
    const load = startRequestLoad(`http://127.0.0.1:${gateway.port}/a`, 16);
    t.after(() => load.stop());
    await waitFor(() => load.completed > 100);
    for (const pid of [...pids(), gateway.child.pid]) process.kill(pid, 'SIGINT');
    assert.equal(await gateway.child.waitForExit(), 0);
    await load.stop();
    assert.deepEqual(
      load.failures.filter((failure) => !failure.startsWith('ECONNREFUSED')),
      [],
    );
  });

  test('a second signal ends all of it at once', async (t) => {
    const { gateway, upstream, pids } = await start(t);
    const before = pids();
    const stream = await openEventStream(`http://127.0.0.1:${gateway.port}/a`);
    t.after(() => stream.close());
    await waitFor(() => upstream.openStreams === 1);
    process.kill(gateway.child.pid, 'SIGTERM');
    await waitFor(() => gateway.readOutput().includes('shutting down'));
    // Signals within a moment of each other are one.
    await waitFor(() => {
      if (gateway.exitCode() === undefined) process.kill(gateway.child.pid, 'SIGTERM');
      return gateway.readOutput().includes('second signal');
    });
    assert.equal(await gateway.child.waitForExit(), 143);
    await waitFor(() => before.every(isGone));
  });

  test('a supervisor that is killed leaves no worker behind; streams may end first', async (t) => {
    const { gateway, upstream, pids } = await start(t, { flags: ['--drain-timeout', '60s'] });
    const before = pids();
    const stream = await openEventStream(`http://127.0.0.1:${gateway.port}/a`);
    t.after(() => stream.close());
    await waitFor(() => upstream.openStreams === 1);
    process.kill(gateway.child.pid, 'SIGKILL');
    // The worker without a stream ends; the other one goes on for as long as its client stays.
    await waitFor(() => before.filter(isGone).length === 1);
    upstream.tick();
    await waitFor(() => stream.last === 1);
    assert.equal(stream.failure, undefined);
    stream.close();
    await waitFor(() => before.every(isGone));
  });
});

test('limits are those of all workers together', async (t) => {
  const { gateway } = await start(t, { flags: ['--max-connections', '2'] });
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
  const gateway = await runGatewayProcess({ resources: (port) => resources(port, upstream.port, '/a') });
  t.after(() => gateway.stop());
  assert.deepEqual(listWorkers(gateway.child.pid), []);
  const connections = await connectToEach([gateway.child.pid], gateway.port, '/a');
  for (const { localPort } of connections.values())
    assert.equal(findOwner([gateway.child.pid], localPort, gateway.port), gateway.child.pid);
  for (const connection of connections.values()) connection.close();
  assert.equal(connections.size, 1);
});

async function countRequests(gateway: GatewayProcessRun): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith('mcp_gateway_requests_total{'))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
