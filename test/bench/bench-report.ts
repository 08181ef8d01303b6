// The results as text: for a terminal, and for the page that is in the repository.
import { type BenchTable, type Finding, judge, type Stamp, type StampedResult, type Target } from './bench-result.ts';
import type { Measured } from './statistics.ts';

const outcomes = { met: 'met', missed: '**missed**', unsure: 'not sure' } as const;

/** For a terminal: columns are aligned. */
export function formatText(results: readonly StampedResult[]): string {
  const sections = results.flatMap(({ title, tables }) => [`${title}\n`, ...tables.map(alignTable)]);
  const targets = createTargetTable(results.flatMap(({ findings }) => findings));
  const all = targets.rows.length > 0 ? [...sections, 'Targets\n', alignTable(targets)] : sections;
  return all.join('\n').replaceAll('**', '').trimEnd();
}

/** For the page: the targets first, then what was measured. */
export function formatMarkdown(results: readonly StampedResult[]): string {
  const targets = createTargetTable(results.flatMap(({ findings }) => findings));
  const stamps = new Set(results.map(({ stamp }) => describeStamp(stamp)));
  // Said once where it is the same for all.
  const isOneRun = stamps.size === 1;
  return [
    ...(isOneRun ? stamps : []),
    ...(targets.rows.length > 0 ? ['### Targets', formatMarkdownTable(targets)] : []),
    ...results.flatMap(({ title, tables, stamp }) => [
      `### ${title}`,
      ...tables.map(formatMarkdownTable),
      ...(isOneRun ? [] : [describeStamp(stamp)]),
    ]),
  ].join('\n\n');
}

/** Sentences about targets that were surely missed. */
export function listMissed(results: readonly StampedResult[]): readonly string[] {
  return results
    .flatMap(({ findings }) => findings)
    .filter((finding) => judge(finding) === 'missed')
    .map((finding) => `${finding.what}: ${formatMeasured(finding)}, and it should be ${formatTarget(finding)}.`);
}

/** Every number that there is an aim for, and what became of it. */
export function createTargetTable(findings: readonly Finding[]): BenchTable {
  return {
    head: ['what', 'measured', 'target', ''],
    rows: findings.map((finding) => [
      finding.what,
      formatMeasured(finding),
      formatTarget(finding),
      outcomes[judge(finding)],
    ]),
    notes: findings.flatMap(({ what, measured }) => (measured.ok ? [] : [`${what}: ${measured.why}.`])),
  };
}

function formatMeasured({ measured, unit }: Finding): string {
  if (!measured.ok) {
    if (measured.range === undefined) return 'not sure';
    return `${measured.range.map(formatNumber).join(' to ')} ${unit}`;
  }
  return `${formatNumber(measured.median)} ${unit}${formatSpread(measured)}`;
}

function formatTarget({ target, unit }: Finding): string {
  const words = { atMost: 'at most', below: 'below', atLeast: 'at least' } satisfies Record<Target['kind'], string>;
  return `${words[target.kind]} ${formatNumber(target.value)} ${unit}`;
}

/** Half the interval to either side. */
export function formatSpread(measured: Measured): string {
  return measured.ok && measured.spread >= 0.001 ? ` (+-${(50 * measured.spread).toFixed(1)} %)` : '';
}

/** As many digits as mean something. */
export function formatNumber(value: number): string {
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toFixed(digits);
  return digits === 0 ? text.replace(/\B(?=(\d{3})+$)/g, ',') : text;
}

function describeStamp({ date, commit, processor, cores, versions, accessLog }: Stamp): string {
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const log = accessLog ? '' : ' Our access log was off.';
  return `Measured on ${date} at commit ${commit}, ${cores} cores (${processor}), ${programs.join(', ')}.${log}`;
}

function formatMarkdownTable({ head, rows, notes }: BenchTable): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'));
  const text = [line(head), line(rule), ...rows.map(line)].join('\n');
  const sentences = notes.length > 1 ? notes.map((note) => `- ${note}`) : notes;
  return notes.length === 0 ? text : `${text}\n\n${sentences.join('\n')}`;
}

function alignTable({ head, rows, notes }: BenchTable): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const formatRow = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd();
  const lines = [head, widths.map((width) => '-'.repeat(width)), ...rows].map(formatRow);
  return `${[...lines, ...(notes.length > 0 ? ['', ...notes] : [])].join('\n')}\n`;
}
