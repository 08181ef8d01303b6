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
import type { MissingSection } from './missing-section.ts';
import { findMissingSection } from './missing-section.ts';
import { authorizationField } from './policies/authorization.ts';
import { corsField } from './policies/cors.ts';
import { jwtAuthenticationField } from './policies/jwt-authentication.ts';
import { mcpAuthenticationField } from './policies/mcp-authentication.ts';
import { mcpAuthorizationField } from './policies/mcp-authorization.ts';
import type { FieldSurroundings, FieldTranslation, PolicyField, PolicySpec } from './policies/policy-field.ts';
import type { PolicyConflict } from './policy-conflicts.ts';
import { PolicyClaims } from './policy-conflicts.ts';
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
export const policyFields: readonly PolicyField[] = [
  corsField,
  jwtAuthenticationField,
  authorizationField,
  mcpAuthenticationField,
  mcpAuthorizationField,
];

const mostAncestors = 16;

/** The messages of all policies, and their statuses by namespace/name. */
export interface TranslatedPolicies {
  readonly messages: readonly Policy[];
  /** What the messages refer to. */
  readonly secrets: readonly Secret[];
  /** Keys of the backends that the messages refer to. */
  readonly backends: readonly string[];
  readonly statuses: ReadonlyMap<string, ProxyPolicyStatus>;
  /** Fields that have no say, by the age of their policies. */
  readonly conflicts: readonly PolicyConflict[];
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
  const used: Used = { secrets: [], backends: [] };
  const statuses = new Map<string, ProxyPolicyStatus>();
  const claims = new PolicyClaims();
  const conflicts: PolicyConflict[] = [];
  for (const policy of [...index.proxyPolicies.values()].toSorted(compareByAge)) {
    const targets = listTargets(index, policy);
    if (targets.length === 0)
      notices.add('ProxyPolicy', policy, 'protects nothing: its targetSelectors select nothing');
    const fields = translateFields(policy, { index, backends, targets, listRules: reach.listRules });
    const outcomes = targets.map((target) => attach(index, reach, policy, fields, target, claims, used));
    for (const message of outcomes.flatMap((outcome) => outcome.messages)) messages.set(message.key, message);
    conflicts.push(...outcomes.flatMap((outcome) => outcome.conflicts));
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
  return { messages: [...messages.values()], ...used, statuses, conflicts };
}

/** What messages refer to. Nothing of a field that lost or that is closed: a secret without a use has no business there. */
interface Used {
  readonly secrets: Secret[];
  readonly backends: string[];
}

/** A field that the policy has. */
interface TranslatedField extends Pick<PolicyField, 'name' | 'path' | 'isGuard'> {
  readonly translation: FieldTranslation;
}

function translateFields(policy: ProxyPolicy, surroundings: FieldSurroundings): readonly TranslatedField[] {
  return policyFields.flatMap((field) => {
    const translation = field.translate(policy, surroundings);
    return translation === undefined ? [] : [{ ...field, translation }];
  });
}

function attach(
  index: ResourceIndex,
  reach: PolicyReach,
  policy: ProxyPolicy,
  fields: readonly TranslatedField[],
  target: PolicyTarget,
  claims: PolicyClaims,
  used: Used,
): TargetOutcome {
  const problems = fields.flatMap(({ translation }) => (translation.valid ? [] : translation.problems));
  if (!hasTarget(index, target)) {
    const isGuard = fields.some((field) => field.isGuard);
    const missingSection = findMissingSection(index, target, isGuard);
    const messages =
      missingSection !== undefined && isGuard && reach.isServed(missingSection.whole)
        ? [closeWhole(policy, target, missingSection, problems)]
        : [];
    return { target, found: false, missingSection, messages, conflicts: [], problems, wins: 0 };
  }
  const { namespace, name } = policy.metadata;
  const messages: Policy[] = [];
  const conflicts: PolicyConflict[] = [];
  let wins = 0;
  for (const field of fields) {
    const outcome = claims.ask(policy, field.path, target);
    if (!outcome.granted) {
      conflicts.push(outcome.conflict);
      continue;
    }
    wins += 1;
    if (!reach.isServed(target)) continue;
    // One problem closes all of it: half of a policy is another policy.
    let spec = createFailure(problems.join('; '));
    if (problems.length === 0 && field.translation.valid) {
      ({ spec } = field.translation);
      used.secrets.push(...field.translation.secrets);
      used.backends.push(...field.translation.backends);
    }
    const key = formatPolicyKey(namespace, name, field.name, formatTarget(target));
    outcome.claim.message = createPolicy(key, formatName(policy), target, spec);
    messages.push(outcome.claim.message);
  }
  return { target, found: true, missingSection: undefined, messages, conflicts, problems, wins };
}

// The key is that of the section: two sections that are missing do not get in each other's way.
function closeWhole(
  policy: ProxyPolicy,
  target: PolicyTarget,
  { whole, message }: MissingSection,
  problems: readonly string[],
): Policy {
  const { namespace, name } = policy.metadata;
  const key = formatPolicyKey(namespace, name, 'failure', formatTarget(target));
  return createPolicy(key, formatName(policy), whole, createFailure([message, ...problems].join(' ')));
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
    createFailure(formatProblems(invalid)),
  );
}

// Whoever shows the message names the policy.
function createFailure(message: string): PolicySpec {
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
