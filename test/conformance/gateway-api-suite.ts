// Runs the Gateway API's own conformance suite, a Go test binary, against a cluster in which our controller runs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { GoTestReader, type GoTestResult } from './go-test-output.ts';

/** The profile that is run: what a gateway for HTTP has to do. */
export const conformanceProfile = 'GATEWAY-HTTP';

/** Where the suite runs, and what it is told. */
export interface GatewayApiSuiteOptions {
  readonly program: string;
  readonly kubeconfigFile: string;
  readonly gatewayClass: string;
  /** An address that a Gateway can have, and one that none can. */
  readonly addresses: { readonly usable: string; readonly unusable: string };
  /** Our own version, for the report. */
  readonly version: string;
  /** Takes each test as it ends; the suite goes on meanwhile. */
  readonly onResult: (result: GoTestResult) => void;
}

/** How the suite ended. */
export interface GatewayApiSuiteEnd {
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

/** Runs every test that the features of the GatewayClass ask for. */
export async function runGatewayApiSuite(options: GatewayApiSuiteOptions): Promise<GatewayApiSuiteEnd> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-api-conformance-'));
  try {
    const reportFile = join(folder, 'report.yaml');
    const child = spawn(options.program, formatFlags(options, reportFile), {
      cwd: folder,
      env: { ...process.env, KUBECONFIG: options.kubeconfigFile },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'close');
    const reader = new GoTestReader('TestConformance');
    for await (const line of createInterface({ input: child.stdout })) {
      const result = reader.read(line);
      if (result !== undefined) options.onResult(result);
    }
    await exited;
    const report = await readFile(reportFile, 'utf8').catch(() => undefined);
    return { exitCode: child.exitCode, report, lastLines: reader.ownLines.slice(-50) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function formatFlags(options: GatewayApiSuiteOptions, reportFile: string): readonly string[] {
  const { gatewayClass, addresses, version } = options;
  const flags = {
    'test.run': '^TestConformance$',
    'test.v': 'test2json',
    'test.timeout': '0',
    'gateway-class': gatewayClass,
    'conformance-profiles': conformanceProfile,
    'usable-address': addresses.usable,
    'unusable-address': addresses.unusable,
    'timeout-config-overrides': Object.entries(patience)
      .map(([name, seconds]) => `${name}:${seconds}`)
      .join(';'),
    // The cluster goes away as a whole.
    'cleanup-base-resources': 'false',
    'report-output': reportFile,
    organization: 'mcp-gateway',
    project: 'mcp-gateway',
    url: 'not published yet',
    contact: 'not published yet',
    version: `v${version}`,
  };
  return Object.entries(flags).map(([name, value]) => `-${name}=${value}`);
}
