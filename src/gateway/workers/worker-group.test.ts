import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { silentLog } from '../../base/log.ts';
import { emptyConfiguration } from '../../ir/configuration.ts';
import { RouteSchema } from '../../ir/gen/config_pb.ts';
import { CallChannel } from './call-channel.ts';
import { ConfigurationReceiver } from './configuration-relay.ts';
import type { SupervisorCalls, WorkerCalls, WorkerSettings } from './worker-calls.ts';
import { type WorkerEnd, WorkerGroup, WorkerStartError } from './worker-group.ts';
import { waitFor } from '../../../test/kit/wait-for.ts';

/** A worker that is no process. */
class FakeWorker {
  readonly heard: string[] = [];
  readonly configurations: string[] = [];
  isKilled = false;
  end!: (end: WorkerEnd) => void;
}

type Behaviour = Partial<Pick<WorkerCalls, 'start' | 'apply' | 'stopAccepting'>>;

function startGroup(behave: (worker: FakeWorker, index: number) => Behaviour = () => ({}), count = 2) {
  const workers: FakeWorker[] = [];
  const serving: number[] = [];
  const left: object[] = [];
  const group = new WorkerGroup({
    count,
    log: silentLog,
    startProcess(receive) {
      const worker = new FakeWorker();
      const receiver = new ConfigurationReceiver();
      const ended = Promise.withResolvers<WorkerEnd>();
      worker.end = ended.resolve;
      const calls: WorkerCalls = {
        start: () => Promise.resolve(),
        takeKeys: ({ id }) => void worker.heard.push(`keys ${id}`),
        takeMetadata() {},
        apply(sent) {
          worker.heard.push('apply');
          worker.configurations.push(
            receiver
              .read(sent)
              .routes.map(({ key }) => key)
              .join(),
          );
          return Promise.resolve({ problems: [], bindProblems: [] });
        },
        watchFlow() {},
        setLogLevel: (level) => void worker.heard.push(`level ${level}`),
        readMetrics: () => Promise.resolve('# TYPE a_total counter\na_total 1\n'),
        listRequests: () => [],
        listEndpoints: () => Promise.resolve([]),
        listFederations: () => Promise.resolve([]),
        watchRequests: (isWatched) => void worker.heard.push(`watched ${isWatched}`),
        setStale: () => Promise.resolve(),
        stopAccepting: () => Promise.resolve(void worker.heard.push('stop')),
        drain: () => {
          worker.heard.push('drain');
          worker.end({ code: 0, signal: null });
        },
        ...behave(worker, workers.length),
      };
      workers.push(worker);
      const channel = new CallChannel<SupervisorCalls, WorkerCalls>(
        { send: (message) => queueMicrotask(() => receive(message)) },
        calls,
      );
      return {
        pid: workers.length,
        send: (message) => queueMicrotask(() => channel.receive(message)),
        kill() {
          worker.isKilled = true;
          worker.end({ code: null, signal: 'SIGKILL' });
        },
        ended: ended.promise,
      };
    },
    describeSettings: (number) => ({ number }) as WorkerSettings,
    offer: () => ({}) as SupervisorCalls,
    greet: (channel) => channel.tell('takeKeys', { id: 'k', snapshot: undefined }),
    onChange: (now) => void serving.push(now),
    onEnd: (worker) => void left.push(worker),
  });
  return { group, workers, serving, left };
}

const configure = (...keys: readonly string[]) => ({
  ...emptyConfiguration,
  routes: keys.map((key) => create(RouteSchema, { key })),
});

