// ProxyPolicies: one Policy message for each top-level field and target. The gateway merges the levels; here the same level is settled.
// To add a field, write policies/<name>.ts and list it in `policyFields`.
import { create } from '@bufbuild/protobuf';
import type { ProxyPolicy } from '../api/proxy-policy.ts';
import type { InvalidResource } from '../api/resources.ts';
import type { Policy } from '../ir/gen/config_pb.ts';
import { FailureSchema, PolicySchema } from '../ir/gen/config_pb.ts';
import { formatPolicyKey } from '../ir/resource-keys.ts';
import type { ProxyPolicyStatus } from './conditions.ts';
import type { Notices } from './notices.ts';
import type { Named } from './order.ts';
import { compareByAge, formatName } from './order.ts';
import { corsField } from './policies/cors.ts';
import type { PolicyField, PolicySpec } from './policies/policy-field.ts';
import type { PolicyReach } from './policy-reach.ts';
import type { TargetOutcome } from './policy-status.ts';
import { describeInvalidPolicy, describePolicy } from './policy-status.ts';
import type { PolicyTarget } from './policy-targets.ts';
import { convertTargetKind, formatTarget, hasTarget, listTargets, readTargets } from './policy-targets.ts';
import { readText } from './read-raw.ts';
import { proxyGroup } from './references.ts';
import type { ResourceIndex } from './resource-index.ts';
import { formatProblems } from './resource-index.ts';

/** Every top-level field that a policy can have. */
export const policyFields: readonly PolicyField[] = [corsField];

const mostAncestors = 16;

/** The messages of all policies, and their statuses by namespace/name. */
export interface TranslatedPolicies {
  readonly messages: readonly Policy[];
  readonly statuses: ReadonlyMap<string, ProxyPolicyStatus>;
}

/** Translates the policies that are valid and closes what the invalid ones were meant to protect. */
export function translatePolicies(
  index: ResourceIndex,
  reach: PolicyReach,
  controllerName: string,
  notices: Notices,
): TranslatedPolicies {
  const messages = new Map<string, Policy>();
  const statuses = new Map<string, ProxyPolicyStatus>();
  const claims = new Map<string, string>();
  for (const policy of [...index.proxyPolicies.values()].toSorted(compareByAge)) {
    const targets = listTargets(index, policy);
    if (targets.length === 0)
      notices.add('ProxyPolicy', policy, 'protects nothing: its targetSelectors select nothing');
    const outcomes = targets.map((target) => attach(index, reach, policy, target, claims));
    for (const message of outcomes.flatMap((outcome) => outcome.messages)) messages.set(message.key, message);
    statuses.set(
      formatName(policy),
      capAncestors(describePolicy(policy, outcomes, reach, controllerName), policy, notices),
    );
  }
  for (const invalid of index.invalid) {
    if (!isPolicy(invalid)) continue;
    const targets = readTargets(index, invalid);
    for (const target of targets) {
      const message = createFailurePolicy(invalid, target);
      if (reach.isServed(target) && !messages.has(message.key)) messages.set(message.key, message);
    }
    const status = describeInvalidPolicy(invalid, targets, reach, controllerName);
    statuses.set(`${invalid.namespace}/${invalid.name}`, capAncestors(status, { metadata: invalid }, notices));
  }
  return { messages: [...messages.values()], statuses };
}

// The older policy has the field; `claims` remembers who came first, per target and field.
function attach(
  index: ResourceIndex,
  reach: PolicyReach,
  policy: ProxyPolicy,
  target: PolicyTarget,
  claims: Map<string, string>,
): TargetOutcome {
  if (!hasTarget(index, target)) return { target, found: false, messages: [], conflicts: [], wins: 0 };
  const { namespace, name } = policy.metadata;
  const messages: Policy[] = [];
  const conflicts: string[] = [];
  let wins = 0;
  for (const field of policyFields) {
    const spec = field.translate(policy);
    if (spec === undefined) continue;
    const place = JSON.stringify([target.namespace, formatTarget(target), field.name]);
    const owner = claims.get(place);
    if (owner !== undefined) {
      conflicts.push(`${field.name} of ${formatTarget(target)} is set by ProxyPolicy ${owner}, which goes first`);
      continue;
    }
    claims.set(place, formatName(policy));
    wins += 1;
    if (!reach.isServed(target)) continue;
    messages.push(
      createPolicy(
        formatPolicyKey(namespace, name, field.name, formatTarget(target)),
        formatName(policy),
        target,
        spec,
      ),
    );
  }
  return { target, found: true, messages, conflicts, wins };
}

// GEP-713 bounds the list. The policy is in force everywhere all the same; only its status is short.
function capAncestors(status: ProxyPolicyStatus, policy: Named, notices: Notices): ProxyPolicyStatus {
  const { length } = status.ancestors;
  if (length <= mostAncestors) return status;
  notices.add(
    'ProxyPolicy',
    policy,
    `has ${length} ancestors, and its status lists the first ${mostAncestors}; it is in force for all`,
  );
  return { ancestors: status.ancestors.slice(0, mostAncestors) };
}

// A resource of our group that is no ProxyBackend was meant to be a policy: a misspelled kind must not open what it protects.
function isPolicy({ kind, raw }: InvalidResource): boolean {
  if (kind === 'ProxyPolicy') return true;
  const isOurs = readText(raw, 'apiVersion')?.startsWith(`${proxyGroup}/`) ?? false;
  return isOurs && kind !== 'ProxyBackend' && kind !== 'GatewayParameters';
}

function createFailurePolicy(invalid: InvalidResource, target: PolicyTarget): Policy {
  const { namespace, name } = invalid;
  const message = `ProxyPolicy ${namespace}/${name} is invalid: ${formatProblems(invalid)}`;
  return createPolicy(
    formatPolicyKey(namespace, name, 'failure', formatTarget(target)),
    `${namespace}/${name}`,
    target,
    {
      case: 'failure',
      value: create(FailureSchema, { status: 500, reason: 'policy_invalid', message }),
    },
  );
}

function createPolicy(key: string, source: string, target: PolicyTarget, spec: PolicySpec): Policy {
  const { kind, namespace } = target;
  const [name, sectionName] = kind === 'Namespace' ? ['', ''] : [target.name, target.sectionName];
  return create(PolicySchema, {
    key,
    source,
    target: { kind: convertTargetKind(kind), namespace, name, sectionName },
    spec,
  });
}
