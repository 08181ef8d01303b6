// What is told about a Gateway from its processes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { emptyConfiguration } from '../ir/configuration.ts';
import { BackendSchema, PolicySchema } from '../ir/gen/config_pb.ts';
import { BindProblemSchema, KeptCertificateSchema, KeyProblemSchema, TargetHealthSchema } from '../ir/gen/report_pb.ts';
import type { ConnectedGateway } from '../xds/connected-gateway.ts';
import { resourceTypes } from '../xds/resource-types.ts';
import { buildSnapshot, type Snapshot } from '../xds/snapshot.ts';
import { FactCollector, type FactSources } from './gateway-facts.ts';
import { SnapshotHistory } from './snapshot-history.ts';

const policyType = resourceTypes.find(({ list }) => list === 'policies')!.typeUrl;

/** Policies by key; the text makes the version. */
function snapshotOf(policies: Readonly<Record<string, string>>, previous?: Snapshot): Snapshot {
  const messages = Object.entries(policies).map(([key, text]) => create(PolicySchema, { key, source: text }));
  return buildSnapshot({ ...emptyConfiguration, policies: messages }, previous);
}

function createProcess(overrides: Partial<ConnectedGateway> = {}): ConnectedGateway {
  return {
    nodeId: 'pod-a',
    gateway: 'team/edge',
    settled: undefined,
    rejections: [],
    keyProblems: [],
    bindProblems: [],
    version: '1',
    ...overrides,
  };
}

function createFixture() {
  const history = new SnapshotHistory();
  const clock = createManualClock();
  const collector = new FactCollector(history, clock);
  const collect = (sources: Partial<FactSources>) =>
    collector.collect({
      gateways: ['team/edge'],
      connected: [],
      relayed: [],
      pods: new Map(),
      deployed: new Map(),
      ...sources,
    });
  const read = (sources: Partial<FactSources>) => collect(sources).facts.get('team/edge');
  return { history, clock, collect, read };
}

