// ProxyPolicies: one Policy message for each kind and target. Conflicts at one level are settled here; the gateway merges the levels.
import { create } from '@bufbuild/protobuf';
import type { ProxyPolicy } from '../api/proxy-policy.ts';
import type { InvalidResource } from '../api/resources.ts';
import { type Policy, type PolicyRival, type Secret, FailureSchema, PolicySchema } from '../ir/gen/config_pb.ts';
import { type PolicyKind, allPolicyKinds, policyKinds } from '../ir/policy-kinds.ts';
import { formatPolicyKey } from '../ir/resource-keys.ts';
import type { Backends } from './backends.ts';
import type { ProxyPolicyStatus } from './conditions.ts';
import { type Memory, keepEqual, keepList, keepMessages, replaceLists } from './memory.ts';
import { type MissingSection, findMissingSection } from './missing-section.ts';
import { describeMissingTarget } from './missing-target.ts';
import type { Notice } from './notices.ts';
import { type Named, compareText, formatName, readCreatedAt } from './order.ts';
import type { Placement } from './placement.ts';
import { type FieldTranslation, type PolicySpec, readPolicyField } from './policies/policy-translator.ts';
import { translateField } from './policies/policy-translators.ts';
import {
  type Claimant,
  type Claims,
  type PolicyConflict,
  formatPlace,
  formatResourcePlace,
  settleClaim,
} from './policy-conflicts.ts';
import { type OverriddenField, findOverrides } from './policy-overrides.ts';
import type { PolicyReach } from './policy-reach.ts';
import { type TargetOutcome, describeInvalidPolicy, describePolicy } from './policy-status.ts';
import {
  type PolicyTarget,
  type Selections,
  convertTargetKind,
  formatTarget,
  hasTarget,
  listTargets,
  prepareSelections,
  readTargets,
} from './policy-targets.ts';
import { readText } from './read-raw.ts';
import { proxyGroup } from './references.ts';
import { type ResourceIndex, formatProblems } from './resource-index.ts';
import type { Secrets } from './secrets.ts';
import { listEmptySelectors, listMissing, listMissingOfInvalid, mayRefuse } from './unattached-targets.ts';

const mostAncestors = 16;

/** What became of one policy. */
export interface TranslatedPolicy {
  /** namespace/name */
  readonly name: string;
  readonly messages: readonly Policy[];
  /** The secrets that the messages refer to. None for a field that lost or is closed: unused secrets are not sent to gateways. */
  readonly secrets: readonly Secret[];
  /** Keys of the backends that the messages refer to. */
  readonly backends: readonly string[];
  readonly status: ProxyPolicyStatus;
  /** Fields that another policy takes precedence over. */
  readonly conflicts: readonly PolicyConflict[];
  readonly keys: PolicyKeys;
  /** For people: the targets that a policy which can refuse requests does not find, one sentence each. */
  readonly unattached: readonly string[];
  readonly notices: readonly Notice[];
}

/** Which Gateways have messages of a policy. */
export interface PolicyKeys {
  /** namespace/name */
  readonly policy: string;
  /** Keys of messages, by the Gateway that serves their targets. */
  readonly byGateway: ReadonlyMap<string, readonly string[]>;
}

/** What a policy claims, before conflicts are settled. */
interface ClaimedPlaces {
  readonly claimant: Claimant;
  readonly targets: readonly PolicyTarget[];
  /** Fields at targets that exist. */
  readonly places: readonly string[];
}

/** All policies. */
interface Policies {
  /** Collects the claims of all policies; runs before outcomes are asked for. */
  readonly collectClaims: () => void;
  /** The outcomes of valid policies, in the order of their names. */
  readonly list: () => readonly TranslatedPolicy[];
  /** Fields of valid policies that lost a conflict, by the age of the policies. */
  readonly listConflicts: () => readonly PolicyConflict[];
  /** The outcomes of policies that did not validate. */
  readonly listInvalid: () => readonly TranslatedPolicy[];
}

/** What policies look at. */
interface PolicySurroundings {
  readonly memory: Memory;
  readonly index: ResourceIndex;
  readonly secrets: Secrets;
  readonly backends: Backends;
  readonly reach: PolicyReach;
  readonly controllerName: string;
  readonly placement: Placement;
}

