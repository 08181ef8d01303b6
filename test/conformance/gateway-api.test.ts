// The Gateway API conformance suite passes on a test cluster, as far as our GatewayClass claims. Writes docs/conformance/gateway-api.yaml and .md.
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { join } from 'node:path';
import { version } from '../../src/cmd/version.ts';
import { supportedFeatures } from '../../src/translate/supported-features.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { installController } from '../cluster/installed-controller.ts';
import { waitUntilWell } from '../cluster/resource-conditions.ts';
import { startCluster } from '../cluster/start-cluster.ts';
import { formatReportPage, parseReport, writeReport } from './gateway-api-report.ts';
import { conformanceProfile, type GatewayApiSuiteEnd, runGatewayApiSuite } from './gateway-api-suite.ts';
import { type GoTestResult, summarizeLines } from './go-test-output.ts';

const gatewayClass = 'proxy';
/** Of a range for documentation (RFC 5737): no load balancer has it. */
const unusableAddress = '192.0.2.1';
const coreFeatures = ['Gateway', 'HTTPRoute', 'ReferenceGrant'];

/** Extended features that are not claimed, and why. */
const noBackendTlsPolicy =
  'BackendTLSPolicy is not read. Targets of a ProxyBackend have `tls` of their own: server name, authorities.';
const noRetry =
  '`retry` is experimental: the CRDs of the standard channel do not have it. An MCP call may not be repeatable, either.';
const lacking: Readonly<Record<string, string>> = {
  BackendTLSPolicy: noBackendTlsPolicy,
  BackendTLSPolicySANValidation: noBackendTlsPolicy,
  GatewayBackendClientCertificate:
    'The gateway shows no certificate to backends. Its tests need BackendTLSPolicy, too.',
  HTTPRouteRetry: noRetry,
  HTTPRouteRetryBackendTimeout: noRetry,
  HTTPRouteRetryConnectionError: noRetry,
  ListenerSet: 'ListenerSets are not read; a Gateway has all of its listeners itself.',
};

let cluster: Cluster;
let hasFailed = false;

before(async () => {
  // The suite has a DNS server for UDPRoutes, which are no part of the profile; it only waits until its pod is ready.
  const coredns = { entrypoint: ['/bin/sh', '-c', 'exec sleep infinity'], env: { PATH: '/usr/bin:/bin' } };
  cluster = await startCluster({ images: { coredns } });
  await installController(cluster);
  await waitUntilWell(cluster, [{ kind: 'GatewayClass', name: gatewayClass }]);
});

after(async () => {
  if (hasFailed) console.log(await cluster.describe());
  await cluster?.stop();
});

test(`profile ${conformanceProfile}`, { timeout: 3_600_000 }, async (t) => {
  const ran: GoTestResult[] = [];
  const reported: Promise<void>[] = [];
  const end = await runGatewayApiSuite({
    program: join(cluster.gatewayApiFolder, 'conformance.test'),
    kubeconfigFile: cluster.access.kubeconfigFile,
    gatewayClass,
    addresses: { usable: cluster.addresses.lastLoadBalancer, unusable: unusableAddress },
    version,
    onResult: (result) => {
      // Those of features that are not claimed and of other profiles; what is claimed is compared below.
      if (result.outcome === 'skipped') return;
      ran.push(result);
      reported.push(reportResult(t, result));
    },
  });
  await Promise.all(reported);
  await t.test('the report says the same', () => checkReport(end, ran));
});

async function reportResult(t: TestContext, { name, outcome, failures, lines }: GoTestResult): Promise<void> {
  if (outcome === 'failed') hasFailed = true;
  await t.test(name, () => {
    if (outcome === 'failed') assert.fail([...failures, ...summarizeLines(lines)].join('\n'));
  });
}

async function checkReport({ exitCode, report: text, lastLines }: GatewayApiSuiteEnd, ran: readonly GoTestResult[]) {
  if (exitCode !== 0 || text === undefined) {
    hasFailed = true;
    assert.fail(`the suite ended with ${exitCode}:\n${summarizeLines(lastLines).join('\n')}`);
  }
  const report = parseReport(text);
  const [profile] = report.profiles;
  assert.ok(profile !== undefined && report.profiles.length === 1 && profile.name === conformanceProfile);
  const { core, extended } = profile;
  assert.deepEqual(
    [core, extended].map(({ result, statistics: { Failed, Skipped } }) => [result, Failed, Skipped]),
    [
      ['success', 0, 0],
      ['success', 0, 0],
    ],
  );
  assert.equal(core.statistics.Passed + extended.statistics.Passed, ran.length);
  const claimed = [...coreFeatures, ...extended.supportedFeatures].toSorted();
  assert.deepEqual(claimed, supportedFeatures.map(({ name }) => name).toSorted());
  assert.deepEqual(Object.keys(lacking).toSorted(), extended.unsupportedFeatures.toSorted());
  const page = formatReportPage(report, lacking, ran.map(({ name }) => name).toSorted());
  await writeReport(text, page);
}
