import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { defaultXdsClientTimes } from './client.ts';
import { ConnectTimeout } from './connect-timeout.ts';
import { KeepAlive, type KeepAliveOptions } from './keep-alive.ts';

const { pingIntervalMs, pingTimeoutMs, connectMs, firstMs } = defaultXdsClientTimes;
const usual: KeepAliveOptions = { intervalMs: pingIntervalMs, timeoutMs: pingTimeoutMs };

/** A peer that answers pings at once, until it hangs. */
function start(options: KeepAliveOptions = usual) {
  const clock = createManualClock();
  const state = { hangs: false, pings: 0, bytes: 0, givenUpAt: undefined as number | undefined };
  const unanswered: (() => void)[] = [];
  const startedAt = clock.now();
  const peer = {
    ping(onAnswer: () => void) {
      state.pings += 1;
      if (state.hangs) return void unanswered.push(onAnswer);
      state.bytes += 17;
      onAnswer();
    },
    countBytes: () => state.bytes,
    giveUp: () => void (state.givenUpAt = clock.now() - startedAt),
  };
  const watch = new KeepAlive(peer, options, clock);
  return { clock, state, watch, answer: () => unanswered.shift()?.() };
}

describe('a peer that hangs', () => {
  test('is given up within 8 s, at whatever moment it began to hang', async () => {
    for (let beforeMs = 0; beforeMs <= 2 * pingIntervalMs; beforeMs += 250) {
      const { clock, state } = start();
      await clock.advance(beforeMs);
      state.hangs = true;
      await clock.advance(8_000);
      assert.ok(state.givenUpAt !== undefined, `after ${beforeMs} ms`);
      assert.ok(state.givenUpAt - beforeMs >= pingTimeoutMs, 'not before its time');
      assert.deepEqual(clock.pendingDelays(), []);
    }
  });

  test('is given up within 9 s if bytes were still on their way', async () => {
    const { clock, state } = start();
    await clock.advance(pingIntervalMs - 1);
    state.hangs = true;
    await clock.advance(2);
    state.bytes += 1_000;
    await clock.advance(9_000 - 2);
    assert.ok(state.givenUpAt !== undefined);
  });

  test('and comes back in time is not given up', async () => {
    const { clock, state, answer } = start();
    state.hangs = true;
    await clock.advance(pingIntervalMs + pingTimeoutMs - 1);
    state.hangs = false;
    answer();
    await clock.advance(60_000);
    assert.equal(state.givenUpAt, undefined);
  });
});

describe('a peer that is well', () => {
  test('gets one ping per interval', async () => {
    const { clock, state } = start();
    await clock.advance(60_000);
    assert.equal(state.pings, 60_000 / pingIntervalMs);
    assert.equal(state.givenUpAt, undefined);
  });

  test('is not given up while bytes come, however slowly', async () => {
    const { clock, state, answer } = start();
    state.hangs = true;
    for (let piece = 0; piece < 30; piece += 1) {
      await clock.advance(pingTimeoutMs - 1_000);
      state.bytes += 1;
    }
    assert.equal(state.pings, 1);
    answer();
    assert.equal(state.givenUpAt, undefined);
  });

  test('is not given up because this process was paused while it waited', async () => {
    const { clock, state, answer } = start();
    state.hangs = true;
    await clock.advance(pingIntervalMs + 1);
    // Late timers run before the answer that has come meanwhile is read.
    clock.leap(3_600_000);
    await clock.advance(1);
    assert.equal(state.givenUpAt, undefined);
    state.hangs = false;
    answer();
    await clock.advance(60_000);
    assert.equal(state.givenUpAt, undefined);
  });

  test('is left alone after the end', async () => {
    const { clock, state, watch } = start();
    watch.stop();
    await clock.advance(60_000);
    assert.equal(state.pings, 0);
  });
});

test('the first attempt to connect is short, and a slow controller gets longer ones', () => {
  const timeout = new ConnectTimeout({ connectMs: 3_000, connectMaxMs: 12_000 });
  const next = (): number => (timeout.note('timed-out'), timeout.ms);
  assert.deepEqual([timeout.ms, next(), next(), next()], [3_000, 6_000, 12_000, 12_000]);
  timeout.note('other');
  assert.equal(timeout.ms, 3_000);
});

// What docs/control-plane.md promises: with two replicas, a change is enforced at most 10 s later when one of them hangs.
test('a gateway whose controller hangs is at another replica within 10 s', () => {
  const chart = readFileSync(new URL('../../charts/proxy/templates/deployment.yaml', import.meta.url), 'utf8');
  const probe = /readinessProbe:\n((?: {12}.*\n)+)/.exec(chart)?.[1] ?? '';
  const read = (name: string): number => Number(new RegExp(`${name}: (\\d+)`).exec(probe)?.[1]) * 1_000;
  const [periodMs, timeoutMs] = [read('periodSeconds'), read('timeoutSeconds')];
  const failures = read('failureThreshold') / 1_000;
  // The kubelet asks once per period; a question that takes a period to fail is followed by the next one at once.
  const outOfServiceMs = periodMs + (failures - 1) * Math.max(periodMs, timeoutMs) + timeoutMs;
  let worstMs = 0;
  for (let noticedMs = pingTimeoutMs; noticedMs <= pingIntervalMs + pingTimeoutMs; noticedMs += 50) {
    // Before the replica is out of the Service, the attempt may reach it again. Afterwards it cannot.
    const firstTryMs = noticedMs + firstMs;
    const isSure = firstTryMs >= outOfServiceMs;
    worstMs = Math.max(worstMs, isSure ? firstTryMs : firstTryMs + connectMs + 2 * firstMs);
    assert.ok(isSure || firstTryMs + connectMs >= outOfServiceMs, 'the second attempt is sure');
  }
  assert.ok(worstMs <= 10_000, `${worstMs} ms`);
});
