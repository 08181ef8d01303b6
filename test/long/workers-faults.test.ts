// Workers and supervisors that are killed, and signals of every kind: each starts three processes and ends them.
import assert from 'node:assert/strict';
import { after, before as beforeAll, describe, test } from 'node:test';
import { openEventStream, startRequestLoad } from '../integration/load-clients.ts';
import {
  connectToBoth,
  connectToEach,
  countRequests,
  describeResources,
  isGone,
  killHard,
  startWorkers,
} from '../integration/workers-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

describe('a worker that is gone', () => {
  let started: Awaited<ReturnType<typeof startWorkers>>;
  const ends: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    started = await startWorkers({ after: (end) => ends.push(end) }, { delayMs: 1 });
  });
  after(() => Promise.all(ends.map((end) => end())));

  test('is replaced, and no request of the others fails', async (t) => {
    const { gateway, pids } = started;
    const connections = await connectToBoth(t, gateway);
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
    const line = gateway.readLog().find(({ msg }) => String(msg).startsWith('a worker has ended'));
    assert.deepEqual([line?.['pid'], line?.['signal']], [victim, 'SIGKILL']);
    // The new one has the port and the configuration.
    const fresh = await connectToEach(pids(), gateway.port, '/a');
    for (const connection of fresh.values()) connection.close();
    assert.deepEqual(new Set(fresh.keys()), new Set(pids()));
  });

  test('gets the configuration of now when it is replaced', async () => {
    const { gateway, upstream, pids } = started;
    gateway.write(describeResources(gateway.port, upstream.port, '/b'));
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
  test('signals for all processes at once, as terminals and systemd send them, mean the same', async (t) => {
    const { gateway, pids } = await startWorkers(t, { delayMs: 20 });
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
    const { gateway, upstream, pids } = await startWorkers(t);
    const before = pids();
    const stream = await openEventStream(`http://127.0.0.1:${gateway.port}/a`);
    t.after(() => stream.close());
    await waitFor(() => upstream.openStreams === 1);
    process.kill(gateway.child.pid, 'SIGTERM');
    await waitFor(() => gateway.readOutput().includes('shutting down'));
    // Signals within a moment of each other are one.
    await waitFor(() => {
      if (gateway.exitCode() === undefined) process.kill(gateway.child.pid, 'SIGTERM');
      return gateway.readOutput().includes('second signal: exiting');
    });
    assert.equal(await gateway.child.waitForExit(), 143);
    await waitFor(() => before.every(isGone));
  });

  test('a supervisor that is killed leaves no worker behind; streams may end first', async (t) => {
    const { gateway, upstream, pids } = await startWorkers(t, { flags: ['--drain-timeout', '60s'] });
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
