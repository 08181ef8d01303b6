// The page about the report of the Gateway API conformance suite: docs/conformance/gateway-api.md.
import { formatCounts, type SuiteReport } from './suite-report.ts';

/** The page. `lacking` has a reason for each feature that is not claimed, `tests` the names of those that ran and passed. */
export function formatReportPage(
  report: SuiteReport,
  lacking: Readonly<Record<string, string>>,
  tests: readonly string[],
): string {
  const [profile] = report.profiles;
  if (profile?.extended === undefined) throw new TypeError('The report has no profile with extended features.');
  const { core, extended } = profile;
  const channel = `${report.gatewayAPIVersion}, ${report.gatewayAPIChannel} channel`;
  const provisional = report.succeededProvisionalTests ?? [];
  return `# Gateway API conformance

The [Gateway API](https://gateway-api.sigs.k8s.io)'s own conformance suite (${channel}) runs profile ${profile.name} on a
test cluster: a real API server, the controller as a pod with nothing but its own rights, and the gateways that it deploys.
What the GatewayClass claims in \`status.supportedFeatures\` decides which tests run: every core test, and those of every
extended feature that is claimed. \`npm run test:conformance\` repeats it; [gateway-api.yaml](gateway-api.yaml) is the suite's report,
written anew when it says something else than before.

| tests | passed | failed | skipped |
|---|---|---|---|
| core | ${formatCounts(core)} |
| extended | ${formatCounts(extended)} |

## Extended features that are claimed

${extended.supportedFeatures.map((feature) => `- ${feature}`).join('\n')}

## Extended features that are not

| feature | why |
|---|---|
${extended.unsupportedFeatures.map((feature) => `| ${feature} | ${lacking[feature] ?? ''} |`).join('\n')}

Their fields are refused, never ignored: the status of the Gateway or HTTPRoute says so. Kinds that are not read get no status.

## Tests

${tests.map((name) => `- ${name}${provisional.includes(name) ? ' (provisional)' : ''}`).join('\n')}
`;
}
