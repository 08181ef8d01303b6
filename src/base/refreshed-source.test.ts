import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createManualClock, settle } from '../../test/kit/manual-clock.ts';
import { createLog } from './log.ts';
import {
  countSecondsUntil,
  createRefreshedSource,
  type Fetched,
  type RefreshedSource,
  type RefreshedSourceOptions,
} from './refreshed-source.ts';

const good = (value: string, freshForMs?: number): Fetched<string> => ({ ok: true, value, freshForMs });
const down: Fetched<string> = { ok: false, detail: 'down' };

/** A source whose fetches end as the test says: at once, or when it wants. */
class Harness {
  readonly clock = createManualClock();
  readonly lines: string[] = [];
  readonly told: string[] = [];
  readonly source: RefreshedSource<string>;
  next: () => Fetched<string> | Promise<Fetched<string>>;
  fetches = 0;

  constructor(next: Harness['next'], options: Partial<RefreshedSourceOptions<string>> = {}) {
    this.next = next;
    this.source = createRefreshedSource<string>({
      name: 'the rates',
      fetch: async () => {
        this.fetches += 1;
        return await this.next();
      },
      lifetime: { defaultMs: 10_000, minMs: 1_000, maxMs: 100_000 },
      refreshAfter: [0.5, 1],
      findRetry: (isKept) => ({ firstMs: 100, maxMs: isKept ? 800 : 300, jitter: [1, 0.5] }),
      onFetched: (fetched, before) =>
        this.told.push(`${before ?? 'nothing'} > ${fetched.ok ? fetched.value : fetched.detail}`),
      listFields: () => ({ where: 'here' }),
      clock: this.clock,
      log: createLog({ level: 'debug', format: 'json', destination: { write: (line) => this.note(line) } }),
      random: () => 0,
      ...options,
    });
  }

  get value(): string | undefined {
    return this.source.state.kept?.value;
  }

  note(line: string): void {
    const { level, msg, where } = JSON.parse(line) as Record<string, string>;
    this.lines.push(`${level} ${where}: ${msg}`);
  }

  /** Runs the fetch that is scheduled, and says how long it had to wait. */
  async runNext(): Promise<number> {
    const [delay = Number.NaN, ...others] = this.clock.pendingDelays();
    assert.deepEqual(others, [], 'one timer at most');
    await this.clock.advance(delay);
    return delay;
  }
}

async function start(next: Harness['next'], options?: Partial<RefreshedSourceOptions<string>>): Promise<Harness> {
  const harness = new Harness(next, options);
  await settle();
  return harness;
}

describe('fetching', () => {
  test('starts at once, and concurrent callers share the fetch', async () => {
    const { promise, resolve } = Promise.withResolvers<Fetched<string>>();
    const harness = new Harness(() => promise);
    assert.equal(harness.fetches, 1);
    const waiting = [harness.source.load(), harness.source.fetchNow(), harness.source.load()];
    assert.equal(new Set(waiting).size, 1);
    resolve(good('a'));
    await waiting[0];
    assert.equal(harness.value, 'a');
    assert.equal(harness.fetches, 1);
    assert.equal(harness.source.state.underWay, undefined);
  });

  test('a value that is not due is not fetched, unless somebody insists', async () => {
    const harness = await start(() => good('a'));
    assert.equal(harness.source.load(), undefined);
    harness.next = () => good('b');
    await harness.source.fetchNow();
    assert.equal(harness.value, 'b');
    assert.equal(await harness.runNext(), 5_000, 'the next refresh counts from there');
  });

  test('a rejection is a failure like any other', async () => {
    const harness = await start(() => Promise.reject(new Error('boom')));
    assert.equal(harness.source.state.problem, 'internal error: Error: boom');
    harness.next = () => good('a');
    assert.equal(await harness.runNext(), 100);
    assert.equal(harness.value, 'a');
  });

  test('everybody is told what came and what there was before', async () => {
    const harness = await start(() => good('a'));
    for (const fetched of [down, good('b')]) {
      harness.next = () => fetched;
      await harness.source.fetchNow();
    }
    assert.deepEqual(harness.told, ['nothing > a', 'a > down', 'a > b']);
  });
});

