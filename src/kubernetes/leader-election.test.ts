// Who leads, when, and never two at once.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { silentLog } from '../base/log.ts';
import { Watchable } from '../base/watchable.ts';
import { createManualClock, type ManualClock } from '../../test/kit/manual-clock.ts';
import {
  ApiError,
  ApiUnreachableError,
  type KubernetesClient,
  type KubernetesObject,
  type WatchEvent,
} from './client.ts';
import { LeaderElection } from './leader-election.ts';
import { leaderAddressAnnotation, unfitAnnotation, wantedByAnnotation } from './lease.ts';
import { effort } from '../../test/kit/effort.ts';

function refuse(code: number, reason: string): ApiError {
  return new ApiError(reason, { code, reason, message: reason, retryAfterSeconds: undefined });
}

/** Resolves if there is nothing to wait for. */
async function rejectOnAbort(signal: AbortSignal, delay: Promise<void> | undefined): Promise<void> {
  if (delay === undefined) return;
  await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
}

/** An API server with one Lease. */
function createLeaseApi() {
  let lease: KubernetesObject | undefined;
  let version = 0;
  const watchers = new Set<(event: WatchEvent) => void>();
  const store = (object: KubernetesObject): KubernetesObject => {
    version += 1;
    lease = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    for (const tell of watchers) tell({ type: 'MODIFIED', object: lease });
    return lease;
  };
  /** Replicas that are cut off. */
  const cutOff = new Set<string>();
  const calls: string[] = [];
  const beforeReplace: (() => void)[] = [];
  let answering: Promise<void> | undefined;
  const connect = (
    identity: string,
    options: { watch: boolean },
  ): Pick<KubernetesClient, 'get' | 'create' | 'replace' | 'watch'> => {
    const check = (verb: string): void => {
      calls.push(`${identity} ${verb}`);
      if (cutOff.has(identity)) throw new ApiUnreachableError('connection refused');
    };
    return {
      async get() {
        check('get');
        if (lease === undefined) throw refuse(404, 'NotFound');
        return lease;
      },
      async create(_type, object) {
        check('create');
        if (lease !== undefined) throw refuse(409, 'AlreadyExists');
        return store(object);
      },
      async replace(_type, object, signal) {
        check('replace');
        beforeReplace.shift()?.();
        if (lease === undefined) throw refuse(404, 'NotFound');
        if (object.metadata.resourceVersion !== lease.metadata.resourceVersion) throw refuse(409, 'Conflict');
        const stored = store(object);
        const delay = answering;
        answering = undefined;
        await (signal === undefined ? delay : Promise.race([delay, rejectOnAbort(signal, delay)]));
        return stored;
      },
      async *watch(_type, _scope, _version, signal) {
        if (!options.watch) throw new ApiUnreachableError('no watch');
        const events: WatchEvent[] = [];
        let wake = (): void => {};
        const tell = (event: WatchEvent): void => {
          events.push(event);
          wake();
        };
        watchers.add(tell);
        signal.addEventListener('abort', () => wake());
        try {
          while (!signal.aborted) {
            const event = events.shift();
            if (event !== undefined) yield event;
            else await new Promise<void>((resolve) => (wake = resolve));
          }
        } finally {
          watchers.delete(tell);
        }
      },
    };
  };
  return {
    connect,
    cutOff,
    calls,
    /** Each runs once, when the next replacement has arrived and is not written yet. */
    beforeReplace,
    /** The next replacement is written, and answered only then. */
    delayAnswer: (delay: Promise<void>) => void (answering = delay),
    watchers,
    get lease() {
      return lease;
    },
    touch: (change: (lease: KubernetesObject) => KubernetesObject) => store(change(lease!)),
    remove: () => (lease = undefined),
  };
}

function join(
  api: ReturnType<typeof createLeaseApi>,
  clock: ManualClock,
  identity: string,
  options: { skewMs?: number; watch?: boolean; random?: () => number; isFit?: Watchable<boolean> } = {},
): LeaderElection {
  return new LeaderElection({
    client: api.connect(identity, { watch: options.watch ?? true }),
    log: silentLog,
    namespace: 'proxy-system',
    name: 'proxy-controller',
    identity,
    address: `${identity}:9978`,
    clock: { now: () => clock.now() + (options.skewMs ?? 0), setTimer: (run, delayMs) => clock.setTimer(run, delayMs) },
    monotonic: () => clock.now(),
    elapsed: () => clock.now(),
    random: options.random ?? (() => 0.5),
    ...(options.isFit !== undefined && { isFit: options.isFit }),
  });
}

