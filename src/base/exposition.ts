// What a process exposes to Prometheus, and the text format for it.

/** One line of the exposition. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** When it differs from that of its family: those of histograms do. */
  readonly metricName?: string;
}

/** The lines of one name. */
interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly read: () => readonly Sample[];
}

/** Families in the order in which they were added. */
export class Exposition {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  readonly #families = new Map<string, MetricFamily>();

  /** Throws when the name is taken. */
  add(family: MetricFamily): void {
    const { name } = family;
    if (this.#families.has(name)) throw new Error(`there is a metric ${name} already`);
    this.#families.set(name, family);
  }

  /** Everything as it is now. */
  format(): string {
    return `${[...this.#families.values()].map(formatFamily).join('\n\n')}\n`;
  }
}

function formatFamily({ name, help, type, read }: MetricFamily): string {
  let text = `# HELP ${name} ${escapeText(help)}\n# TYPE ${name} ${type}`;
  for (const { labels, value, metricName = name } of read()) {
    text += `\n${metricName}${formatLabels(labels)} ${formatNumber(value)}`;
  }
  return text;
}

function formatLabels(labels: Readonly<Record<string, string | number>>): string {
  const parts = Object.entries(labels).map(
    ([name, value]) => `${name}="${escapeText(String(value)).replaceAll('"', '\\"')}"`,
  );
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function formatNumber(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value < 0 ? '-Inf' : '+Inf';
}
