// Writes what a run of the MCP conformance suite found: a table for the terminal, and the page in docs/.
import type { CheckResult, ProtocolVersion, ScenarioResult } from './conformance-suite.ts';

/** The results of one protocol version, directly and through the gateway. */
export interface VersionResults {
  readonly version: ProtocolVersion;
  readonly direct: readonly ScenarioResult[];
  readonly throughGateway: readonly ScenarioResult[];
}

/** How many checks ended how. */
export interface CheckCounts {
  readonly passed: number;
  readonly failed: number;
  readonly warned: number;
  readonly skipped: number;
}

/** Counts checks; what the suite only notes as information is left out. */
export function countChecks(results: readonly ScenarioResult[]): CheckCounts {
  const checks = results.flatMap((result) => result.checks);
  const count = (status: CheckResult['status']): number => checks.filter((check) => check.status === status).length;
  return { passed: count('SUCCESS'), failed: count('FAILURE'), warned: count('WARNING'), skipped: count('SKIPPED') };
}

/** Says counts in a few words. */
export function formatCounts({ passed, failed, warned, skipped }: CheckCounts): string {
  const others = [
    ...(warned === 0 ? [] : [`${warned} warned`]),
    ...(skipped === 0 ? [] : [`${skipped} not applicable`]),
  ];
  return [`${passed} passed`, `${failed} failed`, ...others].join(', ');
}

/** One row per scenario for the terminal. */
export function formatTable({ version, direct, throughGateway }: VersionResults): string {
  const width = Math.max(...direct.map(({ scenario }) => scenario.length));
  const rows = direct.map((result, index) => {
    const other = throughGateway[index];
    const here = formatCounts(countChecks([result]));
    const there = other === undefined ? 'missing' : formatCounts(countChecks([other]));
    return `  ${result.scenario.padEnd(width)}  ${here.padEnd(20)}  ${there}`;
  });
  const head = `  ${version.padEnd(width)}  ${'directly'.padEnd(20)}  through the gateway`;
  return [head, ...rows].join('\n');
}

/** The page docs/conformance/mcp.md. */
export function formatPage(
  suiteVersion: string,
  versions: readonly VersionResults[],
  explanations: Readonly<Record<string, string>>,
): string {
  const totals = versions.map(({ version, direct, throughGateway }) => {
    const here = formatCounts(countChecks(direct));
    return `| ${version} | ${direct.length} | ${here} | ${formatCounts(countChecks(throughGateway))} |`;
  });
  const sections = versions.map(({ version, direct, throughGateway }) => {
    const rows = direct.map((result, index) => {
      const other = throughGateway[index];
      const there = other === undefined ? 'missing' : formatCounts(countChecks([other]));
      return `| ${result.scenario} | ${formatCounts(countChecks([result]))} | ${there} |`;
    });
    const table = ['| scenario | directly | through the gateway |', '|---|---|---|', ...rows];
    return [`## Protocol version ${version}`, '', ...table].join('\n');
  });
  const known = Object.entries(explanations).map(([check, reason]) => `- \`${check}\`: ${reason}`);
  return `# MCP conformance

The MCP conformance suite (\`@modelcontextprotocol/conformance\` ${suiteVersion}) runs its server scenarios against a server that
has every fixture they ask for: once directly, once through the gateway. Both runs must find the same, check by check:
the gateway changes nothing that the suite can see. \`npm run test:conformance\` repeats the runs and writes this page.

| protocol version | scenarios | directly | through the gateway |
|---|---|---|---|
${totals.join('\n')}

${known.length === 0 ? 'No check fails, directly or through the gateway.' : `Checks that do not pass, with or without the gateway:\n\n${known.join('\n')}`}

The scenarios are all those that the suite applies to a protocol version, its pending ones included. Those of extensions
(tasks, skills) belong to no protocol version and are not part of the runs.

${sections.join('\n\n')}
`;
}
