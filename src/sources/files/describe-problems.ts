// What is wrong with resources, as problems with a place in a file.
import type { Problem } from '../../api/problem.ts';
import type { Duplicate } from '../resource-snapshot.ts';
import type { ResourceIdentity, SourceProblem, SourceProblemCode } from '../resource-source.ts';
import type { FilePlace, ValidatedResource } from './keep-last-good.ts';
import { formatPosition } from './problem-line.ts';
import type { SubstitutionProblem } from './substitute-environment.ts';

/** The problems of an invalid resource, each with its position and with what stays in force instead. */
export function describeInvalid(
  resource: ValidatedResource,
  kept: readonly ResourceIdentity[] | undefined,
  unresolved: readonly SubstitutionProblem[],
): SourceProblem[] {
  const { place, result } = resource;
  if (result.ok) return [];
  const consequence = describeConsequence(result.identity, kept);
  const about = {
    file: place.file,
    ...(result.writtenKind !== undefined && { kind: result.writtenKind, namespace: result.identity.namespace }),
    ...(result.identity.name !== '' && { name: result.identity.name }),
  };
  const describe = (path: Problem['path'], code: SourceProblemCode, message: string): SourceProblem => ({
    ...about,
    ...place.written.locate(path, code === 'unknown_field' ? 'key' : 'value'),
    path,
    code,
    message,
    ...(consequence !== undefined && { consequence }),
  });
  return result.problems.map(({ path, code, message }) => {
    const isUnresolved = unresolved.some(
      (problem) => problem.message === message && problem.path.join('\n') === path.join('\n'),
    );
    return describe(path, isUnresolved ? 'unresolved_value' : code, message);
  });
}

/** A duplicate resource, reported at the later position. */
export function describeDuplicate(duplicate: Duplicate<FilePlace>, workingDirectory: string): SourceProblem {
  const { place, identity } = duplicate.duplicate;
  const first = duplicate.first.place;
  const path = ['metadata', 'name'];
  const where = formatPosition({ file: first.file, line: first.written.locate(path).line }, workingDirectory);
  return {
    ...identity,
    file: place.file,
    ...place.written.locate(path),
    path,
    code: 'duplicate',
    message: `${identity.kind} ${formatName(identity)} is already written in ${where}; rename or remove one of the two`,
    consequence: 'this one is not in force',
  };
}

function describeConsequence(
  identity: ResourceIdentity,
  kept: readonly ResourceIdentity[] | undefined,
): string | undefined {
  const same = kept?.some(
    ({ kind, namespace, name }) => kind === identity.kind && namespace === identity.namespace && name === identity.name,
  );
  if (same === true) return 'keeping the previous version';
  if (kept !== undefined) {
    const names = kept.map((resource) => `${resource.kind} ${formatName(resource)}`).join(', ');
    return `keeping the previous version of ${names}`;
  }
  return identity.kind === 'ProxyPolicy' ? 'its target refuses requests until this is fixed' : undefined;
}

function formatName(identity: ResourceIdentity): string {
  return identity.namespace === '' ? identity.name : `${identity.namespace}/${identity.name}`;
}
