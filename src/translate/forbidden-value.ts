// Rules over the values of a resource, by path: what a value must be.
import { isMapping } from '../api/mapping.ts';
import { readMember } from './read-raw.ts';

/** A path, the rule in words after "must", and the check of a value. `[]` is every item of a list, `*` every key of a mapping. */
export type Limit = readonly [path: string, must: string, allows: (value: unknown, key: string) => boolean];

/** The values that break a rule, in words. */
export function findForbidden(spec: unknown, limits: readonly Limit[]): readonly string[] {
  return limits.flatMap(([path, must, allows]) =>
    listValues(spec, path)
      .filter(({ value, key }) => !allows(value, key))
      .map(({ where }) => `${where} must ${must}`),
  );
}

/** A value and its place. */
interface FoundValue {
  readonly where: string;
  readonly value: unknown;
  /** The last one on the way. */
  readonly key: string;
}

/** The values at the end of a path, from `spec` on. */
export function listValues(spec: unknown, path: string): readonly FoundValue[] {
  return findValues(spec, path.replaceAll('[]', '.[]').split('.'), 'spec', '');
}

function findValues(value: unknown, steps: readonly string[], where: string, key: string): readonly FoundValue[] {
  const [step, ...rest] = steps;
  if (value === undefined) return [];
  if (step === undefined) return [{ where, value, key }];
  if (step === '[]')
    return Array.isArray(value)
      ? value.flatMap((item, index) => findValues(item, rest, `${where}[${index}]`, key))
      : [];
  if (!isMapping(value)) return [];
  const keys = step === '*' ? Object.keys(value) : [step];
  return keys.flatMap((own) => findValues(readMember(value, own), rest, `${where}.${own}`, own));
}
