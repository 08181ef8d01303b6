// Metrics of Node and the operating system for this process, under the names that exporters for Node have in common.
import { readdirSync, readFileSync } from 'node:fs';
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';

/** What they are added to: a part of Metrics. */
interface ProcessMetricsTarget {
  gaugeOf(name: string, help: string, read: () => number): void;
  gaugesOf(name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void;
  counterOf(name: string, help: string, read: () => number): void;
  gauge(
    name: string,
    help: string,
    labels: Readonly<Record<'version' | 'major' | 'minor' | 'patch', { readonly max: number }>>,
  ): { set(labels: Readonly<Record<'version' | 'major' | 'minor' | 'patch', string>>, value: number): void };
  histogram(
    name: string,
    help: string,
    labels: { readonly kind: { readonly values: readonly string[] } },
    buckets: readonly number[],
  ): { observe(labels: { readonly kind: string }, value: number): void };
}

/** Adds them, and starts to watch the event loop and the garbage collector. */
export function addProcessMetrics(metrics: ProcessMetricsTarget): void {
  addProcess(metrics);
  watchEventLoop(metrics);
  addActive(metrics);
  addHeap(metrics);
  const [major, minor, patch] = process.versions.node.split('.');
  const bound = { max: 1 };
  metrics
    .gauge('nodejs_version_info', 'Node.js version info.', { version: bound, major: bound, minor: bound, patch: bound })
    .set({ version: process.version, major: major!, minor: minor!, patch: patch! }, 1);
  watchGarbageCollection(metrics);
}

function addProcess(metrics: ProcessMetricsTarget): void {
  const counters = [
    ['process_cpu_user_seconds_total', 'Total user CPU time spent in seconds.', () => process.cpuUsage().user],
    ['process_cpu_system_seconds_total', 'Total system CPU time spent in seconds.', () => process.cpuUsage().system],
    [
      'process_cpu_seconds_total',
      'Total user and system CPU time spent in seconds.',
      () => process.cpuUsage().user + process.cpuUsage().system,
    ],
  ] as const;
  for (const [name, help, readMicroseconds] of counters) metrics.counterOf(name, help, () => readMicroseconds() / 1e6);
  const startedAt = Math.round(Date.now() / 1_000 - process.uptime());
  const startHelp = 'Start time of the process since unix epoch in seconds.';
  metrics.gaugeOf('process_start_time_seconds', startHelp, () => startedAt);
  metrics.gaugeOf('process_resident_memory_bytes', 'Resident memory size in bytes.', () => process.memoryUsage.rss());
  if (readOwn('status') === undefined) return;
  metrics.gaugeOf('process_virtual_memory_bytes', 'Virtual memory size in bytes.', () => readOwnBytes('VmSize'));
  metrics.gaugeOf('process_heap_bytes', 'Process heap size in bytes.', () => readOwnBytes('VmData'));
  // Without the one that the folder is read through.
  const countOpen = (): number => readdirSync('/proc/self/fd').length - 1;
  metrics.gaugeOf('process_open_fds', 'Number of open file descriptors.', countOpen);
  const limit = Number(/^Max open files +(\d+)/m.exec(readOwn('limits') ?? '')?.[1] ?? Number.POSITIVE_INFINITY);
  metrics.gaugeOf('process_max_fds', 'Maximum number of open file descriptors.', () => limit);
}

/** A file of the kernel about this process; undefined where there is none. Reading it never blocks. */
function readOwn(name: string): string | undefined {
  try {
    return readFileSync(`/proc/self/${name}`, 'utf8');
  } catch {
    return undefined;
  }
}

function readOwnBytes(field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readOwn('status') ?? '')?.[1] ?? 0) * 1_024;
}