describe('settled', () => {
  test('a process is settled on what it answered for, and not on what changed since', () => {
    const { history, read } = createFixture();
    const first = snapshotOf({ a: '1', b: '1' });
    history.note('team/edge', first);
    const connected = [createProcess({ settled: first.digest })];
    assert.equal(read({ connected })!.isSettled('policies', 'a'), true);
    const second = snapshotOf({ a: '1', b: '2', c: '1' }, first);
    history.note('team/edge', second);
    const facts = read({ connected })!;
    assert.deepEqual(
      ['a', 'b', 'c', 'no such'].map((key) => facts.isSettled('policies', key)),
      [true, false, false, false],
    );
    assert.equal(read({ connected: [createProcess({ settled: second.digest })] })!.isSettled('policies', 'c'), true);
  });

  test('all processes count, whichever replica they are connected to', () => {
    const { history, read } = createFixture();
    const first = snapshotOf({ a: '1' });
    const second = snapshotOf({ a: '2' });
    history.note('team/edge', first);
    history.note('team/edge', second);
    const connected = [createProcess({ settled: second.digest })];
    const behind = [createProcess({ nodeId: 'pod-b', settled: first.digest })];
    assert.equal(read({ connected })!.isSettled('policies', 'a'), true);
    const facts = read({ connected, relayed: behind })!;
    assert.deepEqual([facts.processes, facts.isSettled('policies', 'a')], [2, false]);
  });

  test('a process that both replicas tell of counts once, as we see it ourselves', () => {
    const { history, read } = createFixture();
    const first = snapshotOf({ a: '1' });
    history.note('team/edge', first);
    const facts = read({ connected: [createProcess({ settled: first.digest })], relayed: [createProcess()] })!;
    assert.deepEqual([facts.processes, facts.isSettled('policies', 'a')], [1, true]);
  });

  test('a digest that nobody knows is not settled', () => {
    const { history, read } = createFixture();
    history.note('team/edge', snapshotOf({ a: '1' }));
    assert.equal(read({ connected: [createProcess({ settled: 'unknown' })] })!.isSettled('policies', 'a'), false);
    assert.equal(read({ connected: [createProcess()] })!.isSettled('policies', 'a'), false);
  });

  test('a process that was settled, and is on an unknown digest for a moment, keeps what it had; not for long', async () => {
    const { history, clock, collect } = createFixture();
    const first = snapshotOf({ a: '1', b: '1' });
    history.note('team/edge', first);
    collect({ connected: [createProcess({ settled: first.digest })] });
    await clock.advance(3_600_000);
    history.note('team/edge', snapshotOf({ a: '1', b: '2' }, first));
    const relayed = [createProcess({ settled: 'of another replica' })];
    const { facts, recheckAfterMs } = collect({ relayed });
    assert.equal(facts.get('team/edge')!.isSettled('policies', 'a'), true);
    assert.equal(facts.get('team/edge')!.isSettled('policies', 'b'), false);
    assert.equal(recheckAfterMs, 2_000, 'when it is late');
    await clock.advance(2_000);
    assert.equal(collect({ relayed }).recheckAfterMs, 8_000, 'when it is not believed any more');
    await clock.advance(8_000);
    const later = collect({ relayed });
    assert.equal(later.facts.get('team/edge')!.isSettled('policies', 'a'), false);
    assert.deepEqual([later.recheckAfterMs, later.settled.size], [undefined, 0]);
  });

  test('a process that has just connected does not count before it has answered; for a while', async () => {
    const { history, clock, read } = createFixture();
    const first = snapshotOf({ a: '1' });
    history.note('team/edge', first);
    const connected = [createProcess({ settled: first.digest }), createProcess({ nodeId: 'pod-b' })];
    const facts = read({ connected })!;
    assert.deepEqual([facts.processes, facts.isSettled('policies', 'a')], [2, true]);
    await clock.advance(10_000);
    assert.equal(read({ connected })!.isSettled('policies', 'a'), false, 'one that does not answer is no part of it');
  });

  test('a process that reconnects keeps what it had until it has answered', () => {
    const { history, collect, read } = createFixture();
    const first = snapshotOf({ a: '1' });
    history.note('team/edge', first);
    collect({ connected: [createProcess({ settled: first.digest })] });
    collect({});
    assert.equal(read({ relayed: [createProcess()] })!.isSettled('policies', 'a'), true);
  });

  test('whatever changes, settled means: the version of the digest that was answered for is the present one', () => {
    const policies = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('1', '2', '3'), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(fc.array(policies, { minLength: 1, maxLength: 12 }), fc.nat(), (versions, choice) => {
        const { history, read } = createFixture();
        let previous: Snapshot | undefined;
        const snapshots = versions.map((each) => {
          previous = snapshotOf(each, previous);
          history.note('team/edge', previous);
          return previous;
        });
        const settled = snapshots[choice % snapshots.length]!;
        const present = snapshots.at(-1)!;
        const facts = read({ connected: [createProcess({ settled: settled.digest })] })!;
        for (const key of ['a', 'b', 'c', 'd']) {
          const version = present.resources.get(policyType)!.get(key)?.version;
          const answered = settled.resources.get(policyType)!.get(key)?.version;
          // A version that went away and came back is not recognised until the process answers again: that is not wrong, only late.
          if (facts.isSettled('policies', key)) assert.ok(version !== undefined && version === answered);
          if (settled === present) assert.equal(facts.isSettled('policies', key), version !== undefined);
        }
      }),
    );
  });
});

