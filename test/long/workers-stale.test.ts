// `mcp-gatehouse gateway --workers 2 --on-stale close`: all workers close and open together, also one that takes the place of another meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCountingUpstream } from '../integration/counting-upstream.ts';
import {
  configure,
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
  const url = `http://127.0.0.1:${port}/a`;
  const controller = await startController(t);
  const flags = ['--workers', '2', '--max-staleness', '5s', '--on-stale', 'close'];
  const gateway = await startGatewayCommandProcess(t, `http://127.0.0.1:${controller.port}`, flags);
  const configuration = configure(port, upstream.port, { routes: [route('a', '/a')] });
  publish(controller, configuration);
  await waitFor(() => gateway.isReady());
  /** The statuses of so many requests, each on its own connection, that both workers get some. */
  const sample = async (): Promise<readonly number[]> => {
    const statuses = new Set<number>();
    for (let count = 0; count < 40; count += 1) {
      const answer = await fetch(url, { method: 'POST', body: '{}', headers: { connection: 'close' } });
      await answer.arrayBuffer();
      statuses.add(answer.status);
    }
    return [...statuses];
  };
  const expectSample = (status: number): Promise<unknown> =>
    waitFor(`all workers answer ${status}`, async () => (await sample()).join() === String(status));
  await expectSample(200);
  const stream = await fetch(url);
  const broken = assert.rejects(stream.text());

  await controller.close();
  await expectSample(503);
  await broken;
  assert.equal(await gateway.isReady(), false);

  const before = listWorkers(gateway.child.pid);
  killHard(before[0]!);
  await waitFor('there is another worker, and it serves', async () => {
    const text = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
    return /^mcp_gateway_workers 2$/m.test(text) && !listWorkers(gateway.child.pid).includes(before[0]!);
  });
  assert.deepEqual(await sample(), [503]);

  publish(await startController(t, { port: controller.port }), configuration);
  await expectSample(200);
  await waitFor(() => gateway.isReady());
  const connections = await connectToEach(listWorkers(gateway.child.pid), port, '/a');
  for (const connection of connections.values()) connection.close();
  assert.equal(connections.size, 2);
});
