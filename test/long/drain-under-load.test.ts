// SIGTERM: every accepted request is answered, streams get a bounded time, the exit code is 0.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCountingUpstream } from '../integration/counting-upstream.ts';
import { openEventStream, startRequestLoad } from '../integration/load-clients.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayProcessRun, runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

async function startUnderLoad(t: { after(fn: () => unknown): void }, flags: readonly string[]) {
  const upstream = await startCountingUpstream({ delayMs: 20 });
  t.after(() => upstream.close());
  const gateway = await runGatewayProcess({
    resources: (port) => [
      gatewayResource(port),
      routeResource('main', [ruleTo('/mcp', 'server')]),
      backendResource('server', upstream.port),
    ],
    flags: ['--log-level', 'warn', ...flags],
  });
  t.after(() => gateway.stop());
  return { upstream, gateway, url: `http://127.0.0.1:${gateway.port}/mcp` };
}

/** Signals until the process ends. A terminal and npm may both pass on one Ctrl-C: signals that come together count as one. */
async function endAtOnce({ child }: GatewayProcessRun): Promise<void> {
  assert.equal(child.exitCode(), undefined);
  await waitFor(() => {
    if (child.exitCode() === undefined) process.kill(child.pid, 'SIGTERM');
    return child.exitCode() !== undefined;
  });
  assert.equal(await child.waitForExit(), 143);
}

test('SIGTERM under load loses no accepted request', async (t) => {
  const { gateway, url } = await startUnderLoad(t, ['--drain-timeout', '20s']);
  const load = startRequestLoad(url, 16);
  await waitFor(() => load.completed > 200);
  process.kill(gateway.child.pid, 'SIGTERM');
  const code = await gateway.child.waitForExit();
  await load.stop();
  // Once the port is closed, new connections are refused: those requests were never accepted.
  const lost = load.failures.filter((failure) => !failure.startsWith('ECONNREFUSED'));
  assert.deepEqual(lost, []);
  assert.equal(code, 0, gateway.readOutput());
});

test('SIGTERM with a delay: not ready at once, and new connections are served until the delay is over', async (t) => {
  const { gateway, url } = await startUnderLoad(t, ['--shutdown-delay', '1h', '--drain-timeout', '20s']);
  process.kill(gateway.child.pid, 'SIGTERM');
  await waitFor(
    async () => (await fetch(`http://127.0.0.1:${gateway.readinessPort}/ready`).catch(() => undefined))?.status === 503,
  );
  const load = startRequestLoad(url, 16);
  await waitFor(() => load.completed > 200);
  await load.stop();
  assert.deepEqual(load.failures, []);
  await endAtOnce(gateway);
});

test('when the delay is over it drains, and ends with 0', async (t) => {
  const { gateway } = await startUnderLoad(t, ['--shutdown-delay', '50ms', '--drain-timeout', '20s']);
  process.kill(gateway.child.pid, 'SIGTERM');
  assert.equal(await gateway.child.waitForExit(), 0, gateway.readOutput());
});

test('an open stream goes on until the drain time-out, then the process ends with 0', async (t) => {
  const { gateway, upstream, url } = await startUnderLoad(t, ['--drain-timeout', '1500ms']);
  const stream = await openEventStream(url);
  upstream.tick();
  await waitFor(() => stream.last === 1);
  process.kill(gateway.child.pid, 'SIGTERM');
  // Not ready at once, so that nobody sends more.
  await waitFor(
    async () => (await fetch(`http://127.0.0.1:${gateway.readinessPort}/ready`).catch(() => undefined))?.status === 503,
  );
  upstream.tick();
  await waitFor(() => stream.last === 2);
  assert.equal(stream.failure, undefined);
  assert.equal(await gateway.child.waitForExit(), 0, gateway.readOutput());
  await waitFor(() => stream.failure !== undefined);
  assert.notEqual(stream.failure, 'ended', 'a stream that was cut must not look complete');
});

test('a second signal ends the process at once', async (t) => {
  const { gateway, url } = await startUnderLoad(t, ['--drain-timeout', '60s']);
  const stream = await openEventStream(url);
  process.kill(gateway.child.pid, 'SIGTERM');
  await waitFor(
    async () => (await fetch(`http://127.0.0.1:${gateway.readinessPort}/ready`).catch(() => undefined))?.status === 503,
  );
  await endAtOnce(gateway);
  stream.close();
});