describe('processes', () => {
  test('a Gateway that was neither deployed nor is connected has no facts', () => {
    const { read } = createFixture();
    assert.equal(read({}), undefined);
    const deployed = new Map([['team/edge', { addresses: [], problem: 'no', addressProblem: undefined }]]);
    assert.deepEqual([read({ deployed })!.processes, read({ deployed })!.deployProblem], [0, 'no']);
  });

  test('the last process of a Gateway counts for a moment after it went', async () => {
    const { history, clock, collect, read } = createFixture();
    const first = snapshotOf({ a: '1' });
    history.note('team/edge', first);
    collect({ connected: [createProcess({ settled: first.digest })] });
    await clock.advance(3_600_000);
    const { facts, recheckAfterMs } = collect({});
    assert.deepEqual([facts.get('team/edge')!.processes, recheckAfterMs], [1, 10_000]);
    assert.equal(facts.get('team/edge')!.isSettled('policies', 'a'), true);
    await clock.advance(9_999);
    assert.equal(read({})!.processes, 1);
    await clock.advance(1);
    assert.equal(read({}), undefined);
  });

  test('one that went does not count where others are', () => {
    const { history, collect, read } = createFixture();
    const first = snapshotOf({ a: '1' });
    history.note('team/edge', first);
    const old = createProcess({ settled: undefined });
    const young = createProcess({ nodeId: 'pod-b', settled: first.digest });
    collect({ connected: [old, young] });
    const facts = read({ connected: [young] })!;
    assert.deepEqual([facts.processes, facts.isSettled('policies', 'a')], [1, true]);
  });

  test('facts that did not change are the same object', () => {
    const { history, read } = createFixture();
    history.note('team/edge', snapshotOf({ a: '1' }));
    const connected = [createProcess()];
    assert.equal(read({ connected }), read({ connected: [...connected] }));
    assert.notEqual(read({ connected }), read({ connected: [createProcess({ rejections: [] })] }));
  });
});

/** As the EndpointSlices of the Gateway's Service have them. */
function podsOf(
  serving: readonly string[],
  others: { readonly unready?: readonly string[]; readonly retiring?: readonly string[] } = {},
): FactSources['pods'] {
  const { unready = [], retiring = [] } = others;
  const pods = { serving: new Set(serving), unready: new Set(unready), retiring: new Set(retiring) };
  return new Map([['team/edge', pods]]);
}

/** Two pods on the first snapshot, and a second snapshot that one of them does not get: it was lost before. */
function createLost() {
  const fixture = createFixture();
  const first = snapshotOf({ a: '1', b: '1' });
  fixture.history.note('team/edge', first);
  const old = createProcess({ settled: first.digest });
  const other = createProcess({ nodeId: 'pod-b', settled: first.digest });
  const pods = podsOf(['pod-a', 'pod-b']);
  fixture.collect({ connected: [old, other], pods });
  const second = snapshotOf({ a: '2', b: '1' }, first);
  const change = (): void => fixture.history.note('team/edge', second);
  const present = createProcess({ nodeId: 'pod-b', settled: second.digest });
  return { ...fixture, old, other, pods, change, present, second };
}

const lost = [{ name: 'pod-a', isConnected: false }];