/** The delays of timers since the last scrape, and the lag of the loop at the scrape. */
function watchEventLoop(metrics: ProcessMetricsTarget): void {
  const delays = monitorEventLoopDelay();
  delays.enable();
  let lag = 0;
  let last = { min: 0, max: 0, mean: 0, stddev: 0, p50: 0, p90: 0, p99: 0 };
  // The first of the names, and so the first to be read.
  metrics.gaugeOf('nodejs_eventloop_lag_seconds', 'Lag of event loop in seconds.', () => {
    const askedAt = performance.now();
    setImmediate(() => void (lag = (performance.now() - askedAt) / 1_000));
    const { min, max, mean, stddev } = delays;
    const [p50, p90, p99] = [50, 90, 99].map((percent) => delays.percentile(percent)) as [number, number, number];
    last = { min, max, mean, stddev, p50, p90, p99 };
    delays.reset();
    return lag;
  });
  const helps = {
    min: 'The minimum recorded event loop delay.',
    max: 'The maximum recorded event loop delay.',
    mean: 'The mean of the recorded event loop delays.',
    stddev: 'The standard deviation of the recorded event loop delays.',
    p50: 'The 50th percentile of the recorded event loop delays.',
    p90: 'The 90th percentile of the recorded event loop delays.',
    p99: 'The 99th percentile of the recorded event loop delays.',
  };
  for (const [name, help] of Object.entries(helps)) {
    metrics.gaugeOf(`nodejs_eventloop_lag_${name}_seconds`, help, () => last[name as keyof typeof helps] / 1e9);
  }
}

/** What keeps the process going, by type. Node lists handles and requests only under names of its own. */
function addActive(metrics: ProcessMetricsTarget): void {
  const listInternal = (name: string): readonly object[] | undefined =>
    (Reflect.get(process, name) as (() => readonly object[]) | undefined)?.call(process);
  const nameAll = (values: readonly object[] | undefined): readonly string[] =>
    (values ?? []).map((value) => value.constructor.name);
  const lists = [
    {
      name: 'resources',
      help: 'Number of active resources that are currently keeping the event loop alive, grouped by async resource type.',
      list: () => process.getActiveResourcesInfo(),
    },
    {
      name: 'handles',
      help: 'Number of active libuv handles grouped by handle type. Every handle type is C++ class name.',
      list: () => nameAll(listInternal('_getActiveHandles')),
    },
    {
      name: 'requests',
      help: 'Number of active libuv requests grouped by request type. Every request type is C++ class name.',
      list: () => nameAll(listInternal('_getActiveRequests')),
    },
  ];
  for (const { name, help, list } of lists) {
    metrics.gaugesOf(`nodejs_active_${name}`, help, 'type', () => {
      const byType = [...Map.groupBy(list(), (type) => type)];
      return Object.fromEntries(byType.map(([type, all]) => [type, all.length]));
    });
    metrics.gaugeOf(`nodejs_active_${name}_total`, `Total number of active ${name}.`, () => list().length);
  }
}

function addHeap(metrics: ProcessMetricsTarget): void {
  const sizes = [
    ['nodejs_heap_size_total_bytes', 'Process heap size from Node.js in bytes.', 'heapTotal'],
    ['nodejs_heap_size_used_bytes', 'Process heap size used from Node.js in bytes.', 'heapUsed'],
    ['nodejs_external_memory_bytes', 'Node.js external memory size in bytes.', 'external'],
  ] as const;
  for (const [name, help, field] of sizes) metrics.gaugeOf(name, help, () => process.memoryUsage()[field]);
  const spaces = { total: 'space_size', used: 'space_used_size', available: 'space_available_size' } as const;
  for (const [name, field] of Object.entries(spaces)) {
    const help = `Process heap space size ${name} from Node.js in bytes.`;
    metrics.gaugesOf(`nodejs_heap_space_size_${name}_bytes`, help, 'space', () => {
      const all = process.getBuiltinModule('node:v8').getHeapSpaceStatistics();
      return Object.fromEntries(all.map((space) => [space.space_name.replace(/_space.*$/, ''), space[field]]));
    });
  }
}

/** How long the garbage collector takes, by kind. */
function watchGarbageCollection(metrics: ProcessMetricsTarget): void {
  const kinds = new Map<number | undefined, string>([
    [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
    [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
    [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
    [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
  ]);
  const durations = metrics.histogram(
    'nodejs_gc_duration_seconds',
    'Garbage collection duration by kind, one of major, minor, incremental or weakcb.',
    { kind: { values: [...kinds.values()] } },
    [0.001, 0.01, 0.1, 1, 2, 5],
  );
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { detail } = entry as { readonly detail?: { readonly kind?: number } };
      const kind = kinds.get(detail?.kind);
      if (kind !== undefined) durations.observe({ kind }, entry.duration / 1_000);
    }
  });
  observer.observe({ entryTypes: ['gc'] });
}
