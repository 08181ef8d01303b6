// `mcp-gatehouse gateway --workers 2 --on-stale close`: all workers close and open together, also one that takes the place of another meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCountingUpstream } from '../integration/counting-upstream.ts';
import {
  configure,
  getStatus,
  publish,
  route,
  startController,
  startGatewayCommandProcess,
} from '../integration/gateway-command-fixture.ts';
import { connectToEach, killHard, listWorkers } from '../integration/workers-fixture.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { waitFor } from '../kit/wait-for.ts';

test('two workers close, and open again', async (t) => {
  const upstream = await startCountingUpstream();
  t.after(() => upstream.close());
  const [port] = (await findFreePorts(1)) as [number];
  const controller = await startController(t);
  const flags = ['--workers', '2', '--max-staleness', '5s', '--on-stale', 'close'];
  const gateway = await startGatewayCommandProcess(t, `http://127.0.0.1:${controller.port}`, flags);
  const configuration = configure(port, upstream.port, { routes: [route('a', '/a')] });
  publish(controller, configuration);
  await waitFor(() => gateway.isReady());
  const before = listWorkers(gateway.child.pid);
  const connections = await connectToEach(before, port, '/a');
  t.after(() => {
    for (const connection of connections.values()) connection.close();
  });
  assert.equal(connections.size, 2);
  const stream = await fetch(`http://127.0.0.1:${port}/a`);
  const broken = assert.rejects(stream.text());

  await controller.close();
  for (const connection of connections.values())
    await waitFor('the worker is closed', async () => (await connection.post('/a')).status === 503);
  await broken;
  assert.equal(await gateway.isReady(), false);

  killHard(before[0]!);
  const after = await waitFor('there is another worker', () => {
    const pids = listWorkers(gateway.child.pid);
    return pids.length === 2 && !pids.includes(before[0]!) && pids;
  });
  const others = await waitFor('it listens', async () => {
    const found = await connectToEach(after, port, '/a');
    if (found.size === 2) return found;
    for (const connection of found.values()) connection.close();
    return undefined;
  });
  t.after(() => {
    for (const connection of others.values()) connection.close();
  });
  for (const connection of others.values()) assert.equal((await connection.post('/a')).status, 503);

  publish(await startController(t, { port: controller.port }), configuration);
  for (const connection of others.values())
    await waitFor('the worker is open', async () => (await connection.post('/a')).status === 200);
  await waitFor(() => gateway.isReady());
  assert.equal(await getStatus(port, '/b'), 404);
});
