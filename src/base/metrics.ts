// Metrics of one process instance in a registry of its own. Every label is bounded when it is declared, so that no client can
// grow the registry by what it sends. prom-client keeps the registry, Node's own metrics and the text format; the numbers of
// the request path are counted here, because its label hashing costs several microseconds per request.
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import { type Labels, type LabelValues, MetricCells } from './metric-cells.ts';

export interface CounterMetric<L extends Labels> {
  add(labels: LabelValues<L>, amount?: number): void;
}

export interface GaugeMetric<L extends Labels> {
  set(labels: LabelValues<L>, value: number): void;
  add(labels: LabelValues<L>, amount: number): void;
  /** Forgets every combination of labels: for gauges that list what exists now. */
  reset(): void;
}

export interface HistogramMetric<L extends Labels> {
  observe(labels: LabelValues<L>, value: number): void;
}

export interface Metrics {
  counter<const L extends Labels>(name: string, help: string, labels: L): CounterMetric<L>;
  gauge<const L extends Labels>(name: string, help: string, labels: L): GaugeMetric<L>;
  /** A gauge that is read when somebody scrapes: costs nothing in between. */
  gaugeOf(name: string, help: string, read: () => number): void;
  /** The same for several numbers that one label tells apart. The caller bounds them. */
  gaugesOf(name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void;
  /** The same as gaugeOf for a number that only grows. */
  counterOf(name: string, help: string, read: () => number): void;
  histogram<const L extends Labels>(
    name: string,
    help: string,
    labels: L,
    buckets: readonly number[],
  ): HistogramMetric<L>;
  /** Everything, in the Prometheus text format. */
  expose(): Promise<string>;
  readonly contentType: string;
}

/** Creates an empty registry; `processMetrics` adds Node's own (memory, event loop, garbage collection). */
export function createMetrics(options: { readonly processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.processMetrics ?? false) collectDefaultMetrics({ register: registry });
  return {
    counter(name, help, labels) {
      const cells = new MetricCells(labels, createNumber);
      register(registry, { name, help, type: 'counter', read: () => readNumbers(cells) });
      if (Object.keys(labels).length === 0) cells.find({} as LabelValues<typeof labels>);
      return {
        add(values, amount = 1) {
          cells.find(values).value += amount;
        },
      };
    },
    gauge(name, help, labels) {
      const cells = new MetricCells(labels, createNumber);
      register(registry, { name, help, type: 'gauge', read: () => readNumbers(cells) });
      return {
        set(values, value) {
          cells.find(values).value = value;
        },
        add(values, amount) {
          cells.find(values).value += amount;
        },
        reset: () => cells.clear(),
      };
    },
    gaugeOf(name, help, read) {
      register(registry, { name, help, type: 'gauge', read: () => [{ labels: {}, value: read() }] });
    },
    gaugesOf(name, help, label, read) {
      const readSamples = (): Sample[] =>
        Object.entries(read()).map(([text, value]) => ({ labels: { [label]: text }, value }));
      register(registry, { name, help, type: 'gauge', read: readSamples });
    },
    counterOf(name, help, read) {
      register(registry, { name, help, type: 'counter', read: () => [{ labels: {}, value: read() }] });
    },
    histogram(name, help, labels, buckets) {
      const cells = new MetricCells(labels, () => createDistribution(buckets.length));
      register(registry, { name, help, type: 'histogram', read: () => readDistributions(name, cells, buckets) });
      return { observe: (values, value) => observe(cells.find(values), buckets, value) };
    },
    expose: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** One line of the exposition. */
interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

interface OwnMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly read: () => Sample[];
}

/** The registry asks a metric for nothing but its name and `get`. */
function register(registry: Registry, { name, help, type, read }: OwnMetric): void {
  const metric = {
    name,
    help,
    type,
    aggregator: 'sum',
    get: () => Promise.resolve({ name, help, type, values: read() }),
  };
  registry.registerMetric(metric as unknown as Metric);
}

interface NumberCell {
  value: number;
}

function createNumber(): NumberCell {
  return { value: 0 };
}

function readNumbers<L extends Labels>(cells: MetricCells<L, NumberCell>): Sample[] {
  return Array.from(cells, ({ labels, content }) => ({ labels, value: content.value }));
}

interface Distribution {
  /** Observations per bucket, the last one for those above all bounds. */
  readonly counts: number[];
  sum: number;
}

function createDistribution(bucketCount: number): Distribution {
  return { counts: Array.from({ length: bucketCount + 1 }, () => 0), sum: 0 };
}

function observe(distribution: Distribution, buckets: readonly number[], value: number): void {
  let index = 0;
  while (index < buckets.length && value > buckets[index]!) index += 1;
  distribution.counts[index]! += 1;
  distribution.sum += value;
}

function readDistributions<L extends Labels>(
  name: string,
  cells: MetricCells<L, Distribution>,
  buckets: readonly number[],
): Sample[] {
  const samples: Sample[] = [];
  for (const { labels, content } of cells) {
    let count = 0;
    content.counts.forEach((observed, index) => {
      count += observed;
      samples.push({ labels: { ...labels, le: buckets[index] ?? '+Inf' }, value: count, metricName: `${name}_bucket` });
    });
    samples.push({ labels, value: content.sum, metricName: `${name}_sum` });
    samples.push({ labels, value: count, metricName: `${name}_count` });
  }
  return samples;
}
