// Which of its targets a policy does not find: what it was to protect there may be open.
import type { ProxyPolicy } from '../api/proxy-policy.ts';
import type { InvalidResource } from '../api/resources.ts';
import { describeMissingTarget, isInvalidTarget } from './missing-target.ts';
import type { PolicyReach } from './policy-reach.ts';
import type { TargetOutcome } from './policy-status.ts';
import { type PolicyTarget, type Selections, hasTarget } from './policy-targets.ts';
import { readMember } from './read-raw.ts';
import type { ResourceIndex } from './resource-index.ts';

/** For people: what a valid policy misses. A target that exists and is not valid is not served: nothing of it is open. */
export function listMissing(
  index: ResourceIndex,
  selections: Selections,
  policy: ProxyPolicy,
  outcomes: readonly TargetOutcome[],
): readonly string[] {
  const named = outcomes.flatMap(({ target, absence }) =>
    absence === undefined || isInvalidTarget(index, target) ? [] : [absence],
  );
  return [...named, ...listEmptySelectors(selections, policy)];
}

/** The selectors that select nothing. */
export function listEmptySelectors(selections: Selections, { metadata, spec }: ProxyPolicy): readonly string[] {
  return (spec.targetSelectors ?? []).flatMap(({ kind, matchLabels }, position) =>
    selections.select(kind, metadata.namespace, matchLabels).length > 0
      ? []
      : [`spec.targetSelectors[${position}] selects no ${kind} in namespace ${metadata.namespace}.`],
  );
}

/** The same for a policy that did not validate, of which less is known. */
export function listMissingOfInvalid(
  index: ResourceIndex,
  reach: PolicyReach,
  targets: readonly PolicyTarget[],
): readonly string[] {
  if (targets.length === 0) return ['Its targetSelectors select nothing.'];
  return targets
    .filter((target) =>
      target.kind === 'Namespace'
        ? reach.listGateways(target).length === 0
        : !hasTarget(index, target) && !isInvalidTarget(index, target),
    )
    .map((target) => describeMissingTarget(index, target));
}

/** Only a policy that plainly has CORS and nothing else refuses nothing: whatever else cannot be read may be meant to. */
export function mayRefuse({ kind, raw }: InvalidResource): boolean {
  const spec = readMember(raw, 'spec');
  const traffic = readMember(spec, 'traffic');
  if (kind !== 'ProxyPolicy' || typeof spec !== 'object' || spec === null) return true;
  const others = Object.keys(spec).filter((field) => !['targetRefs', 'targetSelectors', 'traffic'].includes(field));
  const isPlain = typeof traffic === 'object' && traffic !== null && Object.keys(traffic).join() === 'cors';
  return others.length > 0 || !isPlain;
}
