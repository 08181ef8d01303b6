// Policies that accept test tokens (`mcp-gatehouse token new`): in order where files are read, and worth a warning each time.
import type { Configuration } from '../ir/configuration.ts';
import { listTestIssuers } from '../ir/test-issuer.ts';

/** A policy, and what to tell about it. */
interface TestPolicy {
  /** namespace/name */
  readonly policy: string;
  readonly message: string;
}

/** One entry per policy and issuer. */
export function listTestPolicies({ policies }: Configuration): TestPolicy[] {
  const found = new Map<string, TestPolicy>();
  for (const policy of policies) {
    for (const issuer of listTestIssuers(policy)) {
      const message = `accepts test tokens of ${issuer} (mcp-gatehouse token new); take it away after the test, deployed gateways refuse it`;
      found.set(`${policy.source} ${issuer}`, { policy: policy.source, message });
    }
  }
  return [...found.values()];
}
