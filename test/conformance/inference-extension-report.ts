// The page about the report of the Inference Extension's conformance suite: docs/conformance/inference-extension.md.
import { formatCounts, type SuiteReport } from './suite-report.ts';

/** The page. `tests` has the names of those that ran and passed. */
export function formatInferencePage(report: SuiteReport, tests: readonly string[]): string {
  const [profile] = report.profiles;
  if (profile === undefined) throw new TypeError('The report has no profile.');
  const { GatewayAPIInferenceExtensionVersion: version = '', gatewayAPIVersion } = report;
  return `# Inference Extension conformance

The [Inference Extension](https://gateway-api-inference-extension.sigs.k8s.io)'s own conformance suite (${version}, with Gateway API
${gatewayAPIVersion}) runs profile ${profile.name} on a test cluster: a real API server, the controller as a pod, installed from the chart with
\`inferenceExtension.enabled=true\` and nothing but its own rights, the gateways that it deploys, and the endpoint pickers and model servers that
the suite brings along. \`npm run test:conformance\` repeats it; [inference-extension.yaml](inference-extension.yaml) is the suite's report,
written anew when it says something else than before.

| tests | passed | failed | skipped |
|---|---|---|---|
| core | ${formatCounts(profile.core)} |

The profile has no features beyond its core. Every test is run.

## Tests

${tests.map((name) => `- ${name}`).join('\n')}
`;
}