/** Translates valid policies, and closes the targets of invalid ones. */
export function preparePolicies(surroundings: PolicySurroundings): Policies {
  const { memory, index } = surroundings;
  const selections = prepareSelections(memory, index);
  const claims: Claims = memory.createTable();
  const claimsByPolicy = memory.derive((name): ClaimedPlaces | undefined => {
    const policy = index.proxyPolicies.get(name);
    return policy && readClaims(surroundings, selections, policy);
  });
  const outcomes = memory.derive<TranslatedPolicy | undefined>((name, previous) => {
    const policy = index.proxyPolicies.get(name);
    const claim = claimsByPolicy.get(name);
    return policy && claim && translatePolicy(surroundings, selections, claims, policy, claim, previous);
  });
  const invalidOutcomes = memory.derive<TranslatedPolicy | undefined>((key, previous) => {
    const [place, position] = JSON.parse(key) as [string, number];
    const invalid = index.invalid.get(place)?.[position];
    return invalid && translateInvalidPolicy(surroundings, selections, invalid, previous);
  });
  let wanted: readonly ClaimedPlaces[] = [];
  let namesByAge: readonly string[] = [];
  return {
    collectClaims() {
      const known = wanted;
      wanted = keepList(
        known,
        [...index.proxyPolicies.entries().keys()].flatMap((name) => claimsByPolicy.get(name) ?? []),
      );
      if (wanted === known) return;
      const byAge = wanted.toSorted((left, right) => compareClaimants(left.claimant, right.claimant));
      namesByAge = byAge.map(({ claimant }) => claimant.policy);
      const lists = new Map<string, Claimant[]>();
      for (const { claimant, places } of byAge) {
        for (const place of places) {
          const list = lists.get(place);
          if (list === undefined) lists.set(place, [claimant]);
          else list.push(claimant);
        }
      }
      replaceLists(claims, lists);
    },
    list: () => [...index.proxyPolicies.entries().keys()].flatMap((name) => outcomes.get(name) ?? []),
    listConflicts: () => namesByAge.flatMap((name) => outcomes.get(name)?.conflicts ?? []),
    listInvalid: () =>
      [...index.invalid.entries()].flatMap(([place, resources]) =>
        resources.flatMap((invalid, position) =>
          isPolicy(invalid) ? (invalidOutcomes.get(JSON.stringify([place, position])) ?? []) : [],
        ),
      ),
  };
}

// Overrides first; then the older first, unknown age last, then by name, like sortByAge.
function compareClaimants(left: Claimant, right: Claimant): number {
  if (left.isOverride !== right.isOverride) return left.isOverride ? -1 : 1;
  const [leftAge, rightAge] = [left.createdAt || Infinity, right.createdAt || Infinity];
  if (leftAge !== rightAge) return leftAge < rightAge ? -1 : 1;
  return compareText(left.policy, right.policy);
}

function readClaims({ index, reach }: PolicySurroundings, selections: Selections, policy: ProxyPolicy): ClaimedPlaces {
  const targets = listTargets(selections, policy);
  const kinds = allPolicyKinds.filter((kind) => readPolicyField(policy, kind) !== undefined);
  const present = targets.filter((target) => hasTarget(index, target));
  const places = present.flatMap((target) => kinds.map((kind) => formatPlace(kind, target)));
  // Two servers behind one Gateway with the same URL would accept each other's tokens.
  const resource = policy.spec.backend?.mcp.authentication?.resourceMetadata?.resource;
  const gateways = resource === undefined ? [] : new Set(present.flatMap((target) => reach.listGateways(target)));
  return {
    claimant: {
      policy: formatName(policy),
      createdAt: readCreatedAt(policy),
      isOverride: policy.spec.enforcement === 'Override',
    },
    targets,
    places: [...places, ...[...gateways].map((gateway) => formatResourcePlace(gateway, resource!))],
  };
}

