// Writes what a run of the MCP conformance suite found: a table for the terminal, and the page in docs/.
import type { CheckResult, ProtocolVersion, ScenarioResult } from './conformance-suite.ts';

/** The results of one protocol version, directly, through the gateway, and through a federation of the server with others. */
export interface VersionResults {
  readonly version: ProtocolVersion;
  readonly direct: readonly ScenarioResult[];
  readonly throughGateway: readonly ScenarioResult[];
  readonly throughFederation: readonly ScenarioResult[];
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
export function formatTable({ version, direct, throughGateway, throughFederation }: VersionResults): string {
  const width = Math.max(...direct.map(({ scenario }) => scenario.length));
  const rows = direct.map((result, index) => {
    const here = formatCounts(countChecks([result]));
    const [there, federated] = [throughGateway[index], throughFederation[index]].map(formatScenario);
    return `  ${result.scenario.padEnd(width)}  ${here.padEnd(20)}  ${there!.padEnd(20)}  ${federated}`;
  });
  const head = `  ${version.padEnd(width)}  ${'directly'.padEnd(20)}  ${'through the gateway'.padEnd(20)}  through a federation`;
  return [head, ...rows].join('\n');
}

function formatScenario(result: ScenarioResult | undefined): string {
  return result === undefined ? 'missing' : formatCounts(countChecks([result]));
}

/** The page docs/conformance/mcp.md. */
export function formatPage(
  suiteVersion: string,
  versions: readonly VersionResults[],
  explanations: Readonly<Record<string, string>>,
): string {
  const totals = versions.map(({ version, direct, throughGateway, throughFederation }) => {
    const counts = [direct, throughGateway, throughFederation].map((results) => formatCounts(countChecks(results)));
    return `| ${version} | ${direct.length} | ${counts.join(' | ')} |`;
  });
  const sections = versions.map(({ version, direct, throughGateway, throughFederation }) => {
    const rows = direct.map((result, index) => {
      const found = [result, throughGateway[index], throughFederation[index]].map(formatScenario);
      return `| ${result.scenario} | ${found.join(' | ')} |`;
    });
    const table = [
      '| scenario | directly | through the gateway | through a federation |',
      '|---|---|---|---|',
      ...rows,
    ];
    return [`## Protocol version ${version}`, '', ...table].join('\n');
  });
  const known = Object.entries(explanations).map(([check, reason]) => `- \`${check}\`: ${reason}`);
  return `# MCP conformance

The MCP conformance suite (\`@modelcontextprotocol/conformance\` ${suiteVersion}) runs its server scenarios against a server that
has every fixture they ask for: once directly, once through the gateway, once through a [federation](../federation.md) of
that server and two more, one up to 2025-11-25 and one of 2026-07-28, with \`names.prefix: Never\`. All runs must find the same, check by check:
the gateway changes nothing that the suite can see. \`npm run test:conformance\` repeats the runs and writes this page.

| protocol version | scenarios | directly | through the gateway | through a federation |
|---|---|---|---|---|
${totals.join('\n')}

${known.length === 0 ? 'No check fails, directly, through the gateway or through a federation.' : `Checks that do not pass, with or without the gateway:\n\n${known.join('\n')}`}

The scenarios are all those that the suite applies to a protocol version, its pending ones included. Those of extensions
(tasks, skills) belong to no protocol version and are not part of the runs.

${sections.join('\n\n')}
`;
}
