// What `mcp-gatehouse run` says about itself while it serves: nothing to serve, a port that is taken, streams that keep it from ending.
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { startPlainServer } from '../../src/gateway/admin/plain-server.ts';
import { listMovable, openOwnPorts, type PortStarter } from '../../src/cmd/own-ports.ts';
import { PortsTakenError } from '../../src/cmd/start-error.ts';
import { runCommand } from '../../src/cmd/run.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { startRecordingUpstream } from '../kit/recording-upstream.ts';
import { runCommandHere } from '../kit/run-command.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

interface Readiness {
  readonly status: number;
  readonly reason: string | undefined;
}

async function readReadiness(gateway: GatewayRun): Promise<Readiness> {
  const answer = await fetch(`http://127.0.0.1:${gateway.readinessPort}/ready`);
  const { checks } = (await answer.json()) as { checks: { name: string; reason?: string }[] };
  return { status: answer.status, reason: checks.find(({ name }) => name === 'configuration')?.reason };
}

async function askAt(port: number, path: string): Promise<number | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: '{}' }).catch(() => undefined);
  await answer?.text();
  return answer?.status;
}

function occupy(t: TestContext, port: number): Promise<Server> {
  const server = createServer();
  t.after(() => server.close());
  return new Promise((resolve) => void server.listen(port, '127.0.0.1', () => resolve(server)));
}

test('who serves nothing is not ready, and says why', async (t) => {
  const upstream = await startMcpUpstream();
  t.after(() => upstream.close());
  const whole = (port: number): object[] => [
    gatewayResource(port),
    routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
    backendResource('mcp', upstream.port),
  ];
  const gateway = await runGateway({ resources: (port) => [gatewayResource(port)] });
  t.after(() => gateway.stop());
  assert.deepEqual(await readReadiness(gateway), {
    status: 503,
    reason: 'Serving nothing: no listener has a route, so every request is answered with 404.',
  });
  gateway.write(whole(gateway.port));
  await waitFor('it is ready', async () => (await readReadiness(gateway)).status === 200);
  gateway.write(whole(gateway.port).slice(1));
  await waitFor('it is not ready', async () => (await readReadiness(gateway)).status === 503);
  assert.match((await readReadiness(gateway)).reason ?? '', /no usable listener/);
});

test('a change to a port that is in use keeps the former port, with the new routes', async (t) => {
  const upstream = await startMcpUpstream();
  t.after(() => upstream.close());
  const [other] = (await findFreePorts(1)) as [number];
  const taken = await occupy(t, other);
  const resources = (port: number, path: string): object[] => [
    gatewayResource(port),
    routeResource('mcp', [ruleTo(path, 'mcp')]),
    backendResource('mcp', upstream.port),
  ];
  const gateway = await runGateway({ resources: (port) => resources(port, '/old') });
  t.after(() => gateway.stop());
  assert.equal(await askAt(gateway.port, '/old'), 200);

  gateway.write(resources(other, '/new'));
  await waitFor('the new routes are served', async () => (await askAt(gateway.port, '/new')) === 200);
  assert.equal(await askAt(gateway.port, '/old'), 404, 'what is not configured any more is not served');
  const said = new RegExp(
    `port ${other}: .*already uses it\\..* Until then .*port ${gateway.port} stays open in its place`,
  );
  await waitFor('readiness tells', async () => said.test((await readReadiness(gateway)).reason ?? ''));
  assert.equal((await readReadiness(gateway)).status, 200);
  assert.match(gateway.readOutput(), said);

  await new Promise((resolve) => void taken.close(resolve));
  gateway.write(resources(other, '/newer'));
  await waitFor('the port is open', async () => (await askAt(other, '/newer')) === 200);
  await waitFor('the former port is closed', async () => (await askAt(gateway.port, '/newer')) === undefined);
  assert.deepEqual(await readReadiness(gateway), { status: 200, reason: undefined });
});

describe('the ports of the gateway itself', () => {
  const starter = (name: PortStarter['name'], port: number): PortStarter => ({
    name,
    port,
    start: (at) =>
      startPlainServer({
        name,
        address: '127.0.0.1',
        port: at,
        portFlag: '--x',
        portEnv: 'X',
        pages: {},
        log: silentLog,
        localOnly: true,
      }),
  });

  test('move up when nobody chose them, and only then', async (t) => {
    const [base] = (await findFreePorts(1)) as [number];
    await occupy(t, base);
    const [opened] = await openOwnPorts([starter('adminPort', base)], new Set(['adminPort']));
    t.after(() => opened?.close());
    assert.equal(opened?.takenPort, base);
    assert.ok(opened.port > base);
    await assert.rejects(openOwnPorts([starter('adminPort', base)], new Set(['metricsPort'])), PortsTakenError);
    const origins = { adminPort: 'default', metricsPort: 'flag', readinessPort: 'env' } as const;
    assert.deepEqual([...listMovable(origins)], ['adminPort']);
  });

  test('that are taken are all named at once, with those for traffic', async (t) => {
    const ports = (await findFreePorts(4)) as [number, number, number, number];
    for (const port of ports) await occupy(t, port);
    const [traffic, admin, metrics, readiness] = ports;
    const flags = ['--port', traffic, '--admin-port', admin, '--metrics-port', metrics, '--readiness-port', readiness];
    const run = runCommandHere(runCommand, ['--target', 'http://127.0.0.1:9/mcp', ...flags.map(String)], process.env);
    assert.equal(await run.waitForExit(), 1);
    const lines = run.readOutput().split('\n');
    for (const port of ports)
      assert.equal(
        lines.filter((line) => line.startsWith('mcp-gatehouse run:') && line.includes(String(port))).length,
        1,
        run.readOutput(),
      );
  });
});

test('a gateway that ends says which streams it waits for', async (t) => {
  const upstream = await startRecordingUpstream('stream', (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': here\n\n');
  });
  t.after(() => upstream.close());
  const gateway = await runGateway({
    resources: (port) => [
      gatewayResource(port),
      routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
      backendResource('mcp', upstream.port),
    ],
    flags: ['--drain-timeout', '90s'],
  });
  const abort = new AbortController();
  const stream = await fetch(gateway.urlOf('/mcp'), {
    headers: { accept: 'text/event-stream' },
    signal: abort.signal,
  });
  assert.equal(stream.status, 200);
  const stopped = gateway.stop();
  await waitFor('it says so', () =>
    gateway.readOutput().includes('1 stream is open; it has 90 s; a second signal ends it now'),
  );
  abort.abort();
  assert.equal(await stopped, 0);
});