describe('pods that take traffic', () => {
  test('a process that is lost counts while its pod takes traffic: it has what it had, and after a while nothing', async () => {
    const { clock, collect, read, change, pods, other, present } = createLost();
    const { facts, recheckAfterMs } = collect({ connected: [other], pods });
    assert.deepEqual([facts.get('team/edge')!.processes, recheckAfterMs], [2, 10_000]);
    assert.equal(facts.get('team/edge')!.isSettled('policies', 'a'), true, 'nothing has changed yet');
    change();
    const changed = read({ connected: [present], pods })!;
    assert.deepEqual([changed.isSettled('policies', 'a'), changed.isSettled('policies', 'b')], [false, true]);
    assert.deepEqual(changed.listBehind('policies', 'a'), [], 'it may come back any moment');
    await clock.advance(2_000);
    const late = read({ connected: [present], pods })!;
    assert.deepEqual(
      [late.behind, late.listBehind('policies', 'a'), late.listBehind('policies', 'b')],
      [lost, lost, []],
    );
    await clock.advance(8_000);
    const starting = createProcess({ nodeId: 'pod-c' });
    assert.deepEqual(read({ connected: [present, starting], pods })!.listBehind('policies', 'a'), [
      ...lost,
      { name: 'pod-c', isConnected: true },
    ]);
    const unknown = read({ connected: [present], pods })!;
    assert.deepEqual([unknown.processes, unknown.isSettled('policies', 'b')], [2, false]);
    assert.deepEqual(unknown.listBehind('policies', 'b'), lost);
    await clock.advance(3_600_000);
    assert.equal(read({ connected: [present], pods }), unknown, 'for as long as it takes');
  });

  test('it does not count when its pod is gone, or takes no traffic', async () => {
    for (const pods of [podsOf(['pod-b']), podsOf(['pod-b'], { retiring: ['pod-a'] })]) {
      const { clock, read, change, pods: before, present } = createLost();
      change();
      assert.equal(read({ connected: [present], pods: before })!.isSettled('policies', 'a'), false);
      await clock.advance(60_000);
      const facts = read({ connected: [present], pods })!;
      assert.deepEqual([facts.processes, facts.behind, facts.isSettled('policies', 'a')], [1, [], true]);
    }
  });

  test('one that is not ready for a moment, as after a crash, still counts', async () => {
    const { clock, collect, read, change, pods, present } = createLost();
    change();
    collect({ connected: [present], pods });
    await clock.advance(60_000);
    const crashed = podsOf(['pod-b'], { unready: ['pod-a'] });
    const { facts, recheckAfterMs } = collect({ connected: [present], pods: crashed });
    assert.deepEqual([facts.get('team/edge')!.behind, recheckAfterMs], [lost, 10_000]);
    await clock.advance(9_999);
    assert.equal(read({ connected: [present], pods: crashed })!.isSettled('policies', 'a'), false);
    await clock.advance(1);
    const gone = read({ connected: [present], pods: crashed })!;
    assert.deepEqual([gone.processes, gone.isSettled('policies', 'a')], [1, true], 'nobody asks it');
    assert.equal(read({ connected: [present], pods })!.isSettled('policies', 'a'), false, 'it is back');
  });

  test('the only pod is lost: after the grace period nothing is settled', async () => {
    const { history, clock, collect, read } = createFixture();
    const first = snapshotOf({ a: '1' });
    history.note('team/edge', first);
    const pods = podsOf(['pod-a']);
    collect({ connected: [createProcess({ settled: first.digest })], pods });
    await clock.advance(1_000);
    assert.equal(read({ pods })!.isSettled('policies', 'a'), true);
    await clock.advance(9_999);
    assert.equal(read({ pods })!.isSettled('policies', 'a'), true);
    await clock.advance(1);
    const facts = read({ pods })!;
    assert.deepEqual([facts.processes, facts.isSettled('policies', 'a')], [1, false]);
    assert.deepEqual(facts.listBehind('policies', 'a'), lost);
  });

  test('one that comes back has nothing before it has answered, and then what it answered for', async () => {
    const { clock, collect, read, change, pods, present, second, old } = createLost();
    change();
    collect({ connected: [present], pods });
    await clock.advance(60_000);
    collect({ connected: [present], pods });
    const back = read({ connected: [{ ...old, settled: undefined }, present], pods })!;
    assert.equal(back.isSettled('policies', 'a'), false);
    assert.deepEqual(back.behind, [{ name: 'pod-a', isConnected: true }]);
    const healed = read({ connected: [{ ...old, settled: second.digest }, present], pods })!;
    assert.deepEqual([healed.isSettled('policies', 'a'), healed.behind], [true, []]);
  });

  test('after a restart of the controller nothing is settled before every pod that takes traffic has answered', async () => {
    const { history, clock, collect, read } = createFixture();
    const first = snapshotOf({ a: '1' });
    history.note('team/edge', first);
    const pods = podsOf(['pod-a', 'pod-b']);
    const present = createProcess({ nodeId: 'pod-b', settled: first.digest });
    const { facts, settled } = collect({ connected: [present], pods });
    assert.deepEqual([settled.size, facts.get('team/edge')!.isSettled('policies', 'a')], [0, false]);
    assert.deepEqual(facts.get('team/edge')!.behind, [], 'it may be about to connect');
    const connecting = read({ connected: [createProcess(), present], pods })!;
    assert.equal(connecting.isSettled('policies', 'a'), false, 'connected, and not answered');
    const elsewhere = read({ connected: [createProcess({ settled: 'of an earlier time' }), present], pods })!;
    assert.equal(elsewhere.isSettled('policies', 'a'), false);
    await clock.advance(2_000);
    assert.deepEqual(read({ connected: [present], pods })!.behind, lost);
    const both = collect({ connected: [createProcess({ settled: first.digest }), present], pods });
    assert.equal(both.facts.get('team/edge')!.isSettled('policies', 'a'), true);
    assert.deepEqual([...both.settled], ['team/edge']);
  });

  test('a pod that has just started, and takes no traffic yet, is not waited for', () => {
    const { history, read } = createFixture();
    const first = snapshotOf({ a: '1' });
    history.note('team/edge', first);
    const connected = [createProcess({ settled: first.digest }), createProcess({ nodeId: 'pod-b' })];
    assert.equal(read({ connected, pods: podsOf(['pod-a']) })!.isSettled('policies', 'a'), true);
  });

  test('a connected pod that does not answer is named; one that terminates is not waited for', async () => {
    const { clock, read, change, pods, old, present } = createLost();
    change();
    const connected = [old, present];
    assert.equal(read({ connected, pods })!.isSettled('policies', 'a'), false);
    await clock.advance(2_000);
    const facts = read({ connected, pods })!;
    assert.deepEqual(facts.listBehind('policies', 'a'), [{ name: 'pod-a', isConnected: true }]);
    const terminating = read({ connected, pods: podsOf(['pod-b'], { retiring: ['pod-a'] }) })!;
    assert.deepEqual([terminating.processes, terminating.isSettled('policies', 'a')], [1, true]);
  });

  test('a process without a pod, as one that was started by hand, counts while it is connected', async () => {
    const { clock, read, change, present } = createLost();
    change();
    const byHand = createProcess({ nodeId: 'laptop', settled: present.settled });
    const pods = podsOf(['pod-b']);
    assert.deepEqual(read({ connected: [present, byHand], pods })!.processes, 2);
    assert.deepEqual(read({ connected: [present], pods })!.processes, 1);
    await clock.advance(60_000);
    assert.equal(read({ connected: [present], pods })!.isSettled('policies', 'a'), true);
  });

  test('whatever is lost, cut off and healed: settled means that every pod that takes traffic has answered for it', () => {
    const names = ['pod-a', 'pod-b', 'pod-c'] as const;
    const step = fc.record({
      pod: fc.constantFrom(...names),
      what: fc.constantFrom('update', 'update', 'connect', 'cut', 'ready', 'unready', 'change'),
      waitMs: fc.constantFrom(0, 0, 1_000, 9_000, 20_000),
    });
    return fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
        const { history, clock, read } = createFixture();
        let snapshot = snapshotOf({ a: '0' });
        history.note('team/edge', snapshot);
        /** What each pod enforces, whoever knows. */
        const enforced = new Map<string, string | undefined>();
        const ready = new Set<string>();
        const connected = new Map<string, string | undefined>();
        for (const [index, { pod, what, waitMs }] of steps.entries()) {
          if (what === 'change') {
            snapshot = snapshotOf({ a: `${index}` }, snapshot);
            history.note('team/edge', snapshot);
          }
          if (what === 'connect') connected.set(pod, undefined);
          if (what === 'cut') connected.delete(pod);
          if (what === 'update' && connected.has(pod)) {
            connected.set(pod, snapshot.digest);
            enforced.set(pod, snapshot.digest);
          }
          // A pod is ready only with a configuration.
          if (what === 'ready' && enforced.has(pod)) ready.add(pod);
          if (what === 'unready') ready.delete(pod);
          await clock.advance(waitMs);
          const processes = Array.from(connected, ([nodeId, settled]) => createProcess({ nodeId, settled }));
          const facts = read({
            connected: processes,
            pods: podsOf([...ready], { unready: names.filter((name) => !ready.has(name)) }),
          });
          if (facts?.isSettled('policies', 'a') !== true) continue;
          for (const name of ready) assert.equal(enforced.get(name), snapshot.digest, name);
        }
      }),
    );
  });
});

