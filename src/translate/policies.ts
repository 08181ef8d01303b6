// ProxyPolicies: one Policy message for each top-level field and target. The gateway merges the levels; here the same level is settled.
// To add a field, write policies/<name>.ts and list it in `policyFields`.
import { create } from '@bufbuild/protobuf';
import type { ProxyPolicy } from '../api/proxy-policy.ts';
import type { InvalidResource } from '../api/resources.ts';
import type { Policy, Secret } from '../ir/gen/config_pb.ts';
import { FailureSchema, PolicySchema } from '../ir/gen/config_pb.ts';
import { formatPolicyKey } from '../ir/resource-keys.ts';
import type { ProxyPolicyStatus } from './conditions.ts';
import type { Notices } from './notices.ts';
import type { Named } from './order.ts';
import { compareByAge, formatName } from './order.ts';
import type { Backends } from './backends.ts';
import { corsField } from './policies/cors.ts';
import { mcpAuthenticationField } from './policies/mcp-authentication.ts';
import type { FieldSurroundings, FieldTranslation, PolicyField, PolicySpec } from './policies/policy-field.ts';
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
export const policyFields: readonly PolicyField[] = [corsField, mcpAuthenticationField];

const mostAncestors = 16;

/** The messages of all policies, and their statuses by namespace/name. */
export interface TranslatedPolicies {
  readonly messages: readonly Policy[];
  /** What the messages refer to. */
  readonly secrets: readonly Secret[];
  /** Keys of the backends that the messages refer to. */
  readonly backends: readonly string[];
  readonly statuses: ReadonlyMap<string, ProxyPolicyStatus>;
}

/** Translates the policies that are valid and closes what the invalid ones were meant to protect. */
export function translatePolicies(
  index: ResourceIndex,
  backends: Backends,
  reach: PolicyReach,
  controllerName: string,
  notices: Notices,
): TranslatedPolicies {
  const messages = new Map<string, Policy>();
  const used: { readonly secrets: Secret[]; readonly backends: string[] } = { secrets: [], backends: [] };
  const statuses = new Map<string, ProxyPolicyStatus>();
  const claims = new Map<string, string>();
  for (const policy of [...index.proxyPolicies.values()].toSorted(compareByAge)) {
    const targets = listTargets(index, policy);
    if (targets.length === 0)
      notices.add('ProxyPolicy', policy, 'protects nothing: its targetSelectors select nothing');
    const fields = translateFields(policy, { index, backends, targets, listRules: reach.listRules });
    const outcomes = targets.map((target) => attach(index, reach, policy, fields, target, claims));
    if (outcomes.some((outcome) => outcome.messages.length > 0))
      for (const { translation } of fields) {
        if (!translation.valid) continue;
        used.secrets.push(...translation.secrets);
        used.backends.push(...translation.backends);
      }
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
  return { messages: [...messages.values()], ...used, statuses };
}

/** A field that the policy has. */
interface TranslatedField {
  readonly name: string;
  readonly translation: FieldTranslation;
}

function translateFields(policy: ProxyPolicy, surroundings: FieldSurroundings): readonly TranslatedField[] {
  return policyFields.flatMap((field) => {
    const translation = field.translate(policy, surroundings);
    return translation === undefined ? [] : [{ name: field.name, translation }];
  });
}

// The older policy has the field; `claims` remembers who came first, per target and field.
function attach(
  index: ResourceIndex,
  reach: PolicyReach,
  policy: ProxyPolicy,
  fields: readonly TranslatedField[],
  target: PolicyTarget,
  claims: Map<string, string>,
): TargetOutcome {
  const problems = fields.flatMap(({ translation }) => (translation.valid ? [] : translation.problems));
  if (!hasTarget(index, target)) return { target, found: false, messages: [], conflicts: [], problems, wins: 0 };
  const { namespace, name } = policy.metadata;
  const messages: Policy[] = [];
  const conflicts: string[] = [];
  let wins = 0;
  for (const field of fields) {
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
        // One problem closes all of it: half of a policy is another policy.
        problems.length === 0 && field.translation.valid
          ? field.translation.spec
          : createFailure(formatName(policy), problems.join('; ')),
      ),
    );
  }
  return { target, found: true, messages, conflicts, problems, wins };
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
  return createPolicy(
    formatPolicyKey(namespace, name, 'failure', formatTarget(target)),
    `${namespace}/${name}`,
    target,
    createFailure(`${namespace}/${name}`, formatProblems(invalid)),
  );
}

function createFailure(policy: string, problems: string): PolicySpec {
  const message = `ProxyPolicy ${policy} is invalid: ${problems}`;
  return { case: 'failure', value: create(FailureSchema, { status: 500, reason: 'policy_invalid', message }) };
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
