// Runs a conformance suite of the Gateway API or of one of its extensions, a Go test binary, against a cluster in which our controller runs.
// They are made with the same program and take the same flags.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { version } from '../../src/base/version.ts';
import { GoTestReader, type GoTestResult, summarizeLines } from './go-test-output.ts';

/** Where the suite runs, and what it is told. */
export interface GatewaySuiteOptions {
  readonly program: string;
  readonly kubeconfigFile: string;
  readonly gatewayClass: string;
  readonly profile: string;
  /** An address that a Gateway can have, and one that none can, for suites that ask for them. */
  readonly addresses?: { readonly usable: string; readonly unusable: string };
  /** Seconds in place of those below, by their name. */
  readonly patience?: Readonly<Partial<typeof patience>>;
}

/** How the suite ended. */
export interface GatewaySuiteEnd {
  /** The tests that were not skipped. */
  readonly ran: readonly GoTestResult[];
  readonly exitCode: number | null;
  /** The report, as the suite wrote it; undefined when it came to none. */
  readonly report: string | undefined;
  /** The last that it said about itself and not about one of its tests. */
  readonly lastLines: readonly string[];
}

/**
 * How long the suite waits until something holds, in seconds. It goes on at once when it does: long times cost nothing but on failure, and the
 * machine may be busy with other things.
 */
const patience = {
  GatewayMustHaveAddress: 300,
  GatewayMustHaveCondition: 300,
  GatewayStatusMustHaveListeners: 180,
  GatewayListenersMustHaveConditions: 180,
  GWCMustBeAccepted: 180,
  HTTPRouteMustNotHaveParents: 120,
  HTTPRouteMustHaveCondition: 120,
  RouteMustHaveParents: 120,
  LatestObservedGenerationSet: 120,
  NamespacesMustBeReady: 600,
  MaxTimeToConsistency: 90,
  DefaultTestTimeout: 300,
  RequestTimeout: 30,
  DeleteTimeout: 60,
};

/** Runs every test that the claimed features ask for. Each becomes a test below `t` as it ends; the suite goes on meanwhile. */
export async function runGatewaySuite(t: TestContext, options: GatewaySuiteOptions): Promise<GatewaySuiteEnd> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-conformance-'));
  try {
    const reportFile = join(folder, 'report.yaml');
    const child = spawn(options.program, formatFlags(options, reportFile), {
      cwd: folder,
      env: { ...process.env, KUBECONFIG: options.kubeconfigFile },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'close');
    const reader = new GoTestReader('TestConformance');
    const ran: GoTestResult[] = [];
    const reported: Promise<void>[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      const result = reader.read(line);
      // Skipped: those of features that are not claimed and of other profiles. What is claimed is for the report to tell.
      if (result === undefined || result.outcome === 'skipped') continue;
      ran.push(result);
      reported.push(reportResult(t, result));
    }
    await exited;
    await Promise.all(reported);
    const report = await readFile(reportFile, 'utf8').catch(() => undefined);
    return { ran, exitCode: child.exitCode, report, lastLines: reader.ownLines.slice(-50) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The report of a suite that passed. */
export function requireReport({ exitCode, report, lastLines }: GatewaySuiteEnd): string {
  if (exitCode === 0 && report !== undefined) return report;
  assert.fail(`the suite ended with ${exitCode}:\n${summarizeLines(lastLines).join('\n')}`);
}

async function reportResult(t: TestContext, { name, outcome, failures, lines }: GoTestResult): Promise<void> {
  await t.test(name, () => {
    if (outcome === 'failed') assert.fail([...failures, ...summarizeLines(lines)].join('\n'));
  });
}

function formatFlags(options: GatewaySuiteOptions, reportFile: string): readonly string[] {
  const { gatewayClass, profile, addresses } = options;
  const flags = {
    'test.run': '^TestConformance$',
    'test.v': 'test2json',
    'test.timeout': '0',
    'gateway-class': gatewayClass,
    'conformance-profiles': profile,
    ...(addresses === undefined ? {} : { 'usable-address': addresses.usable, 'unusable-address': addresses.unusable }),
    'timeout-config-overrides': Object.entries({ ...patience, ...options.patience })
      .map(([name, seconds]) => `${name}:${seconds}`)
      .join(';'),
    // The cluster goes away as a whole.
    'cleanup-base-resources': 'false',
    'report-output': reportFile,
    organization: 'mcp-gatehouse',
    project: 'mcp-gatehouse',
    url: 'not published yet',
    contact: 'not published yet',
    version: `v${version}`,
  };
  return Object.entries(flags).map(([name, value]) => `-${name}=${value}`);
}
