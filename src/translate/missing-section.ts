// A policy that names a section which its target does not have. GEP-713 does not define what happens to the target. Here the whole target is closed when
// the policy could refuse requests, because it is unknown which part it was meant for. docs/adr/0011-missing-sections.md says why.
import { suggestName } from '../api/suggest-name.ts';
import { type ObjectTarget, type PolicyTarget, listSections } from './policy-targets.ts';
import type { ResourceIndex } from './resource-index.ts';

/** A section that an existing object does not have. */
export interface MissingSection {
  /** The object as a whole. */
  readonly whole: ObjectTarget;
  /** For people: what is missing, which sections exist, and the effect. */
  readonly message: string;
}

/** Looks whether the object has the section; undefined when it does, and when there is no such object. `isClosed`: the object is closed because of it. */
export function findMissingSection(
  index: ResourceIndex,
  target: PolicyTarget,
  isClosed: boolean,
): MissingSection | undefined {
  if (target.kind === 'Namespace' || target.sectionName === '') return undefined;
  const sections = listSections(index, target);
  if (sections === undefined || sections.includes(target.sectionName)) return undefined;
  const { kind, namespace, name, sectionName } = target;
  const what = kind === 'Gateway' ? 'listener' : 'rule';
  const present = sections.length === 0 ? `its ${what}s have no names` : `it has ${sections.join(', ')}`;
  const sentences = [
    `${kind} ${namespace}/${name} has no ${what} named "${sectionName}"; ${present}.`,
    suggestName(sectionName, sections) ?? [],
    ...(isClosed ? ['Until this is fixed, all of its requests are refused.'] : []),
  ];
  return { whole: { ...target, sectionName: '' }, message: sentences.flat().join(' ') };
}
