import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLog } from '../../../../base/log.ts';
import type { Discovery } from './discover-metadata.ts';
import { createMetadataSource, type DiscoveryState, type MetadataSource } from './metadata-source.ts';
import { createManualClock, settle } from '../../../../../test/kit/manual-clock.ts';

const good = (name: string, freshForMs?: number): Discovery => ({
  ok: true,
  metadata: { issuer: name },
  url: 'https://idp.example.com/m',
  jwksUri: undefined,
  emitsIssuer: false,
  freshForMs,
  tries: [],
});
const bad = (detail: string): Discovery => ({ ok: false, detail, tries: [] });

class Harness {
  readonly clock = createManualClock();
  readonly lines: { readonly level: string; readonly msg: string }[] = [];
  readonly loaded: string[] = [];
  readonly source: MetadataSource;
  next: Discovery | Promise<Discovery>;
  fetches = 0;

  constructor(first: Discovery | Promise<Discovery>) {
    this.next = first;
    this.source = createMetadataSource({
      discover: async () => {
        this.fetches += 1;
        return await this.next;
      },
      onLoad: ({ metadata }) => this.loaded.push(metadata.issuer),
      clock: this.clock,
      log: createLog({
        level: 'debug',
        format: 'json',
        destination: { write: (line) => this.lines.push(JSON.parse(line) as never) },
      }),
      random: () => 0,
    });
  }

  get(): string {
    const state = this.source.get();
    assert.ok(!(state instanceof Promise));
    return describeState(state);
  }
}

const describeState = (state: DiscoveryState): string =>
  state.ok ? state.discovery.metadata.issuer : `${state.detail} (${state.retryAfterSeconds} s)`;

describe('createMetadataSource', () => {
  test('fetches at once; everybody waits for the same fetch', async () => {
    const { promise, resolve } = Promise.withResolvers<Discovery>();
    const harness = new Harness(promise);
    const waiting = [harness.source.get(), harness.source.get()];
    assert.ok(waiting.every((state) => state instanceof Promise));
    resolve(good('a'));
    assert.deepEqual((await Promise.all(waiting)).map(describeState), ['a', 'a']);
    assert.equal(harness.fetches, 1);
    assert.equal(harness.get(), 'a');
  });

  test('refreshes in the background, as often as the IdP says within bounds', async () => {
    for (const [said, expected] of [
      [undefined, 480_000],
      [1_000, 48_000],
      [120_000, 96_000],
      [86_400_000, 2_880_000],
    ] as const) {
      const harness = new Harness(good('a', said));
      await settle();
      assert.deepEqual(harness.clock.pendingDelays(), [expected]);
      harness.next = good('b');
      await harness.clock.advance(expected);
      assert.equal(harness.get(), 'b');
      assert.equal(harness.fetches, 2);
    }
  });

  test('keeps the last good document while the IdP is down, however long', async () => {
    const harness = new Harness(good('a'));
    await settle();
    harness.next = bad('down');
    await harness.clock.advance(480_000);
    const pauses: number[] = [];
    for (let round = 0; round < 12; round += 1) {
      assert.equal(harness.get(), 'a');
      pauses.push(harness.clock.pendingDelays()[0]!);
      await harness.clock.advance(pauses.at(-1)!);
    }
    assert.deepEqual(pauses.slice(0, 4), [1_000, 2_000, 4_000, 8_000]);
    assert.equal(pauses.at(-1), 300_000);
    harness.next = good('b');
    await harness.clock.advance(300_000);
    assert.equal(harness.get(), 'b');
    assert.deepEqual(harness.loaded, ['a', 'b']);
    const warnings = harness.lines.filter(({ level }) => level === 'warn');
    assert.equal(warnings.length, 4, 'a line for failures 1, 2, 4, 8');
  });

  test('never loaded: says why and when, asks again with growing pauses, and not because somebody asked', async () => {
    const harness = new Harness(bad('down'));
    await settle();
    assert.equal(harness.get(), 'down (1 s)');
    for (let round = 0; round < 100; round += 1) harness.get();
    assert.equal(harness.fetches, 1);
    for (let round = 0; round < 8; round += 1) await harness.clock.advance(harness.clock.pendingDelays()[0]!);
    assert.deepEqual(harness.clock.pendingDelays(), [30_000]);
    harness.next = good('a');
    await harness.clock.advance(30_000);
    assert.equal(harness.get(), 'a');
  });

  test('a timer that is late is made up for by the next request', async () => {
    const harness = new Harness(good('a'));
    await settle();
    harness.clock.leap(86_400_000);
    harness.next = good('b');
    assert.equal(harness.get(), 'a');
    await settle();
    assert.equal(harness.get(), 'b');
  });

  test('a mistake of ours is a failure like any other', async () => {
    const harness = new Harness(Promise.reject(new Error('boom')));
    await settle();
    assert.match(harness.get(), /internal error: Error: boom/);
  });

  test('stops when closed', async () => {
    const harness = new Harness(good('a'));
    await settle();
    harness.source.close();
    assert.deepEqual(harness.clock.pendingDelays(), []);
    await harness.clock.advance(86_400_000);
    assert.equal(harness.get(), 'a');
    assert.equal(harness.fetches, 1);
  });

  test('a request that waits while it is closed gets what the fetch brings, and the flow is chosen of it', async () => {
    const { promise, resolve } = Promise.withResolvers<Discovery>();
    const harness = new Harness(promise);
    const waiting = harness.source.get();
    harness.source.close();
    resolve(good('a'));
    assert.equal(describeState(await waiting), 'a');
    assert.deepEqual(harness.loaded, ['a']);
    assert.deepEqual(harness.clock.pendingDelays(), []);
  });
});
