// The report of a conformance suite of the Gateway API or of one of its extensions. It is kept in docs/conformance with a page about it.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

/** The report, as far as we read it. */
export interface SuiteReport {
  readonly gatewayAPIVersion: string;
  readonly gatewayAPIChannel: string;
  /** In the report of that extension alone. */
  readonly GatewayAPIInferenceExtensionVersion?: string;
  readonly profiles: readonly ProfileReport[];
  readonly succeededProvisionalTests?: readonly string[];
}

/** What the report says about a profile. */
export interface ProfileReport {
  readonly name: string;
  readonly core: TestCounts;
  /** Absent: the profile has no features beyond its core. */
  readonly extended?: TestCounts & {
    readonly supportedFeatures: readonly string[];
    readonly unsupportedFeatures: readonly string[];
  };
}

/** How many tests ended how. */
export interface TestCounts {
  readonly result: 'success' | 'partial' | 'failure';
  readonly statistics: { readonly Passed: number; readonly Failed: number; readonly Skipped: number };
}

const folder = join(import.meta.dirname, '..', '..', 'docs', 'conformance');

/** Reads a report. */
export function parseReport(text: string): SuiteReport {
  return parse(text) as SuiteReport;
}

/** Writes report and page. A report that says what the one before said, at another time, is left: no run changes a file for nothing. */
export async function writeReport(name: string, text: string, page: string): Promise<void> {
  const before = await readCommittedReport(name).catch(() => '');
  if (!saysTheSame(before, text)) await writeFile(join(folder, `${name}.yaml`), text);
  await writeFile(join(folder, `${name}.md`), page);
}

/** Whether two reports differ in their time at most. */
export function saysTheSame(left: string, right: string): boolean {
  const removeDate = (report: string): string => report.replace(/^date: .*$/m, '');
  return removeDate(left) === removeDate(right);
}

/** The report that is committed. */
export async function readCommittedReport(name: string): Promise<string> {
  return readFile(join(folder, `${name}.yaml`), 'utf8');
}

/** Passed, failed and skipped, as cells of a table. */
export function formatCounts({ statistics: { Passed, Failed, Skipped } }: TestCounts): string {
  return [Passed, Failed, Skipped].join(' | ');
}