function translatePolicy(
  surroundings: PolicySurroundings,
  selections: Selections,
  claims: Claims,
  policy: ProxyPolicy,
  { claimant, targets }: ClaimedPlaces,
  previous: TranslatedPolicy | undefined,
): TranslatedPolicy {
  const { reach, controllerName } = surroundings;
  const fields = translateFields(policy, surroundings, claims, targets);
  const used: Used = { secrets: [], backends: [] };
  const outcomes = targets.map((target) => attach(surroundings, claims, policy, claimant, fields, target, used));
  const status = describePolicy(policy, outcomes, reach, controllerName);
  const isGuard = fields.some(({ kind }) => policyKinds[kind].isGuard);
  const remarks =
    targets.length === 0
      ? ['protects nothing: its targetSelectors select nothing']
      : isGuard
        ? listEmptySelectors(selections, policy).map((text) => `protects less than it should: ${text}`)
        : [];
  return finishPolicy(
    policy,
    {
      messages: outcomes
        .flatMap(({ messages }) => messages)
        .toSorted((left, right) => compareText(left.key, right.key)),
      ...used,
      status,
      conflicts: outcomes.flatMap(({ conflicts }) => conflicts),
      keys: { policy: claimant.policy, byGateway: groupByGateway(outcomes) },
      unattached: isGuard ? listMissing(surroundings.index, selections, policy, outcomes) : [],
    },
    remarks,
    previous,
  );
}

function translateInvalidPolicy(
  { index, reach, controllerName }: PolicySurroundings,
  selections: Selections,
  invalid: InvalidResource,
  previous: TranslatedPolicy | undefined,
): TranslatedPolicy {
  const targets = readTargets(index, selections, invalid);
  const messages = targets
    .filter((target) => reach.isServed(target))
    .map((target) => createFailurePolicy(invalid, target));
  const status = describeInvalidPolicy(invalid, targets, reach, controllerName);
  const keys = { policy: `${invalid.namespace}/${invalid.name}`, byGateway: new Map() };
  const unattached = mayRefuse(invalid) ? listMissingOfInvalid(index, reach, targets) : [];
  const outcome = { messages, secrets: [], backends: [], status, conflicts: [], keys, unattached };
  return finishPolicy({ metadata: invalid }, outcome, [], previous);
}

function groupByGateway(outcomes: readonly TargetOutcome[]): PolicyKeys['byGateway'] {
  const byGateway = new Map<string, string[]>();
  for (const { messages, servingGateways } of outcomes) {
    for (const gateway of servingGateways) {
      const keys = byGateway.get(gateway) ?? [];
      byGateway.set(gateway, keys);
      keys.push(...messages.map(({ key }) => key));
    }
  }
  return byGateway;
}

// GEP-713 bounds the list of ancestors. The policy is in force everywhere all the same; only its status is short.
function finishPolicy(
  policy: Named,
  outcome: Omit<TranslatedPolicy, 'name' | 'notices'>,
  remarks: readonly string[],
  previous: TranslatedPolicy | undefined,
): TranslatedPolicy {
  const { ancestors } = outcome.status;
  const isCut = ancestors.length > mostAncestors;
  const messages = [
    ...remarks,
    ...(isCut
      ? [`has ${ancestors.length} ancestors; its status lists the first ${mostAncestors}, but it is in force for all`]
      : []),
  ];
  const { namespace = '', name } = policy.metadata;
  return {
    ...outcome,
    name: `${namespace}/${name}`,
    messages: keepMessages(previous?.messages, outcome.messages),
    backends: keepEqual(previous?.backends, outcome.backends),
    unattached: keepEqual(previous?.unattached, outcome.unattached),
    keys: keepEqual(previous?.keys, outcome.keys),
    status: isCut ? { ancestors: ancestors.slice(0, mostAncestors) } : outcome.status,
    notices: messages.map((message) => ({ kind: 'ProxyPolicy', namespace, name, message })),
  };
}

/** What messages refer to. */
interface Used {
  readonly secrets: Secret[];
  readonly backends: string[];
}

/** A field that the policy has. */
interface TranslatedField {
  readonly kind: PolicyKind;
  readonly translation: FieldTranslation;
}

