// The Inference Extension's conformance suite passes on a test cluster, all of it. Writes docs/conformance/inference-extension.yaml and .md.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { join } from 'node:path';
import { inferenceExtensionVersion } from '../../scripts/install-inference-extension.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { installController } from '../cluster/installed-controller.ts';
import { waitUntilWell } from '../cluster/resource-conditions.ts';
import { startCluster } from '../cluster/start-cluster.ts';
import { type GatewaySuiteEnd, requireReport, runGatewaySuite } from './gateway-suite.ts';
import { formatInferencePage } from './inference-extension-report.ts';
import { parseReport, writeReport } from './suite-report.ts';

/** What a gateway has to do; the suite has no other. */
const profileName = 'Gateway';
const gatewayClass = 'proxy';
/**
 * Seconds until a test gives up. One of them wants three answers in a row from a pod of a pool that gets three requests of ten: about fifty attempts, one
 * a second, and sometimes many more.
 */
const patience = { MaxTimeToConsistency: 1200 };

let cluster: Cluster;
let hasPassed = false;

before(async () => {
  cluster = await startCluster({ hasInferenceExtension: true, hasWholeGatewayApi: true });
  await installController(cluster, { values: { inferenceExtension: { enabled: true } } });
  await waitUntilWell(cluster, [{ kind: 'GatewayClass', name: gatewayClass }]);
});

after(async () => {
  if (!hasPassed) console.log(await cluster?.describe());
  await cluster?.stop();
});

test(`profile ${profileName}`, { timeout: 3_600_000 }, async (t) => {
  const end = await runGatewaySuite(t, {
    program: join(cluster.inferenceExtensionFolder, 'conformance.test'),
    kubeconfigFile: cluster.access.kubeconfigFile,
    gatewayClass,
    profile: profileName,
    patience,
  });
  await t.test('the report says the same', () => checkReport(end));
  hasPassed = end.exitCode === 0;
});

async function checkReport(end: GatewaySuiteEnd): Promise<void> {
  const text = requireReport(end);
  const report = parseReport(text);
  assert.equal(report.GatewayAPIInferenceExtensionVersion, `v${inferenceExtensionVersion}`);
  const [profile] = report.profiles;
  assert.ok(profile !== undefined && report.profiles.length === 1 && profile.name === profileName);
  const { core, extended } = profile;
  const { Passed, Failed, Skipped } = core.statistics;
  assert.deepEqual([core.result, Passed, Failed, Skipped], ['success', end.ran.length, 0, 0]);
  assert.equal(extended, undefined);
  await writeReport(
    'inference-extension',
    text,
    formatInferencePage(report, end.ran.map(({ name }) => name).toSorted()),
  );
}
