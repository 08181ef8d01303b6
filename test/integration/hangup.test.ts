// SIGHUP, sent to real processes: they read their files again, or say that they have none, and go on. Only one whose terminal was closed ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startChild } from '../kit/child-process.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { program } from '../kit/gateway-program.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startController, startGatewayCommandProcess } from './gateway-command-fixture.ts';
import { describeResources, listWorkers, startWorkers } from './workers-fixture.ts';

test('run reads its files again, with workers in the first process; the watchers would still wait', async (t) => {
  const { gateway, upstream } = await startWorkers(t, { flags: ['--reload-settle', '60s'] });
  const count = (text: string): number =>
    gateway.readLog().filter(({ msg }) => typeof msg === 'string' && msg.includes(text)).length;
  const workers = listWorkers(gateway.child.pid);
  gateway.write(describeResources(gateway.port, upstream.port, '/b'));
  // Also to the workers, as systemd does with KillMode=control-group: the first process alone acts on it.
  for (const pid of [...workers, gateway.child.pid]) process.kill(pid, 'SIGHUP');
  await waitFor('the change is read', () => count('the files were read again; they have changed') === 1);
  await waitFor('it is in force', async () => (await gateway.readMetric('mcp_gateway_config_version')) === 2);
  process.kill(gateway.child.pid, 'SIGHUP');
  await waitFor('it is read once more', () => count('the files were read again; nothing has changed') === 1);
  assert.equal(count('SIGHUP: reading the files again'), 2);
  assert.deepEqual(listWorkers(gateway.child.pid), workers);
});

test('run --target has nothing to reload, and goes on', async (t) => {
  const [port] = (await findFreePorts(1)) as [number];
  const own = ['--admin-port', '--metrics-port', '--readiness-port'].flatMap((flag) => [flag, '0']);
  const child = startChild({
    command: process.execPath,
    args: [
      program,
      'run',
      '--target',
      'http://127.0.0.1:9/mcp',
      '--port',
      String(port),
      '--log-format',
      'json',
      ...own,
    ],
  });
  t.after(() => child.stop());
  const isServing = async (): Promise<boolean> =>
    (await fetch(`http://127.0.0.1:${port}/nowhere`).catch(() => undefined)) !== undefined;
  await waitFor('it serves', isServing);
  process.kill(child.pid, 'SIGHUP');
  await waitFor('it says so', () => child.readOutput().includes('SIGHUP: there is nothing to reload: flags say'));
  assert.ok(await isServing());
  assert.equal(await child.stop(), 0);
});

test('gateway has nothing to reload, and goes on', async (t) => {
  const controller = await startController(t);
  const { child } = await startGatewayCommandProcess(t, `http://127.0.0.1:${controller.port}`);
  await waitFor('it runs', () => child.readOutput().includes('the controller says what to serve'));
  process.kill(child.pid, 'SIGHUP');
  await waitFor('it says so', () => child.readOutput().includes('SIGHUP: there is nothing to reload: the controller'));
  assert.equal(await child.stop(), 0);
});
