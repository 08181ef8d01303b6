// From files: while a policy that was to protect something is attached to nothing, rules that nothing protects are closed. What the policy was meant for
// is not known, and may be any of them. docs/adr/0026-unattached-policies.md says why; in a cluster the status and an Event tell instead.
import { create } from '@bufbuild/protobuf';
import type { Configuration } from '../ir/configuration.ts';
import { FailureSchema, type Policy, PolicySchema, PolicyTargetKind } from '../ir/gen/config_pb.ts';
import { formatPolicyKey } from '../ir/resource-keys.ts';
import { compareText } from './order.ts';

/** A policy that authenticates or authorizes, and misses at least one of its targets. */
export interface UnattachedPolicy {
  /** namespace/name */
  readonly policy: string;
  /** For people: which targets are missing, and what was probably meant. */
  readonly message: string;
}

/** The configuration with a failure for every rule that nothing protects; the same when all policies are attached. */
export function closeUnprotected(configuration: Configuration, unattached: readonly UnattachedPolicy[]): Configuration {
  if (unattached.length === 0) return configuration;
  const policies = [...configuration.policies, ...unattached.map(createClosing)];
  return { ...configuration, policies: policies.toSorted((left, right) => compareText(left.key, right.key)) };
}

function createClosing({ policy, message }: UnattachedPolicy): Policy {
  const slash = policy.indexOf('/');
  const [namespace, name] = [policy.slice(0, slash), policy.slice(slash + 1)];
  return create(PolicySchema, {
    key: formatPolicyKey(namespace, name, 'failure', 'Unprotected'),
    source: policy,
    target: { kind: PolicyTargetKind.UNPROTECTED, namespace },
    spec: { case: 'failure', value: create(FailureSchema, { status: 403, reason: 'policy_unattached', message }) },
  });
}
