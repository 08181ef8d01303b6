// The status of a ProxyPolicy (GEP-713): one ancestor for each Gateway it affects; a target that no Gateway leads to is its own ancestor.
import type { ProxyPolicy } from '../api/proxy-policy.ts';
import type { InvalidResource } from '../api/resources.ts';
import type { Policy } from '../ir/gen/config_pb.ts';
import { createCondition, type Condition, type ParentReference, type ProxyPolicyStatus } from './conditions.ts';
import type { MissingSection } from './missing-section.ts';
import { compareText } from './order.ts';
import { type PolicyConflict, formatConflict } from './policy-conflicts.ts';
import { type OverriddenField, formatOverridden } from './policy-overrides.ts';
import type { PolicyReach } from './policy-reach.ts';
import { type PolicyTarget, formatTarget, readTargetGroup } from './policy-targets.ts';
import { readGeneration } from './read-raw.ts';
import { gatewayGroup } from './references.ts';
import { formatProblems } from './resource-index.ts';

/** What became of a policy at one target. */
export interface TargetOutcome {
  readonly target: PolicyTarget;
  readonly found: boolean;
  /** Set when the object is there, and the section is not. */
  readonly missingSection: MissingSection | undefined;
  readonly messages: readonly Policy[];
  /** namespace/name of the Gateways whose configuration has the messages. */
  readonly servingGateways: readonly string[];
  /** Fields that another policy has at the same target. */
  readonly conflicts: readonly PolicyConflict[];
  /** Fields that Overrides of less specific levels have instead. */
  readonly overridden: readonly OverriddenField[];
  /** Why the policy cannot be enforced, here and anywhere. */
  readonly problems: readonly string[];
  /** How many of its fields the policy decides here. */
  readonly wins: number;
}

interface Ancestor {
  readonly reference: ParentReference;
  readonly conditions: readonly Condition[];
}

/** The status of a valid policy. */
export function describePolicy(
  { metadata }: ProxyPolicy,
  outcomes: readonly TargetOutcome[],
  reach: PolicyReach,
  controllerName: string,
): ProxyPolicyStatus {
  const generation = metadata.generation ?? 0;
  const ancestors: Ancestor[] = [];
  const byGateway = new Map<string, TargetOutcome[]>();
  for (const outcome of outcomes) {
    const gateways = outcome.found ? reach.listGateways(outcome.target) : [];
    for (const gateway of gateways) {
      const attached = byGateway.get(gateway);
      if (attached === undefined) byGateway.set(gateway, [outcome]);
      else attached.push(outcome);
    }
    if (gateways.length > 0 || isForeignGateway(outcome, reach)) continue;
    ancestors.push({ reference: describeTarget(outcome.target), conditions: describeLonely(outcome, generation) });
  }
  for (const [gateway, attached] of byGateway)
    ancestors.push({
      reference: describeGateway(gateway),
      conditions: describeAttached(gateway, attached, generation),
    });
  return listAncestors(ancestors, controllerName);
}

/** The status of a policy that did not validate. */
export function describeInvalidPolicy(
  invalid: InvalidResource,
  targets: readonly PolicyTarget[],
  reach: PolicyReach,
  controllerName: string,
): ProxyPolicyStatus {
  const generation = readGeneration(invalid.raw);
  const message = formatProblems(invalid);
  const closed = targets.filter((target) => reach.isServed(target)).map(describeClosed);
  const effect = describeEffect(closed);
  const conditions = [
    createCondition('policyAncestor', 'Accepted', 'False', 'Invalid', message, generation),
    closed.length === 0
      ? createCondition('policyAncestor', 'Attached', 'False', 'Pending', effect, generation)
      : createCondition('policyAncestor', 'Attached', 'True', 'Attached', effect, generation),
    createCondition('policyAncestor', 'Programmed', 'False', 'Invalid', message, generation),
  ];
  const gateways = new Set(targets.flatMap((target) => reach.listGateways(target)));
  const references = gateways.size > 0 ? [...gateways].map(describeGateway) : targets.map(describeTarget);
  return listAncestors(
    references.map((reference) => ({ reference, conditions })),
    controllerName,
  );
}

function describeEffect(closed: readonly string[]): string {
  return closed.length === 0
    ? 'None of its targets is served.'
    : `Answered with 500 until the policy is fixed: ${closed.join(', ')}.`;
}

// A policy that is valid but refers to something that does not exist.
function describeUnenforceable(
  outcomes: readonly TargetOutcome[],
  effect: string,
  generation: number,
): readonly Condition[] {
  const problems = new Set(
    outcomes.flatMap((outcome) => [...outcome.problems, ...outcome.conflicts.map(formatConflict)]),
  );
  const message = [...problems].join('; ');
  const isAttached = outcomes.some(({ messages }) => messages.length > 0);
  return [
    createCondition('policyAncestor', 'Accepted', 'False', 'Invalid', message, generation),
    isAttached
      ? createCondition('policyAncestor', 'Attached', 'True', 'Attached', effect, generation)
      : createCondition('policyAncestor', 'Attached', 'False', 'Pending', effect, generation),
    createCondition('policyAncestor', 'Programmed', 'False', 'Invalid', message, generation),
  ];
}

function describeClosed(target: PolicyTarget): string {
  return target.kind === 'Namespace' ? `everything in namespace ${target.namespace}` : formatTarget(target);
}

