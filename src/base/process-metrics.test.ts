import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { waitFor } from '../../test/kit/wait-for.ts';
import { createMetrics } from './metrics.ts';

/** The value of the first line that begins so. */
function readValue(text: string, start: string): number {
  const line = text.split('\n').find((each) => each.startsWith(start));
  assert.ok(line !== undefined, `no line ${start}`);
  return Number(line.slice(line.lastIndexOf(' ') + 1));
}

test('what exporters for Node have in common is there, under the same names', async () => {
  const text = await createMetrics({ processMetrics: true }).expose();
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!);
  const common = [
    'process_cpu_user_seconds_total',
    'process_cpu_system_seconds_total',
    'process_cpu_seconds_total',
    'process_start_time_seconds',
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_seconds',
    ...['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map((part) => `nodejs_eventloop_lag_${part}_seconds`),
    ...['resources', 'handles', 'requests'].flatMap((kind) => [`nodejs_active_${kind}`, `nodejs_active_${kind}_total`]),
    'nodejs_heap_size_total_bytes',
    'nodejs_heap_size_used_bytes',
    'nodejs_external_memory_bytes',
    ...['total', 'used', 'available'].map((part) => `nodejs_heap_space_size_${part}_bytes`),
    'nodejs_version_info',
    'nodejs_gc_duration_seconds',
  ];
  const linux = ['process_virtual_memory_bytes', 'process_heap_bytes', 'process_open_fds', 'process_max_fds'];
  assert.deepEqual(names.toSorted(), [...common, ...(process.platform === 'linux' ? linux : [])].toSorted());
});

test('the numbers are those of this process', async () => {
  const text = await createMetrics({ processMetrics: true }).expose();
  const { user, system } = process.cpuUsage();
  const seconds = readValue(text, 'process_cpu_seconds_total ');
  assert.ok(seconds > 0 && seconds <= (user + system) / 1e6, `${seconds} s`);
  assert.ok(Math.abs(readValue(text, 'process_start_time_seconds ') - (Date.now() / 1_000 - process.uptime())) < 2);
  assert.ok(readValue(text, 'process_resident_memory_bytes ') > 10_000_000);
  assert.ok(readValue(text, 'nodejs_heap_size_used_bytes ') > 1_000_000);
  assert.ok(readValue(text, 'nodejs_heap_space_size_used_bytes{space="old"}') > 100_000);
  assert.equal(readValue(text, `nodejs_version_info{version="${process.version}",major="`), 1);
  assert.ok(readValue(text, 'nodejs_active_resources_total ') >= 0);
  if (process.platform !== 'linux') return;
  assert.ok(readValue(text, 'process_virtual_memory_bytes ') > readValue(text, 'process_resident_memory_bytes '));
  assert.ok(readValue(text, 'process_open_fds ') > 2);
  assert.ok(readValue(text, 'process_max_fds ') >= readValue(text, 'process_open_fds '));
});

test('the garbage collector is watched', async () => {
  const metrics = createMetrics({ processMetrics: true });
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const text = await waitFor('a collection is told', async () => {
    collect();
    const exposed = await metrics.expose();
    return exposed.includes('nodejs_gc_duration_seconds_count{kind="major"}') && exposed;
  });
  assert.ok(readValue(text, 'nodejs_gc_duration_seconds_sum{kind="major"}') > 0);
  assert.ok(readValue(text, 'nodejs_gc_duration_seconds_bucket{kind="major",le="+Inf"}') >= 1);
});

test('delays of the event loop are those since somebody asked last', async () => {
  const metrics = createMetrics({ processMetrics: true });
  const rest = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 30));
  const block = (): void => {
    const until = performance.now() + 60;
    while (performance.now() < until);
  };
  // A delay is noticed by a timer that comes after it, and was set before it.
  const readWorst = async (): Promise<number> => readValue(await metrics.expose(), 'nodejs_eventloop_lag_max_seconds ');
  const worst = await waitFor('a delay is told', async () => {
    await rest();
    block();
    await rest();
    const told = await readWorst();
    return told >= 0.04 && told;
  });
  await waitFor('a smaller one is told', async () => {
    await rest();
    return (await readWorst()) < worst;
  });
});
