import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { createHealth } from '../base/health.ts';
import { type RootLog, silentLog } from '../base/log.ts';
import { createMetrics } from '../base/metrics.ts';
import type { StaleState } from '../gateway/request/stale-gate.ts';
import { chooseTimes, watchStaleness } from './stale-gateway.ts';

interface Given {
  readonly maxStaleness?: number | undefined;
  readonly onStale?: 'unready' | 'close';
  readonly silentMs?: number;
}

function start({ onStale, silentMs = 0, ...given }: Given = {}) {
  const maxStaleness = 'maxStaleness' in given ? given.maxStaleness : 10_000;
  const clock = createManualClock();
  const startedAt = clock.now();
  const seen = { lines: [] as string[], problems: [] as readonly string[], state: undefined as StaleState | undefined };
  const log = {
    ...silentLog,
    warn: (_: object, message: string) => void seen.lines.push(`warn ${message}`),
    info: (_: object, message: string) => void seen.lines.push(`info ${message}`),
  } as unknown as RootLog;
  const [health, registry] = [createHealth(), createMetrics()];
  health.addCheck('configuration', '').pass();
  const watch = watchStaleness(
    {
      log,
      registry,
      health,
      showProblems: (problems) => (seen.problems = problems),
      gateway: { setStale: (state) => (seen.state = state) },
    },
    { maxStaleness, onStale },
    silentMs,
    { clock, readUptime: () => clock.now() - startedAt },
  );
  const readMetric = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await registry.expose())![1]);
  return { clock, seen, health, watch, readMetric };
}

const since = 'no contact with a controller since 2026-01-01T00:00:00Z, longer than 10s (maxStaleness)';

describe('a stale gateway', () => {
  test('is not ready, and says why at every place, once', async () => {
    const { clock, seen, health, watch, readMetric } = start();
    assert.equal(health.read().ready, true);
    assert.equal(await readMetric('mcp_gateway_stale'), 0);
    await clock.advance(12_000);
    assert.deepEqual(health.read().checks[1], { name: 'controller', ready: false, reason: since });
    assert.deepEqual(seen.problems, [`This gateway is stale, so it is not ready: ${since}.`]);
    assert.deepEqual(seen.lines, [`warn this gateway is stale, so it is not ready: ${since}`]);
    assert.deepEqual(seen.state, { detail: since, closes: false }, 'it still serves');
    assert.equal(await readMetric('mcp_gateway_stale'), 1);
    assert.equal(await readMetric('mcp_gateway_controller_silence_seconds'), 12);

    watch.heard(0);
    assert.equal(health.read().ready, true);
    assert.deepEqual(seen.problems, []);
    assert.deepEqual(seen.lines.slice(1), [
      'info this gateway is in contact with a controller, up to date, and no longer stale',
    ]);
    assert.equal(await readMetric('mcp_gateway_stale'), 0);
    assert.equal(await readMetric('mcp_gateway_controller_silence_seconds'), 0);
  });

  test('that is to close closes, and opens again', async () => {
    const { clock, seen, watch } = start({ onStale: 'close' });
    await clock.advance(10_000);
    assert.deepEqual(seen.state, { detail: since, closes: true });
    assert.match(seen.problems[0]!, /so it is not ready and answers every request with 503: no contact/);
    watch.heard(0);
    assert.equal(seen.state, undefined);
  });

  test('is so from the start when it is not known how old its configuration is', async () => {
    const { clock, seen, health, readMetric } = start({ onStale: 'close', silentMs: Infinity });
    assert.equal(
      seen.state?.detail,
      'it is not known when there was last contact with a controller, which may be longer ago than 10s (maxStaleness)',
    );
    assert.equal(health.read().ready, false);
    await clock.advance(4_000);
    assert.equal(await readMetric('mcp_gateway_controller_silence_seconds'), 4);
  });
});

test('without maxStaleness there is no check, only the time', async () => {
  const { clock, seen, health, readMetric } = start({ maxStaleness: undefined, silentMs: 3_000 });
  assert.equal(health.read().checks.length, 1);
  await clock.advance(5_000);
  assert.equal(await readMetric('mcp_gateway_controller_silence_seconds'), 8);
  assert.deepEqual(seen.lines, []);
});

test('a controller that answers is heard several times in that time', () => {
  assert.deepEqual(chooseTimes({ maxStaleness: undefined, onStale: undefined }), {});
  const { pingIntervalMs, pingTimeoutMs, lookMs } = chooseTimes({ maxStaleness: 10_000, onStale: undefined });
  assert.ok(pingIntervalMs! + lookMs! < 5_000, `${pingIntervalMs} ${lookMs}`);
  assert.ok(pingIntervalMs! + pingTimeoutMs! < 10_000, 'a dead connection is given up before the gateway is stale');
  assert.equal(chooseTimes({ maxStaleness: 3_600_000, onStale: undefined }).lookMs, 500);
});
