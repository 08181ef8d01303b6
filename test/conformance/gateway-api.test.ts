// The Gateway API conformance suite passes on a test cluster, as far as our GatewayClass claims. Writes docs/conformance/gateway-api.yaml and .md.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { join } from 'node:path';
import { supportedFeatures } from '../../src/translate/supported-features.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { installController } from '../cluster/installed-controller.ts';
import { waitUntilWell } from '../cluster/resource-conditions.ts';
import { startCluster } from '../cluster/start-cluster.ts';
import { formatReportPage } from './gateway-api-report.ts';
import { type GatewaySuiteEnd, requireReport, runGatewaySuite } from './gateway-suite.ts';
import { parseReport, writeReport } from './suite-report.ts';

/** What a gateway for HTTP has to do. */
const profileName = 'GATEWAY-HTTP';
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
let hasPassed = false;

before(async () => {
  // The suite has a DNS server for UDPRoutes, which are no part of the profile; it only waits until its pod is ready.
  const coredns = { entrypoint: ['/bin/sh', '-c', 'exec sleep infinity'], env: { PATH: '/usr/bin:/bin' } };
  cluster = await startCluster({ images: { coredns }, hasWholeGatewayApi: true });
  await installController(cluster);
  await waitUntilWell(cluster, [{ kind: 'GatewayClass', name: gatewayClass }]);
});

after(async () => {
  if (!hasPassed) console.log(await cluster?.describe());
  await cluster?.stop();
});

test(`profile ${profileName}`, { timeout: 3_600_000 }, async (t) => {
  const end = await runGatewaySuite(t, {
    program: join(cluster.gatewayApiFolder, 'conformance.test'),
    kubeconfigFile: cluster.access.kubeconfigFile,
    gatewayClass,
    profile: profileName,
    addresses: { usable: cluster.addresses.lastLoadBalancer, unusable: unusableAddress },
  });
  await t.test('the report says the same', () => checkReport(end));
  hasPassed = end.exitCode === 0;
});

async function checkReport(end: GatewaySuiteEnd): Promise<void> {
  const text = requireReport(end);
  const report = parseReport(text);
  const [profile] = report.profiles;
  assert.ok(profile !== undefined && report.profiles.length === 1 && profile.name === profileName);
  const { core, extended } = profile;
  assert.ok(extended !== undefined);
  assert.deepEqual(
    [core, extended].map(({ result, statistics: { Failed, Skipped } }) => [result, Failed, Skipped]),
    [
      ['success', 0, 0],
      ['success', 0, 0],
    ],
  );
  assert.equal(core.statistics.Passed + extended.statistics.Passed, end.ran.length);
  const claimed = [...coreFeatures, ...extended.supportedFeatures].toSorted();
  assert.deepEqual(claimed, supportedFeatures.map(({ name }) => name).toSorted());
  assert.deepEqual(Object.keys(lacking).toSorted(), extended.unsupportedFeatures.toSorted());
  const page = formatReportPage(report, lacking, end.ran.map(({ name }) => name).toSorted());
  await writeReport('gateway-api', text, page);
}
