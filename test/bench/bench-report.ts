// What the benchmarks print: a table for people, JSON for programs.
import { cpus } from 'node:os';
import type { BenchCase } from './bench-case.ts';
import type { Measurements, Pace } from './measure-cases.ts';
import { compare, type Ratio, summarize } from './statistics.ts';

/** One case as it is reported. */
export interface ReportedCase {
  readonly name: string;
  readonly description: string;
  readonly cpuMicrosPerRequest: number;
  /** How wide the interval of 95 % confidence is, as a part of the median. */
  readonly spread: number;
  readonly requestsPerSecond: number;
  /** To the first case; undefined for that one. */
  readonly ratio: Ratio | undefined;
  readonly limit: number | undefined;
}

export interface BenchReport {
  readonly conditions: Readonly<Record<string, string>>;
  readonly cases: readonly ReportedCase[];
  /** One sentence each, of cases over their limit. */
  readonly overLimit: readonly string[];
}

/** Puts the numbers together. */
export function createReport(
  cases: readonly BenchCase[],
  measured: ReadonlyMap<string, Measurements>,
  conditions: { readonly pace: Pace; readonly accessLog: boolean },
): BenchReport {
  const base = measured.get(cases[0]!.name)!.cpuMicrosPerRequest;
  const rounds = base.length;
  const reported = cases.map(({ name, description, limit }, index): ReportedCase => {
    const { cpuMicrosPerRequest, requestsPerSecond } = measured.get(name)!;
    const { median, spread } = summarize(cpuMicrosPerRequest);
    return {
      name,
      description,
      cpuMicrosPerRequest: median,
      spread,
      requestsPerSecond: summarize(requestsPerSecond).median,
      ratio: index === 0 ? undefined : compare(cpuMicrosPerRequest, base),
      limit,
    };
  });
  return {
    conditions: describeConditions({ ...conditions, rounds }),
    cases: reported,
    overLimit: reported.flatMap(({ name, ratio, limit }) =>
      limit !== undefined && ratio?.ok === true && ratio.median > limit
        ? [`${name} costs ${ratio.median.toFixed(2)} times ${cases[0]!.name}; the limit is ${limit}.`]
        : [],
    ),
  };
}

function describeConditions({
  pace,
  rounds,
  accessLog,
}: {
  readonly pace: Pace;
  readonly rounds: number;
  readonly accessLog: boolean;
}): Record<string, string> {
  return {
    gateway: `mcp-gateway run on core 0, node ${process.versions.node}, metrics on`,
    'access log': accessLog
      ? 'on, a JSON line per request at level info as is the default, written to /dev/null'
      : 'off (--no-access-log)',
    load: 'wrk with 32 connections and the upstream, nginx, on core 1',
    measured: `${rounds} rounds of ${pace.secondsPerRound} s per case, in turns of a tenth of a second`,
    processor: cpus()[0]?.model ?? 'unknown',
  };
}

/** The table and what has to be known to read it. */
export function formatReport({ conditions, cases, overLimit }: BenchReport): string {
  const head = ['case', 'CPU us/request', 'spread', 'requests/s', `times ${cases[0]!.name}`, 'limit'];
  const rows = cases.map((each) => [
    each.name,
    each.cpuMicrosPerRequest.toFixed(1),
    `+-${(50 * each.spread).toFixed(1)} %`,
    each.requestsPerSecond.toFixed(0),
    formatRatio(each.ratio),
    each.limit?.toFixed(2) ?? '',
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const formatRow = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd();
  const unsaid = cases.flatMap(({ name, ratio }) =>
    ratio?.ok === false ? [`No ratio for ${name}: ${ratio.why}.`] : [],
  );
  return [
    ...Object.entries(conditions).map(([name, text]) => `${name}: ${text}`),
    '',
    formatRow(head),
    formatRow(widths.map((width) => '-'.repeat(width))),
    ...rows.map(formatRow),
    '',
    ...cases.map(({ name, description }) => `${name}: the gateway ${description}.`),
    ...(unsaid.length > 0 ? ['', ...unsaid] : []),
    ...(overLimit.length > 0 ? ['', ...overLimit] : []),
  ].join('\n');
}

function formatRatio(ratio: Ratio | undefined): string {
  if (ratio === undefined) return '1';
  return ratio.ok ? `${ratio.median.toFixed(2)} (+-${(50 * ratio.spread).toFixed(1)} %)` : 'not sure';
}
