// The report of the Inference Extension's conformance suite that is committed is about the version that we test with. `npm run
// test:conformance` makes a new one.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gatewayApiVersion } from '../../scripts/install-gateway-api.ts';
import { inferenceExtensionVersion } from '../../scripts/install-inference-extension.ts';
import { formatInferencePage } from '../conformance/inference-extension-report.ts';
import { parseReport, readCommittedReport } from '../conformance/suite-report.ts';

const report = parseReport(await readCommittedReport('inference-extension'));

test('every test of the profile passed', () => {
  const [profile] = report.profiles;
  assert.equal(report.profiles.length, 1);
  assert.equal(profile?.name, 'Gateway');
  assert.equal(profile.core.result, 'success');
  const { Passed, Failed, Skipped } = profile.core.statistics;
  assert.deepEqual([Passed > 10, Failed, Skipped], [true, 0, 0]);
});

test('it is of the versions that we test with', () => {
  assert.equal(report.GatewayAPIInferenceExtensionVersion, `v${inferenceExtensionVersion}`);
  assert.deepEqual([report.gatewayAPIVersion, report.gatewayAPIChannel], [`v${gatewayApiVersion}`, 'standard']);
});

test('the page is about this report', async () => {
  const file = join(import.meta.dirname, '..', '..', 'docs', 'conformance', 'inference-extension.md');
  const page = await readFile(file, 'utf8');
  const tests = [...page.matchAll(/^- (\w+)$/gm)].map(([, name]) => name ?? '');
  assert.equal(tests.length, report.profiles[0]?.core.statistics.Passed);
  assert.equal(page, formatInferencePage(report, tests));
});
