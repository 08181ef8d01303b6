// `mcp-gatehouse gateway --workers 2`: one stream from the controller for all workers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFreePorts } from '../kit/free-ports.ts';
import { startCountingUpstream } from '../integration/counting-upstream.ts';
import {
  configure,
  makeFolder,
  publish,
  route,
  startController,
  startGatewayCommandProcess,
  waitForSettled,
} from '../integration/gateway-command-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';
import { connectToEach, listWorkers } from '../integration/workers-fixture.ts';

test('a configuration is acknowledged once, when both workers have it, and comes back from the snapshot file', async (t) => {
  const upstream = await startCountingUpstream();
  t.after(() => upstream.close());
  const [port] = (await findFreePorts(1)) as [number];
  const controller = await startController(t);
  const address = `http://127.0.0.1:${controller.port}`;
  const flags = ['--workers', '2', '--snapshot-file', `${makeFolder(t)}/snapshot`];
  const gateway = await startGatewayCommandProcess(t, address, flags);
  const first = publish(controller, configure(port, upstream.port, { routes: [route('a', '/a')] }));
  await waitForSettled(controller, first);
  await waitFor(() => gateway.isReady());
  assert.equal(controller.connected.get().length, 1);
  const connections = await connectToEach(listWorkers(gateway.child.pid), port, '/a');
  t.after(() => {
    for (const connection of connections.values()) connection.close();
  });
  assert.equal(connections.size, 2);
  for (const connection of connections.values()) assert.equal((await connection.post('/a')).status, 200);

  const second = publish(controller, configure(port, upstream.port, { routes: [route('b', '/b')] }));
  await waitForSettled(controller, second);
  for (const connection of connections.values()) {
    assert.equal((await connection.post('/a')).status, 404);
    assert.equal((await connection.post('/b')).status, 200);
  }

  assert.equal(await gateway.stop(), 0);
  await controller.close();
  const again = await startGatewayCommandProcess(t, address, flags);
  await waitFor(() => again.isReady());
  assert.equal((await fetch(`http://127.0.0.1:${port}/b`, { method: 'POST', body: '{}' })).status, 200);
});
