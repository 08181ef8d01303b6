// The report of the Gateway API conformance suite that is committed is about what we claim now. `npm run test:conformance` makes a new one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatewayApiVersion } from '../../scripts/install-gateway-api.ts';
import { supportedFeatures } from '../../src/translate/supported-features.ts';
import { parseReport, readCommittedReport, saysTheSame } from '../conformance/suite-report.ts';

const text = await readCommittedReport('gateway-api');
const report = parseReport(text);
const [profile] = report.profiles;

test('it has every feature that is claimed, and no test failed or was skipped', () => {
  assert.ok(profile?.extended !== undefined);
  const { core, extended } = profile;
  const tested = ['Gateway', 'HTTPRoute', 'ReferenceGrant', ...extended.supportedFeatures];
  assert.deepEqual(
    tested.toSorted(),
    supportedFeatures.map(({ name }) => name),
  );
  assert.deepEqual([core.result, extended.result], ['success', 'success']);
  for (const { statistics } of [core, extended]) {
    assert.ok(statistics.Passed > 30);
    assert.deepEqual([statistics.Failed, statistics.Skipped], [0, 0]);
  }
});

test('it is of the version of the Gateway API that we test with', () => {
  assert.deepEqual([report.gatewayAPIVersion, report.gatewayAPIChannel], [`v${gatewayApiVersion}`, 'standard']);
});

test('another time is no other report', () => {
  assert.ok(saysTheSame(text, text.replace(/^date: .*$/m, 'date: "2027-01-01T00:00:00Z"')));
  assert.ok(!saysTheSame(text, text.replace('Failed: 0', 'Failed: 1')));
  assert.ok(!saysTheSame(text, text.replace('- HTTPRouteCORS', '- HTTPRouteOther')));
});