function translateFields(
  policy: ProxyPolicy,
  { secrets, backends, reach, placement }: PolicySurroundings,
  claims: Claims,
  targets: readonly PolicyTarget[],
): readonly TranslatedField[] {
  const findResourceOwner = (resource: string): string | undefined => {
    const gateways = new Set(targets.flatMap((target) => reach.listGateways(target)));
    const owners = [...gateways].map((gateway) => claims.get(formatResourcePlace(gateway, resource))?.[0]?.policy);
    return owners.find((owner) => owner !== undefined && owner !== formatName(policy));
  };
  const findFieldOwner = (kind: PolicyKind): string | undefined => {
    const owners = targets.map((target) => claims.get(formatPlace(kind, target))?.[0]?.policy);
    return owners.find((owner) => owner !== undefined && owner !== formatName(policy));
  };
  const { namespace } = policy.metadata;
  const around = { namespace, placement, secrets, backends, targets, findResourceOwner, findFieldOwner, ...reach };
  return allPolicyKinds.flatMap((kind) => {
    const translation = translateField(kind, policy, around);
    return translation === undefined ? [] : [{ kind, translation }];
  });
}

function attach(
  { index, reach }: PolicySurroundings,
  claims: Claims,
  policy: ProxyPolicy,
  claimant: Claimant,
  fields: readonly TranslatedField[],
  target: PolicyTarget,
  used: Used,
): TargetOutcome {
  const problems = fields.flatMap(({ translation }) => (translation.valid ? [] : translation.problems));
  if (!hasTarget(index, target)) {
    const isGuard = fields.some(({ kind }) => policyKinds[kind].isGuard);
    const missingSection = findMissingSection(index, target, isGuard);
    const isClosed = missingSection !== undefined && isGuard && reach.isServed(missingSection.whole);
    return {
      target,
      found: false,
      absence:
        missingSection?.message ??
        describeMissingTarget(
          index,
          target,
          fields.map(({ kind }) => kind),
        ),
      missingSection,
      messages: isClosed ? [closeWhole(policy, target, missingSection, problems)] : [],
      servingGateways: isClosed ? reach.listServingGateways(missingSection.whole) : [],
      conflicts: [],
      overridden: [],
      problems,
      wins: 0,
    };
  }
  const { namespace, name } = policy.metadata;
  const isServed = reach.isServed(target);
  const messages: Policy[] = [];
  const conflicts: PolicyConflict[] = [];
  const overridden: OverriddenField[] = [];
  let wins = 0;
  for (const { kind, translation } of fields) {
    const outcome = settleClaim(claims, claimant, kind, target);
    if (!outcome.granted) {
      conflicts.push(outcome.conflict);
      continue;
    }
    wins += 1;
    if (!isServed) continue;
    overridden.push(...findOverrides(claims, reach, claimant, kind, target));
    // One problem closes all targets: a policy is never enforced in part.
    let spec = createFailure(problems.join('; '));
    if (problems.length === 0 && translation.valid) {
      spec = { case: policyKinds[kind].messageCase, value: translation.message } as PolicySpec;
      used.secrets.push(...translation.secrets);
      used.backends.push(...translation.backends);
    }
    const key = formatPolicyKey(namespace, name, kind, formatTarget(target));
    messages.push(createPolicy(key, formatName(policy), target, spec, outcome.rivals, claimant.isOverride));
  }
  const servingGateways = messages.length === 0 ? [] : reach.listServingGateways(target);
  return {
    target,
    found: true,
    absence: undefined,
    missingSection: undefined,
    messages,
    servingGateways,
    conflicts,
    overridden,
    problems,
    wins,
  };
}

// The key names the section, so that two missing sections of one object get different keys.
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

// An unknown kind of our group counts as a policy: a misspelled kind must not open what it was meant to protect.
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

// The message does not name the policy: its readers add the name.
function createFailure(message: string): PolicySpec {
  return { case: 'failure', value: create(FailureSchema, { status: 500, reason: 'policy_invalid', message }) };
}

function createPolicy(
  key: string,
  source: string,
  target: PolicyTarget,
  spec: PolicySpec,
  rivals: PolicyRival[] = [],
  isOverride = false,
): Policy {
  const { kind, namespace } = target;
  const [name, sectionName] = kind === 'Namespace' ? ['', ''] : [target.name, target.sectionName];
  return create(PolicySchema, {
    key,
    source,
    target: { kind: convertTargetKind(kind), namespace, name, sectionName },
    spec,
    rivals,
    isOverride,
  });
}