describe('leader election', () => {
  test('the first replica leads, the second follows and knows where the leader is', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const a = join(api, clock, 'a');
    await clock.advance(0);
    const b = join(api, clock, 'b');
    await clock.advance(0);
    assert.deepEqual(a.leadership.get(), { role: 'leader' });
    assert.equal(a.isLeading(), true);
    assert.deepEqual(b.leadership.get(), { role: 'follower', leader: { identity: 'a', address: 'a:9978' } });
    assert.equal(b.isLeading(), false);
    const spec = api.lease!['spec'] as Record<string, unknown>;
    assert.match(String(spec['renewTime']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.deepEqual([spec['holderIdentity'], spec['leaseDurationSeconds'], spec['leaseTransitions']], ['a', 15, 0]);
    await clock.advance(60_000);
    assert.equal(a.isLeading(), true);
    assert.equal(b.isLeading(), false);
    await Promise.all([a.stop(), b.stop()]);
  });

  test('a leader that stops gives the lease back, and the next takes it at once', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const a = join(api, clock, 'a');
    await clock.advance(0);
    const b = join(api, clock, 'b');
    await clock.advance(3_000);
    await a.stop();
    assert.equal(a.isLeading(), false);
    await clock.advance(0);
    assert.equal(b.isLeading(), true);
    assert.equal(api.lease!.metadata.annotations?.[leaderAddressAnnotation], 'b:9978');
    assert.equal((api.lease!['spec'] as { leaseTransitions: number }).leaseTransitions, 1);
    await b.stop();
    assert.equal((api.lease!['spec'] as { holderIdentity: string }).holderIdentity, '');
    assert.equal(api.watchers.size, 0);
  });

  test('a renewal that is written while the lease is given back does not keep it', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const a = join(api, clock, 'a');
    await clock.advance(3_000);
    api.beforeReplace.push(() => void api.touch((lease) => lease));
    await a.stop();
    assert.equal((api.lease!['spec'] as { holderIdentity: string }).holderIdentity, '');
  });

  for (const isAnswered of [true, false])
    test(`one that stops while it takes the lease gives it back, and the next takes it at once; answered: ${isAnswered}`, async () => {
      const api = createLeaseApi();
      const clock = createManualClock();
      const before = join(api, clock, 'before');
      await clock.advance(0);
      await before.stop();
      const answer = Promise.withResolvers<void>();
      api.delayAnswer(answer.promise);
      const a = join(api, clock, 'a');
      await clock.advance(0);
      assert.equal((api.lease!['spec'] as { holderIdentity: string }).holderIdentity, 'a');
      assert.equal(a.isLeading(), false);
      const stopped = a.stop();
      if (isAnswered) answer.resolve();
      await stopped;
      assert.equal(a.isLeading(), false);
      assert.equal((api.lease!['spec'] as { holderIdentity: string }).holderIdentity, '');
      const b = join(api, clock, 'b');
      await clock.advance(0);
      assert.equal(b.isLeading(), true);
      await b.stop();
    });

  test('one that follows another leaves the lease alone when it stops', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const a = join(api, clock, 'a');
    await clock.advance(0);
    const b = join(api, clock, 'b');
    await clock.advance(3_000);
    const from = api.calls.length;
    await b.stop();
    assert.deepEqual(api.calls.slice(from), []);
    assert.equal((api.lease!['spec'] as { holderIdentity: string }).holderIdentity, 'a');
    await a.stop();
  });

  test('without a watch the hand-over takes until the next look', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const a = join(api, clock, 'a');
    await clock.advance(0);
    const b = join(api, clock, 'b', { watch: false });
    await clock.advance(3_000);
    await a.stop();
    await clock.advance(4_400);
    assert.equal(b.isLeading(), true);
    await b.stop();
  });

  test('a leader that is cut off stops leading before another one starts', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const a = join(api, clock, 'a');
    await clock.advance(0);
    const b = join(api, clock, 'b');
    await clock.advance(0);
    api.cutOff.add('a');
    let lostAt = 0;
    let takenAt = 0;
    const startedAt = clock.now();
    a.leadership.subscribe(() => (lostAt = clock.now() - startedAt));
    b.leadership.subscribe(({ role }) => {
      if (role === 'leader') takenAt = clock.now() - startedAt;
    });
    await clock.advance(30_000);
    assert.deepEqual(a.leadership.get(), { role: 'follower', leader: undefined });
    assert.ok(lostAt > 0 && lostAt <= 10_000, `lost after ${lostAt}`);
    assert.ok(takenAt >= 15_000 - 2_000 && takenAt <= 17_000, `taken after ${takenAt}`);
    assert.ok(takenAt > lostAt);
    api.cutOff.clear();
    await clock.advance(5_000);
    assert.deepEqual(a.leadership.get(), { role: 'follower', leader: { identity: 'b', address: 'b:9978' } });
    await Promise.all([a.stop(), b.stop()]);
  });

  test('clocks that differ by an hour change nothing', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const a = join(api, clock, 'a', { skewMs: -3_600_000 });
    await clock.advance(0);
    const b = join(api, clock, 'b', { skewMs: 3_600_000 });
    await clock.advance(120_000);
    assert.equal(a.isLeading(), true);
    assert.equal(b.isLeading(), false);
    await a.stop();
    await clock.advance(0);
    assert.equal(b.isLeading(), true);
    await b.stop();
  });

  test('a process that was stopped, or a machine that was suspended, knows that it may not lead before anything else happens', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    let offset = 0;
    const a = new LeaderElection({
      client: api.connect('a', { watch: true }),
      log: silentLog,
      namespace: 'proxy-system',
      name: 'proxy-controller',
      identity: 'a',
      address: 'a:9978',
      clock,
      monotonic: () => clock.now(),
      elapsed: () => clock.now() + offset,
      random: () => 0,
    });
    await clock.advance(0);
    assert.equal(a.isLeading(), true);
    offset = 20_000; // no timer has fired meanwhile
    assert.equal(a.isLeading(), false);
    await a.stop();
  });

  test('somebody who annotates the lease does not end the leadership, and the annotation stays', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const a = join(api, clock, 'a');
    await clock.advance(0);
    const roles: string[] = [];
    a.leadership.subscribe(({ role }) => roles.push(role));
    api.touch((lease) => ({ ...lease, metadata: { ...lease.metadata, annotations: { note: 'hello' } } }));
    await clock.advance(4_000);
    assert.deepEqual(roles, []);
    assert.deepEqual(api.lease!.metadata.annotations, { note: 'hello', [leaderAddressAnnotation]: 'a:9978' });
    api.remove();
    await clock.advance(4_000);
    assert.equal(a.isLeading(), true);
    assert.notEqual(api.lease, undefined);
    await a.stop();
  });

  test('a leader that was cut off can tell whether another one has led meanwhile', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const a = join(api, clock, 'a');
    assert.equal(a.term, undefined);
    await clock.advance(0);
    const first = a.term;
    assert.notEqual(first, undefined);
    api.cutOff.add('a');
    await clock.advance(30_000);
    assert.equal(a.isLeading(), false);
    api.cutOff.delete('a');
    await clock.advance(10_000);
    assert.equal(a.isLeading(), true);
    assert.equal(a.term, first, 'nobody has');

    api.cutOff.add('a');
    const b = join(api, clock, 'b');
    await clock.advance(30_000);
    assert.equal(b.isLeading(), true);
    await b.stop();
    api.cutOff.delete('a');
    await clock.advance(10_000);
    assert.equal(a.isLeading(), true);
    assert.notEqual(a.term, first);
    await a.stop();
  });

  test('a container that is restarted in its pod takes its own lease back at once', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const first = join(api, clock, 'a');
    await clock.advance(0);
    const second = join(api, clock, 'a');
    await clock.advance(0);
    assert.equal(second.isLeading(), true);
    await Promise.all([first.stop(), second.stop()]);
  });

  test('whatever is cut off and when, there are never two leaders', async () => {
    const steps = fc.array(
      fc.record({ who: fc.constantFrom('a', 'b', 'c'), wait: fc.integer({ min: 1, max: 20_000 }) }),
      {
        maxLength: 12,
      },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.double({ min: 0, max: 0.999, noNaN: true }), async (plan, jitter) => {
        const api = createLeaseApi();
        const clock = createManualClock();
        const replicas = ['a', 'b', 'c'].map((identity) => join(api, clock, identity, { random: () => jitter }));
        const check = (): void => assert.ok(replicas.filter((replica) => replica.isLeading()).length <= 1);
        for (const replica of replicas) replica.leadership.subscribe(check);
        await clock.advance(0);
        for (const { who, wait } of plan) {
          if (api.cutOff.has(who)) api.cutOff.delete(who);
          else api.cutOff.add(who);
          await clock.advance(wait);
          check();
        }
        api.cutOff.clear();
        await clock.advance(40_000);
        assert.equal(replicas.filter((replica) => replica.isLeading()).length, 1);
        await Promise.all(replicas.map((replica) => replica.stop()));
      }),
      { numRuns: effort(30, 10) },
    );
  });
});

