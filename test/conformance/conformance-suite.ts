// Runs the server scenarios of the MCP conformance suite against one URL and reads what it found.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The protocol versions whose server scenarios are run. */
export const protocolVersions = ['2025-06-18', '2025-11-25', '2026-07-28'] as const;

/** One of them. */
export type ProtocolVersion = (typeof protocolVersions)[number];

/** What the suite says of one check. */
export interface CheckResult {
  readonly id: string;
  readonly name: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

/** What the suite says of one scenario. */
export interface ScenarioResult {
  readonly scenario: string;
  readonly checks: readonly CheckResult[];
}

/** Thrown when the suite itself does not run. */
export class SuiteFailedError extends Error {
  readonly code = 'CONFORMANCE_SUITE_FAILED';
}

const require = createRequire(import.meta.url);
const packageFile = require.resolve('@modelcontextprotocol/conformance/package.json');

/** The program of the suite, with more patience, for Node. */
export const suiteProgram = [
  '--import',
  new URL('patient-suite.mjs', import.meta.url).href,
  join(dirname(packageFile), 'dist', 'index.js'),
];

/** The version of the suite. */
export const suiteVersion = (JSON.parse(await readFile(packageFile, 'utf8')) as { version: string }).version;

/** Runs every server scenario that applies to a protocol version, in the suite's own order. */
export async function runConformanceSuite(url: string, version: ProtocolVersion): Promise<ScenarioResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
  try {
    const args = ['server', '--url', url, '--suite', 'all', '--spec-version', version, '--output-dir', folder];
    const child = spawn(process.execPath, [...suiteProgram, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    await once(child, 'close');
    const announced = [...output.matchAll(/^=== Running scenario: (\S+) ===$/gm)].map((match) => match[1]!);
    // 0 and 1 both mean that it ran; whether checks failed is read from the results.
    if (announced.length === 0 || (child.exitCode !== 0 && child.exitCode !== 1)) throw new SuiteFailedError(output);
    const results = await readResults(folder);
    return announced.map((scenario) => {
      const checks = results.get(scenario);
      if (checks === undefined) throw new SuiteFailedError(`The suite left no result of ${scenario}:\n${output}`);
      return { scenario, checks };
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readResults(folder: string): Promise<Map<string, CheckResult[]>> {
  const results = new Map<string, CheckResult[]>();
  for (const entry of await readdir(folder)) {
    // One folder per scenario: server-<scenario>-<time of the run>.
    const scenario = /^server-(.+)-\d{4}-\d{2}-\d{2}T.*$/.exec(entry)?.[1];
    if (scenario === undefined) throw new SuiteFailedError(`The suite left an unknown result ${entry}.`);
    const checks = JSON.parse(await readFile(join(folder, entry, 'checks.json'), 'utf8')) as CheckResult[];
    results.set(scenario, checks);
  }
  return results;
}
