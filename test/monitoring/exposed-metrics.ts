// The Prometheus text format, read: which metrics a process has, of which type, with which labels and values.

export interface ExposedMetric {
  readonly type: string;
  /** The values that each label was seen with. No label: nothing was counted yet, or it has none. */
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>;
  /** How many lines it has. */
  readonly samples: number;
}

/** By the name that queries use: a histogram is there as `_bucket`, `_sum` and `_count`, and counters by their own. */
export type ExposedMetrics = ReadonlyMap<string, ExposedMetric>;

/** Of the parts of a histogram. */
export const bucketType = 'histogram bucket';

/** Reads the text of one process or of several. */
export function readExposedMetrics(...texts: readonly string[]): ExposedMetrics {
  const metrics = new Map<string, { type: string; labels: Map<string, Set<string>>; samples: number }>();
  const declare = (name: string, type: string): void => {
    if (!metrics.has(name)) metrics.set(name, { type, labels: new Map(), samples: 0 });
  };
  for (const line of texts.join('\n').split('\n')) {
    const declared = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (declared !== null) {
      const [, name = '', type = ''] = declared;
      if (type !== 'histogram') declare(name, type);
      else {
        declare(`${name}_bucket`, bucketType);
        declare(`${name}_sum`, 'counter');
        declare(`${name}_count`, 'counter');
      }
      continue;
    }
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line);
    if (sample === null) continue;
    const [, name = '', labels = ''] = sample;
    const metric = metrics.get(name);
    if (metric === undefined) throw new Error(`${name} has no type`);
    metric.samples += 1;
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      const values = metric.labels.get(label) ?? new Set();
      metric.labels.set(label, values.add(value));
    }
  }
  return metrics;
}