describe('a replica that is not fit to lead', () => {
  for (const watch of [true, false])
    test(`gives the lease to one that is, and takes it back only when it has to; with a watch: ${watch}`, async () => {
      const api = createLeaseApi();
      const clock = createManualClock();
      const isFit = new Watchable(true);
      const a = join(api, clock, 'a', { isFit, watch });
      await clock.advance(0);
      const b = join(api, clock, 'b', { watch });
      await clock.advance(3_000);
      assert.equal(a.isLeading(), true);
      isFit.set(false);
      await clock.advance(0);
      await clock.advance(watch ? 2_000 : 10_000);
      assert.deepEqual([a.isLeading(), b.isLeading()], [false, true]);
      assert.deepEqual(api.lease!.metadata.annotations, { [leaderAddressAnnotation]: 'b:9978' });
      await clock.advance(60_000);
      assert.deepEqual([a.isLeading(), b.isLeading()], [false, true], 'it stays so');
      await b.stop();
      await clock.advance(5_000);
      assert.equal(a.isLeading(), true, 'somebody has to write statuses');
      await a.stop();
    });

  test('leads without a break when no other can, and says so in the lease', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const [isFitA, isFitB] = [new Watchable(false), new Watchable(false)];
    const a = join(api, clock, 'a', { isFit: isFitA });
    await clock.advance(0);
    const b = join(api, clock, 'b', { isFit: isFitB });
    const roles: string[] = [];
    a.leadership.subscribe(({ role }) => roles.push(role));
    await clock.advance(60_000);
    assert.equal(a.isLeading(), true, 'the first one leads from the start');
    assert.deepEqual(roles, []);
    assert.equal(api.lease!.metadata.annotations?.[unfitAnnotation], 'true');
    isFitA.set(true);
    await clock.advance(0);
    assert.equal(api.lease!.metadata.annotations?.[unfitAnnotation], undefined);
    isFitA.set(false);
    isFitB.set(true);
    await clock.advance(0);
    await clock.advance(2_000);
    assert.deepEqual([a.isLeading(), b.isLeading()], [false, true], 'the other one can by now');
    await Promise.all([a.stop(), b.stop()]);
  });

  test('that is asked for the lease and fit again by then keeps it', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const isFit = new Watchable(false);
    const a = join(api, clock, 'a', { isFit });
    await clock.advance(1_000);
    api.touch((lease) => ({
      ...lease,
      metadata: { ...lease.metadata, annotations: { ...lease.metadata.annotations, [wantedByAnnotation]: 'b' } },
    }));
    isFit.set(true);
    await clock.advance(2_000);
    assert.equal(a.isLeading(), true);
    assert.deepEqual(api.lease!.metadata.annotations, { [leaderAddressAnnotation]: 'a:9978' });
    await a.stop();
  });

  test('waits for the one that asked, and leads again when that one is gone', async () => {
    const api = createLeaseApi();
    const clock = createManualClock();
    const a = join(api, clock, 'a', { isFit: new Watchable(false) });
    await clock.advance(1_000);
    api.touch((lease) => ({
      ...lease,
      metadata: { ...lease.metadata, annotations: { ...lease.metadata.annotations, [wantedByAnnotation]: 'gone' } },
    }));
    await clock.advance(2_000);
    assert.equal(a.isLeading(), false);
    assert.equal((api.lease!['spec'] as { holderIdentity: string }).holderIdentity, '');
    await clock.advance(8_000);
    assert.equal(a.isLeading(), false);
    await clock.advance(10_000);
    assert.equal(a.isLeading(), true);
    await a.stop();
  });

  test('whoever is fit and when, there are never two leaders, and in the end a fit one leads', async () => {
    const steps = fc.array(
      fc.record({
        who: fc.constantFrom(0, 1, 2),
        what: fc.constantFrom('fitness', 'link'),
        wait: fc.integer({ min: 1, max: 20_000 }),
      }),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.double({ min: 0, max: 0.999, noNaN: true }), async (plan, jitter) => {
        const api = createLeaseApi();
        const clock = createManualClock();
        const names = ['a', 'b', 'c'];
        const fitness = names.map(() => new Watchable(true));
        const replicas = names.map((name, index) =>
          join(api, clock, name, { random: () => jitter, isFit: fitness[index]! }),
        );
        const check = (): void => assert.ok(replicas.filter((replica) => replica.isLeading()).length <= 1);
        for (const replica of replicas) replica.leadership.subscribe(check);
        await clock.advance(0);
        for (const { who, what, wait } of plan) {
          if (what === 'fitness') fitness[who]!.set(!fitness[who]!.get());
          else if (!api.cutOff.delete(names[who]!)) api.cutOff.add(names[who]!);
          await clock.advance(wait);
          check();
        }
        api.cutOff.clear();
        await clock.advance(60_000);
        const leader = replicas.findIndex((replica) => replica.isLeading());
        assert.notEqual(leader, -1);
        assert.ok(fitness[leader]!.get() || fitness.every((isFit) => !isFit.get()));
        await Promise.all(replicas.map((replica) => replica.stop()));
      }),
      { numRuns: effort(30, 10) },
    );
  });
});
