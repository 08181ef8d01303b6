// A target that does not exist: what to say about it, and what was probably meant.
import { suggestName } from '../api/suggest-name.ts';
import { type PolicyKind, type PolicyTargetName, policyKinds } from '../ir/policy-kinds.ts';
import { type ObjectTarget, type PolicyTarget, formatTarget, listTargetNames, targetKinds } from './policy-targets.ts';
import { type ResourceIndex, describeAbsence } from './resource-index.ts';

/** "HTTPRoute/tols does not exist in namespace default. Did you mean tools?" `fields` are those of the policy, where they can be read. */
export function describeMissingTarget(
  index: ResourceIndex,
  target: PolicyTarget,
  fields: readonly PolicyKind[] = [],
): string {
  if (target.kind === 'Namespace') return `Namespace ${target.namespace} has nothing that is served.`;
  const absence = describeAbsence(index, target.kind, target.namespace, target.name);
  const place = `in namespace ${target.namespace}`;
  const [verb, ...rest] = absence.split(' but ');
  const sentence = `${formatTarget(target)} ${[`${verb} ${place}`, ...rest].join(', but ')}`;
  return [sentence.endsWith('.') ? sentence : `${sentence}.`, suggestTarget(index, target, fields) ?? []]
    .flat()
    .join(' ');
}

/** Whether an object of this kind and name was written, and is not valid: it is not served, so nothing of it is open. */
export function isInvalidTarget(index: ResourceIndex, target: PolicyTarget): boolean {
  return target.kind !== 'Namespace' && index.invalid.has(`${target.kind}/${target.namespace}/${target.name}`);
}

// First a slip in the name, then the same name elsewhere: as another kind, or in another namespace.
function suggestTarget(index: ResourceIndex, target: ObjectTarget, fields: readonly PolicyKind[]): string | undefined {
  if (isInvalidTarget(index, target)) return undefined;
  const { kind, namespace, name } = target;
  const names = listTargetNames(index, kind);
  const own = names.filter((each) => each.startsWith(`${namespace}/`)).map((each) => each.slice(namespace.length + 1));
  const near = suggestName(name, own);
  if (near !== undefined) return near;
  const otherKind = targetKinds.find(
    (each) => each !== kind && canTarget(fields, each) && listTargetNames(index, each).includes(`${namespace}/${name}`),
  );
  if (otherKind !== undefined)
    return `There is ${otherKind === 'HTTPRoute' ? 'an' : 'a'} ${otherKind} of this name: did you mean kind: ${otherKind}?`;
  const elsewhere = names.find((each) => each.endsWith(`/${name}`));
  if (elsewhere === undefined) return undefined;
  return `There is one in namespace ${elsewhere.slice(0, elsewhere.indexOf('/'))}, but a policy targets objects of its own namespace only: move the policy there.`;
}

/** Whether a policy with these fields can target the kind. */
function canTarget(fields: readonly PolicyKind[], kind: PolicyTargetName): boolean {
  return fields.every((field) => policyKinds[field].targets.some((each) => each === kind));
}