describe('problems', () => {
  test('rejections of the present version, with how many say so', () => {
    const { history, read } = createFixture();
    const snapshot = snapshotOf({ a: '1', b: '1' });
    history.note('team/edge', snapshot);
    const version = snapshot.resources.get(policyType)!.get('a')!.version;
    const rejections = [
      { typeUrl: policyType, name: 'a', version, reason: 'no such claim' },
      { typeUrl: policyType, name: 'b', version: 'an older one', reason: 'over' },
      { typeUrl: policyType, name: 'gone', version: 'x', reason: 'over' },
    ];
    assert.deepEqual(read({ connected: [createProcess({ rejections })] })!.rejections, [
      { list: 'policies', key: 'a', reason: 'no such claim' },
    ]);
    const two = [createProcess({ rejections }), createProcess({ nodeId: 'pod-b' })];
    assert.deepEqual(read({ connected: two })!.rejections, [
      { list: 'policies', key: 'a', reason: 'no such claim (1 of 2 gateway processes)' },
    ]);
  });

  test('keys that were never loaded count before those that only cannot be refreshed', () => {
    const { read } = createFixture();
    const problem = (reason: string, neverLoaded: boolean) =>
      create(KeyProblemSchema, { policy: 'p', issuer: 'https://idp', reason, neverLoaded });
    const connected = [
      createProcess({ keyProblems: [problem('slow', false)] }),
      createProcess({ nodeId: 'pod-b', keyProblems: [problem('away', true)] }),
    ];
    assert.deepEqual(read({ connected })!.keyProblems.get('p'), {
      issuer: 'https://idp',
      reason: 'away',
      neverLoaded: true,
    });
  });

  test('certificates that are kept: by how many, since when, and for how long', () => {
    const { read } = createFixture();
    const kept = (listener: string, since: number, expiresAt: number) =>
      create(KeptCertificateSchema, { listener, secret: 'Secret/team/web', since, expiresAt });
    const connected = [
      createProcess({ keptCertificates: [kept('team/edge/a', 10, 90), kept('team/edge/a', 12, 80)] }),
      createProcess({ nodeId: 'pod-b', keptCertificates: [kept('team/edge/a', 9, 99), kept('team/edge/b', 1, 2)] }),
      createProcess({ nodeId: 'pod-c' }),
    ];
    assert.deepEqual(
      [...read({ connected })!.keptCertificates!],
      [
        ['team/edge/a', { processes: 2, since: 9_000, expiresAt: 80_000 }],
        ['team/edge/b', { processes: 1, since: 1_000, expiresAt: 2_000 }],
      ],
    );
  });

  test('ports that could not be opened', () => {
    const { read } = createFixture();
    const connected = [createProcess({ bindProblems: [create(BindProblemSchema, { port: 80, reason: 'in use' })] })];
    assert.deepEqual([...read({ connected })!.bindProblems], [[80, 'in use']]);
  });
});

