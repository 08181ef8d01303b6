// The report of the Gateway API conformance suite, and the page about it: docs/conformance/gateway-api.yaml and gateway-api.md.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

/** The report, as far as we read it. */
export interface GatewayApiReport {
  readonly gatewayAPIVersion: string;
  readonly gatewayAPIChannel: string;
  readonly profiles: readonly ProfileReport[];
  readonly succeededProvisionalTests?: readonly string[];
}

/** What the report says about a profile. */
export interface ProfileReport {
  readonly name: string;
  readonly core: TestCounts;
  readonly extended: TestCounts & {
    readonly supportedFeatures: readonly string[];
    readonly unsupportedFeatures: readonly string[];
  };
}

interface TestCounts {
  readonly result: 'success' | 'partial' | 'failure';
  readonly statistics: { readonly Passed: number; readonly Failed: number; readonly Skipped: number };
}

const folder = join(import.meta.dirname, '..', '..', 'docs', 'conformance');
const reportFile = 'gateway-api.yaml';

/** Reads a report. */
export function parseReport(text: string): GatewayApiReport {
  return parse(text) as GatewayApiReport;
}

/** Writes report and page. A report that says what the one before said, at another time, is left: no run changes a file for nothing. */
export async function writeReport(text: string, page: string): Promise<void> {
  const file = join(folder, reportFile);
  const before = await readFile(file, 'utf8').catch(() => '');
  if (!saysTheSame(before, text)) await writeFile(file, text);
  await writeFile(join(folder, 'gateway-api.md'), page);
}

/** Whether two reports differ in their time at most. */
export function saysTheSame(left: string, right: string): boolean {
  const removeDate = (report: string): string => report.replace(/^date: .*$/m, '');
  return removeDate(left) === removeDate(right);
}

/** The report that is committed. */
export async function readCommittedReport(): Promise<string> {
  return readFile(join(folder, reportFile), 'utf8');
}

/** The page. `lacking` has a reason for each feature that is not claimed, `tests` the names of those that ran and passed. */
export function formatReportPage(
  report: GatewayApiReport,
  lacking: Readonly<Record<string, string>>,
  tests: readonly string[],
): string {
  const [profile] = report.profiles;
  if (profile === undefined) throw new TypeError('The report has no profile.');
  const { core, extended } = profile;
  const channel = `${report.gatewayAPIVersion}, ${report.gatewayAPIChannel} channel`;
  const provisional = report.succeededProvisionalTests ?? [];
  return `# Gateway API conformance

The [Gateway API](https://gateway-api.sigs.k8s.io)'s own conformance suite (${channel}) runs profile ${profile.name} on a
test cluster: a real API server, the controller as a pod with nothing but its own rights, and the gateways that it deploys.
What the GatewayClass claims in \`status.supportedFeatures\` decides which tests run: every core test, and those of every
extended feature that is claimed. \`npm run test:conformance\` repeats it; [gateway-api.yaml](gateway-api.yaml) is the suite's report,
written anew when it says something else than before.

| tests | passed | failed | skipped |
|---|---|---|---|
| core | ${formatCounts(core)} |
| extended | ${formatCounts(extended)} |

## Extended features that are claimed

${extended.supportedFeatures.map((feature) => `- ${feature}`).join('\n')}

## Extended features that are not

| feature | why |
|---|---|
${extended.unsupportedFeatures.map((feature) => `| ${feature} | ${lacking[feature] ?? ''} |`).join('\n')}

Their fields are refused, never ignored: the status of the Gateway or HTTPRoute says so. Kinds that are not read get no status.

## Tests

${tests.map((name) => `- ${name}${provisional.includes(name) ? ' (provisional)' : ''}`).join('\n')}
`;
}

function formatCounts({ statistics: { Passed, Failed, Skipped } }: TestCounts): string {
  return [Passed, Failed, Skipped].join(' | ');
}