describe('refreshing', () => {
  for (const [name, freshForMs, lifetimeMs] of [
    ['the default where the source says nothing', undefined, 10_000],
    ['what the source says', 20_000, 20_000],
    ['at least the minimum', 1, 1_000],
    ['at most the maximum', 1_000_000, 100_000],
  ] as const) {
    test(`comes before expiry: ${name}`, async () => {
      const harness = await start(() => good('a', freshForMs));
      const { fetchedAtMs, freshUntilMs } = harness.source.state.kept!;
      assert.equal(freshUntilMs - fetchedAtMs, lifetimeMs);
      await harness.clock.advance(lifetimeMs / 2 - 1);
      assert.equal(harness.fetches, 1);
      await harness.clock.advance(1);
      assert.equal(harness.fetches, 2);
    });
  }

  test('is spread by chance', async () => {
    const harness = await start(() => good('a'), { random: () => 0.5 });
    assert.deepEqual(harness.clock.pendingDelays(), [7_500]);
  });

  test('a late timer is made up for by the next reader, who gets the old value meanwhile', async () => {
    const harness = await start(() => good('a'));
    harness.clock.leap(86_400_000);
    harness.next = () => good('b');
    void harness.source.load();
    assert.equal(harness.value, 'a');
    await settle();
    assert.equal(harness.value, 'b');
    assert.equal(harness.fetches, 2);
  });

  test('a fetch that hangs does not take the old value away, and no other one starts', async () => {
    const harness = await start(() => good('a'));
    harness.next = () => new Promise(() => {});
    await harness.runNext();
    await harness.clock.advance(86_400_000);
    for (let reader = 0; reader < 10; reader += 1) {
      void harness.source.load();
      assert.equal(harness.value, 'a');
    }
    assert.equal(harness.fetches, 2);
  });
});

describe('failures', () => {
  test('without a value: delays grow to their limit, and readers do not add fetches', async () => {
    const harness = await start(() => down);
    const delays: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      assert.equal(harness.source.load(), undefined);
      delays.push(await harness.runNext());
    }
    assert.deepEqual(delays, [100, 200, 300, 300, 300]);
    assert.equal(harness.fetches, 6);
    assert.equal(harness.source.state.kept, undefined);
    assert.equal(harness.source.state.problem, 'down');
  });

  test('with a value: it stays, the limit is the other one, and a success starts the delays over', async () => {
    const harness = await start(() => good('a'));
    const { kept } = harness.source.state;
    harness.next = () => down;
    const delays = [await harness.runNext()];
    for (let round = 0; round < 5; round += 1) delays.push(await harness.runNext());
    assert.deepEqual(delays, [5_000, 100, 200, 400, 800, 800]);
    assert.equal(harness.source.state.kept, kept, 'as old as it is');
    harness.next = () => good('b');
    await harness.runNext();
    assert.equal(harness.value, 'b');
    assert.equal(harness.source.state.problem, undefined);
    harness.next = () => down;
    assert.deepEqual([await harness.runNext(), await harness.runNext()], [5_000, 100]);
  });

  test('delays are jittered', async () => {
    const harness = await start(() => down, { random: () => 0.5 });
    assert.deepEqual(harness.clock.pendingDelays(), [75]);
  });

  test('are logged, fewer and fewer, and their end', async () => {
    const harness = await start(() => down);
    for (let round = 0; round < 4; round += 1) await harness.runNext();
    const failed = 'here: the rates cannot be fetched';
    assert.deepEqual(harness.lines.splice(0), [
      `warn ${failed}`,
      `warn ${failed}`,
      `debug ${failed}`,
      `warn ${failed}`,
      `debug ${failed}`,
    ]);
    harness.next = () => good('a');
    await harness.runNext();
    assert.deepEqual(harness.lines, [], 'the owner of the value says that it is there');
    harness.next = () => down;
    await harness.runNext();
    harness.next = () => good('a');
    await harness.runNext();
    await harness.runNext();
    assert.deepEqual(harness.lines, [
      'warn here: the rates cannot be refreshed; the last good version stays in use',
      'info here: the rates can be fetched again',
    ]);
  });
});

describe('closing', () => {
  test('ends the refreshing and keeps the value', async () => {
    const harness = await start(() => good('a'));
    harness.source.close();
    assert.deepEqual(harness.clock.pendingDelays(), []);
    harness.clock.leap(86_400_000);
    assert.equal(harness.source.load(), undefined);
    assert.equal(harness.source.fetchNow(), undefined);
    assert.equal(harness.value, 'a');
    assert.equal(harness.fetches, 1);
  });

  for (const fetched of [good('a'), down]) {
    test(`during a fetch leaves no timer; who waits gets ${fetched.ok ? 'the value' : 'the failure'}`, async () => {
      const { promise, resolve } = Promise.withResolvers<Fetched<string>>();
      const harness = new Harness(() => promise);
      const waiting = harness.source.load();
      harness.source.close();
      assert.equal(harness.source.load(), waiting);
      assert.equal(harness.source.fetchNow(), waiting);
      resolve(fetched);
      await waiting;
      assert.equal(harness.value, fetched.ok ? 'a' : undefined);
      assert.equal(harness.source.state.problem, fetched.ok ? undefined : 'down');
      assert.equal(harness.told.length, 1);
      assert.deepEqual(harness.clock.pendingDelays(), []);
      assert.ok(
        harness.lines.every((line) => line.startsWith('debug')),
        'a failure after the end warns nobody',
      );
    });
  }
});

for (const [atMs, expected] of [
  [0, 1],
  [10_000, 1],
  [10_001, 1],
  [11_000, 1],
  [11_001, 2],
] as const) {
  test(`${atMs - 10_000} ms from now are ${expected} s`, () => assert.equal(countSecondsUntil(atMs, 10_000), expected));
}