describe('servers of federations', () => {
  test('a change within five seconds of another is looked at again when they are over; unchanged facts stay the same object', async () => {
    const { history, clock, collect } = createFixture();
    const backends = [create(BackendSchema, { key: 'ProxyBackend/team/all' })];
    const snapshot = buildSnapshot({ ...emptyConfiguration, backends });
    history.note('team/edge', snapshot);
    const see = (down: boolean) => {
      const target = { backend: 'ProxyBackend/team/all', target: 'a', down, since: 1, error: down ? 'away' : '' };
      const targets = [create(TargetHealthSchema, target)];
      return collect({ connected: [createProcess({ settled: snapshot.digest, targets })] });
    };
    const read = ({ facts }: ReturnType<typeof see>) =>
      facts.get('team/edge')!.targets?.get('ProxyBackend/team/all')?.get('a')?.down;
    assert.equal(read(see(false)), 0);
    await clock.advance(1_000);
    const early = see(true);
    assert.deepEqual([read(early), early.recheckAfterMs], [0, 4_000]);
    await clock.advance(4_000);
    const later = see(true);
    assert.deepEqual([read(later), later.recheckAfterMs], [1, undefined]);
    const again = see(true).facts.get('team/edge')!;
    assert.equal(again.targets, later.facts.get('team/edge')!.targets);
    assert.equal(collect({ connected: [] }).facts.get('team/edge')?.targets?.size, 1, 'it may only be reconnecting');
  });
});