describe('a group of workers', () => {
  test('has a configuration when every worker has it', async () => {
    const held = Promise.withResolvers<void>();
    const { group, workers, serving } = startGroup((_worker, index) =>
      index === 1 ? { apply: () => held.promise.then(() => ({ problems: [], bindProblems: [] })) } : {},
    );
    await group.start();
    let isApplied = false;
    const applying = group.apply(configure('a'), []).then((reports) => {
      isApplied = true;
      return reports;
    });
    await waitFor(() => workers[0]!.configurations.length === 1);
    assert.equal(isApplied, false);
    held.resolve();
    assert.equal((await applying).length, 2);
    assert.deepEqual(serving, [1, 2]);
  });

  test('a worker that ends is replaced; the new one hears what all know, and has the configuration of now', async () => {
    const { group, workers, serving, left } = startGroup();
    await group.start();
    await group.apply(configure('a'), []);
    await group.apply(configure('b', 'c'), []);
    workers[0]!.end({ code: 1, signal: null });
    await waitFor(() => group.serving === 2 && workers.length === 3);
    assert.deepEqual(workers[2]!.heard, ['keys k', 'apply']);
    assert.deepEqual(workers[2]!.configurations, ['b,c']);
    assert.deepEqual(serving, [1, 2, 1, 2]);
    assert.equal(left.length, 1);
  });

  test('one that cannot be started is tried again, with pauses', async () => {
    let isBroken = false;
    const { group, workers } = startGroup((worker) =>
      isBroken
        ? {
            start() {
              worker.end({ code: 1, signal: null });
              return new Promise(() => {});
            },
          }
        : {},
    );
    await group.start();
    await group.apply(configure('a'), []);
    isBroken = true;
    workers[0]!.end({ code: 1, signal: null });
    await waitFor(() => workers.length === 4);
    isBroken = false;
    await waitFor(() => group.serving === 2);
    assert.deepEqual(workers.at(-1)!.configurations, ['a']);
  });

  test('one that fails to take a configuration is ended: it would enforce another one', async () => {
    let fails = false;
    const { group, workers } = startGroup((worker, index) => ({
      apply() {
        if (fails && index === 0) return Promise.reject(new Error('no'));
        worker.configurations.push('taken');
        return Promise.resolve({ problems: [], bindProblems: [] });
      },
    }));
    await group.start();
    await group.apply(configure('a'), []);
    fails = true;
    assert.equal((await group.apply(configure('b'), [])).length, 1);
    assert.equal(workers[0]!.isKilled, true);
    await waitFor(() => group.serving === 2);
    assert.deepEqual(workers[2]!.configurations, ['taken']);
  });

  test('a first start that fails says so, and leaves nothing behind', async () => {
    const { group, workers } = startGroup((worker, index) =>
      index === 1
        ? {
            start() {
              worker.end({ code: 1, signal: null });
              return new Promise(() => {});
            },
          }
        : {},
    );
    await assert.rejects(group.start(), WorkerStartError);
    assert.equal(workers[0]!.isKilled, true);
    assert.equal(workers.length, 2);
  });

  test('ends together: no worker drains before all have closed their ports', async () => {
    const held = Promise.withResolvers<void>();
    const { group, workers } = startGroup((_worker, index) =>
      index === 1 ? { stopAccepting: () => held.promise } : {},
    );
    await group.start();
    const draining = group.drain(1_000);
    await waitFor(() => workers[0]!.heard.includes('stop'));
    assert.ok(!workers[0]!.heard.includes('drain'));
    held.resolve();
    await draining;
    assert.ok(workers.every(({ heard }) => heard.includes('drain')));
  });

  test('when it ends nobody is replaced', async () => {
    const { group, workers } = startGroup();
    await group.start();
    await group.apply(configure('a'), []);
    await group.drain(1_000);
    await delay(5);
    assert.equal(workers.length, 2);
    assert.equal(group.serving, 0);
  });

  test('what a worker has counted stays counted', async () => {
    const { group, workers } = startGroup();
    await group.start();
    await group.apply(configure('a'), []);
    assert.equal((await group.readMetrics()).texts.length, 2);
    workers[0]!.end({ code: 1, signal: null });
    await waitFor(() => workers.length === 3 && group.serving === 2);
    const { texts, departed } = await group.readMetrics();
    assert.equal(texts.length, 2);
    assert.deepEqual([...departed], [['a_total', 1]]);
  });

  test('what is told is told to all', async () => {
    const { group, workers } = startGroup();
    await group.start();
    group.tell('setLogLevel', 'debug');
    await waitFor(() => workers.every(({ heard }) => heard.includes('level debug')));
  });
});