function describeLonely(outcome: TargetOutcome, generation: number): readonly Condition[] {
  const { target, found, missingSection, problems, wins } = outcome;
  const conflicts = outcome.conflicts.map(formatConflict);
  if (!found) {
    const message =
      missingSection?.message ?? `${formatTarget(target)} does not exist in namespace ${target.namespace}.`;
    return [
      createCondition('policyAncestor', 'Accepted', 'False', 'TargetNotFound', message, generation),
      createCondition('policyAncestor', 'Attached', 'False', 'Pending', message, generation),
      createCondition('policyAncestor', 'Programmed', 'False', 'TargetNotFound', message, generation),
    ];
  }
  const message = `No Gateway leads to ${formatTarget(target)} yet.`;
  if (problems.length > 0) return describeUnenforceable([outcome], message, generation);
  return [
    describeAccepted(conflicts, generation),
    createCondition('policyAncestor', 'Attached', 'False', 'Pending', message, generation),
    wins === 0
      ? createCondition('policyAncestor', 'Programmed', 'False', 'Conflicted', conflicts.join('; '), generation)
      : createCondition('policyAncestor', 'Programmed', 'False', 'WaitingForGateway', message, generation),
  ];
}

function describeAttached(
  gateway: string,
  outcomes: readonly TargetOutcome[],
  generation: number,
): readonly Condition[] {
  const conflicts = outcomes.flatMap((outcome) => outcome.conflicts.map(formatConflict));
  const winners = outcomes.filter(({ wins }) => wins > 0).map(({ target }) => formatTarget(target));
  const served = outcomes
    .filter(({ servingGateways }) => servingGateways.includes(gateway))
    .map(({ target }) => formatTarget(target));
  if (outcomes.some(({ problems }) => problems.length > 0))
    return describeUnenforceable(
      outcomes,
      winners.length === 0 ? conflicts.join('; ') : describeEffect(served),
      generation,
    );
  const accepted = describeAccepted(conflicts, generation);
  if (winners.length === 0) {
    const message = conflicts.join('; ');
    return [
      accepted,
      createCondition('policyAncestor', 'Attached', 'False', 'Pending', message, generation),
      createCondition('policyAncestor', 'Programmed', 'False', 'Conflicted', message, generation),
    ];
  }
  const attached = createCondition(
    'policyAncestor',
    'Attached',
    'True',
    'Attached',
    `Attached to ${winners.join(', ')}.`,
    generation,
  );
  if (served.length > 0) return [accepted, attached, describeInForce(gateway, outcomes, served, generation)];
  const message = `Not served yet: ${winners.join(', ')}.`;
  return [
    accepted,
    attached,
    createCondition('policyAncestor', 'Programmed', 'False', 'WaitingForGateway', message, generation),
  ];
}

function describeInForce(
  gateway: string,
  outcomes: readonly TargetOutcome[],
  served: readonly string[],
  generation: number,
): Condition {
  const inForce = `In force for ${served.join(', ')}`;
  const overridden = outcomes.flatMap((outcome) => outcome.overridden.filter((field) => field.gateway === gateway));
  if (overridden.length === 0)
    return createCondition('policyAncestor', 'Programmed', 'True', 'Programmed', `${inForce}.`, generation);
  const sentence = overridden.map(formatOverridden).join('; ');
  const fields = outcomes
    .filter(({ servingGateways }) => servingGateways.includes(gateway))
    .reduce((sum, { wins }) => sum + wins, 0);
  if (overridden.filter(({ isPartly }) => !isPartly).length === fields)
    return createCondition('policyAncestor', 'Programmed', 'False', 'Overridden', `${sentence}.`, generation);
  const message = `${inForce}, but ${sentence}.`;
  return createCondition('policyAncestor', 'Programmed', 'True', 'PartiallyProgrammed', message, generation);
}

function describeAccepted(conflicts: readonly string[], generation: number): Condition {
  if (conflicts.length > 0)
    return createCondition('policyAncestor', 'Accepted', 'False', 'Conflicted', conflicts.join('; '), generation);
  return createCondition('policyAncestor', 'Accepted', 'True', 'Accepted', 'The policy is valid.', generation);
}

// An existing Gateway outside of our reach belongs to another controller, which writes its status.
function isForeignGateway({ target, found, missingSection }: TargetOutcome, reach: PolicyReach): boolean {
  const isThere = found || missingSection !== undefined;
  return isThere && target.kind === 'Gateway' && reach.listGateways(target).length === 0;
}

function describeGateway(name: string): ParentReference {
  const slash = name.indexOf('/');
  return { group: gatewayGroup, kind: 'Gateway', namespace: name.slice(0, slash), name: name.slice(slash + 1) };
}

function describeTarget(target: PolicyTarget): ParentReference {
  if (target.kind === 'Namespace') return { group: '', kind: 'Namespace', name: target.namespace };
  const { kind, namespace, name, sectionName } = target;
  return { group: readTargetGroup(kind), kind, namespace, name, ...(sectionName === '' ? {} : { sectionName }) };
}

function listAncestors(ancestors: readonly Ancestor[], controllerName: string): ProxyPolicyStatus {
  return {
    ancestors: ancestors
      .map(({ reference, conditions }) => ({ ancestorRef: reference, controllerName, conditions }))
      .toSorted((left, right) => compareText(JSON.stringify(left.ancestorRef), JSON.stringify(right.ancestorRef))),
  };
}
