// Metrics of one process instance in a registry of its own. Every label is bounded when it is declared, so that no client can
// grow the registry by what it sends. Not prom-client's: its label hashing costs several microseconds per request, and all that it
// loads 20 ms of every start.
import { Exposition, type Sample } from './exposition.ts';
import { type Labels, type LabelValues, MetricCells } from './metric-cells.ts';
import { addProcessMetrics } from './process-metrics.ts';

interface CounterMetric<L extends Labels> {
  add(labels: LabelValues<L>, amount?: number): void;
  /** The cell of these labels. Hot paths keep it and count without another lookup. */
  at(labels: LabelValues<L>): CounterCell;
}

/** One number of a counter. Add to it, and nothing else. */
export interface CounterCell {
  value: number;
}

interface GaugeMetric<L extends Labels> {
  set(labels: LabelValues<L>, value: number): void;
  add(labels: LabelValues<L>, amount: number): void;
  /** Forgets every combination of labels: for gauges that list what exists now. */
  reset(): void;
}

interface HistogramMetric<L extends Labels> {
  observe(labels: LabelValues<L>, value: number): void;
  /** The cell of these labels, which can be kept as well. */
  at(labels: LabelValues<L>): HistogramCell;
}

/** One distribution of a histogram. */
export interface HistogramCell {
  observe(value: number): void;
}

export interface Metrics {
  counter<const L extends Labels>(name: string, help: string, labels: L): CounterMetric<L>;
  gauge<const L extends Labels>(name: string, help: string, labels: L): GaugeMetric<L>;
  /** A gauge that is read at each scrape and costs nothing in between. */
  gaugeOf(name: string, help: string, read: () => number): void;
  /** The same for several numbers that one label tells apart. The caller bounds them. */
  gaugesOf(name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void;
  /** The same for numbers with several labels. The caller bounds them. */
  gaugeSamplesOf(name: string, help: string, read: () => readonly Sample[]): void;
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
  const exposition = new Exposition();
  const metrics: Metrics = {
    counter(name, help, labels) {
      const cells = new MetricCells(labels, createNumber);
      exposition.add({ name, help, type: 'counter', read: () => readNumbers(cells) });
      if (Object.keys(labels).length === 0) cells.find({} as LabelValues<typeof labels>);
      return {
        add(values, amount = 1) {
          cells.find(values).value += amount;
        },
        at: (values) => cells.find(values),
      };
    },
    gauge(name, help, labels) {
      const cells = new MetricCells(labels, createNumber);
      exposition.add({ name, help, type: 'gauge', read: () => readNumbers(cells) });
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
      exposition.add({ name, help, type: 'gauge', read: () => [{ labels: {}, value: read() }] });
    },
    gaugesOf(name, help, label, read) {
      const readSamples = (): Sample[] =>
        Object.entries(read()).map(([text, value]) => ({ labels: { [label]: text }, value }));
      exposition.add({ name, help, type: 'gauge', read: readSamples });
    },
    gaugeSamplesOf(name, help, read) {
      exposition.add({ name, help, type: 'gauge', read });
    },
    counterOf(name, help, read) {
      exposition.add({ name, help, type: 'counter', read: () => [{ labels: {}, value: read() }] });
    },
    histogram(name, help, labels, buckets) {
      const cells = new MetricCells(labels, () => new Distribution(buckets));
      exposition.add({ name, help, type: 'histogram', read: () => readDistributions(name, cells, buckets) });
      return { observe: (values, value) => cells.find(values).observe(value), at: (values) => cells.find(values) };
    },
    expose: () => Promise.resolve(exposition.format()),
    contentType: exposition.contentType,
  };
  if (options.processMetrics ?? false) addProcessMetrics(metrics);
  return metrics;
}

function createNumber(): CounterCell {
  return { value: 0 };
}

function readNumbers<L extends Labels>(cells: MetricCells<L, CounterCell>): Sample[] {
  return Array.from(cells, ({ labels, content }) => ({ labels, value: content.value }));
}

class Distribution implements HistogramCell {
  /** Observations per bucket, the last one for those above all bounds. */
  readonly counts: number[];
  readonly #bounds: readonly number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > bounds[index]!) index += 1;
    this.counts[index]! += 1;
    this.sum += value;
  }
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
