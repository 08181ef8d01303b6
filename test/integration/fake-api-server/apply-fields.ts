// Server-side apply, reduced to what a deployer can tell apart: mappings merge, lists and scalars are taken whole; who applied a field owns it,
// loses it by not applying it again, and is in conflict with others who say something else.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/
import { isDeepStrictEqual } from 'node:util';

/** One entry of metadata.managedFields, with the owned paths as we keep them. */
export interface FieldManager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly fields: ReadonlySet<string>;
}

type Json = Readonly<Record<string, unknown>>;

/** A conflict with another manager; the fields are those in dispute. */
export interface FieldConflict {
  readonly manager: string;
  readonly fields: readonly string[];
}

export interface ApplyOutcome {
  readonly conflicts: readonly FieldConflict[];
  readonly object: Json;
  readonly managers: readonly FieldManager[];
}

/** Merges what a manager applies into an object. With conflicts and without force nothing is merged. */
export function applyFields(
  live: Json,
  applied: Json,
  manager: string,
  managers: readonly FieldManager[],
  force: boolean,
): ApplyOutcome {
  const wanted = listLeaves(applied);
  const conflicts = managers
    .filter((other) => other.manager !== manager || other.operation !== 'Apply')
    .map((other) => ({
      manager: other.manager,
      fields: [...wanted.keys()].filter(
        (path) => other.fields.has(path) && !isDeepStrictEqual(readPath(live, path), wanted.get(path)),
      ),
    }))
    .filter(({ fields }) => fields.length > 0);
  if (conflicts.length > 0 && !force) return { conflicts, object: live, managers };

  const disputed = new Set(conflicts.flatMap(({ fields }) => fields));
  const others = managers
    .filter((other) => other.manager !== manager || other.operation !== 'Apply')
    .map((other) => ({ ...other, fields: new Set([...other.fields].filter((path) => !disputed.has(path))) }));
  const before = managers.find((other) => other.manager === manager && other.operation === 'Apply');
  let object = structuredClone(live);
  for (const path of before?.fields ?? []) {
    if (!wanted.has(path) && !others.some(({ fields }) => fields.has(path))) object = withoutPath(object, path);
  }
  for (const [path, value] of wanted) object = withPath(object, JSON.parse(path) as string[], value);
  const own: FieldManager = { manager, operation: 'Apply', fields: new Set(wanted.keys()) };
  return { conflicts: [], object, managers: [...others.filter(({ fields }) => fields.size > 0), own] };
}

/** Makes the writer of a plain write the owner of the fields that it changed. */
export function noteUpdate(
  before: Json,
  after: Json,
  manager: string,
  managers: readonly FieldManager[],
): readonly FieldManager[] {
  const old = listLeaves(before);
  const changed = [...listLeaves(after)].flatMap(([path, value]) =>
    isDeepStrictEqual(old.get(path), value) ? [] : [path],
  );
  if (changed.length === 0) return managers;
  const mine = managers.find((other) => other.manager === manager && other.operation === 'Update');
  const others = managers
    .filter((other) => other !== mine)
    .map((other) => ({ ...other, fields: new Set([...other.fields].filter((path) => !changed.includes(path))) }))
    .filter(({ fields }) => fields.size > 0);
  return [...others, { manager, operation: 'Update', fields: new Set([...(mine?.fields ?? []), ...changed]) }];
}

/** Fields that identify the object have no owner. */
const unowned = new Set(['apiVersion', 'kind']);
const unownedMetadata = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
]);

function listLeaves(object: Json): Map<string, unknown> {
  const leaves = new Map<string, unknown>();
  const visit = (value: unknown, path: readonly string[]): void => {
    if (path.length === 1 && unowned.has(path[0]!)) return;
    if (path.length === 2 && path[0] === 'metadata' && unownedMetadata.has(path[1]!)) return;
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0) {
      for (const [key, member] of Object.entries(value)) visit(member, [...path, key]);
    } else {
      leaves.set(JSON.stringify(path), value);
    }
  };
  for (const [key, member] of Object.entries(object)) visit(member, [key]);
  return leaves;
}

/** .spec.replicas */
export function formatPath(path: string): string {
  return (JSON.parse(path) as string[]).map((step) => `.${step}`).join('');
}

function readPath(object: Json, path: string): unknown {
  let at: unknown = object;
  for (const step of JSON.parse(path) as string[]) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Json)[step];
  }
  return at;
}

function withPath(object: Json, [step = '', ...rest]: readonly string[], value: unknown): Json {
  if (rest.length === 0) return { ...object, [step]: value };
  const member = object[step];
  const inner = typeof member === 'object' && member !== null && !Array.isArray(member) ? (member as Json) : {};
  return { ...object, [step]: withPath(inner, rest, value) };
}

function withoutPath(object: Json, path: string): Json {
  const remove = (at: Json, [step = '', ...rest]: readonly string[]): Json => {
    if (!Object.hasOwn(at, step)) return at;
    const { [step]: member, ...others } = at;
    if (rest.length === 0 || typeof member !== 'object' || member === null || Array.isArray(member)) return others;
    const left = remove(member as Json, rest);
    return Object.keys(left).length === 0 ? others : { ...at, [step]: left };
  };
  return remove(object, JSON.parse(path) as string[]);
}

/** The other way round: a write of managedFields decides the owners of fields. */
export function readManagedFields(entries: readonly unknown[]): readonly FieldManager[] {
  return (entries as readonly { manager: string; operation: 'Apply' | 'Update'; fieldsV1: Json }[]).map(
    ({ manager, operation, fieldsV1 }) => {
      const fields = new Set<string>();
      const visit = (value: unknown, path: readonly string[]): void => {
        const members = Object.entries(value as Json);
        if (members.length === 0) fields.add(JSON.stringify(path));
        for (const [step, member] of members) visit(member, [...path, step.replace(/^f:/, '')]);
      };
      visit(fieldsV1, []);
      return { manager, operation, fields };
    },
  );
}

/** metadata.managedFields as the real server shows it, more or less. */
export function writeManagedFields(managers: readonly FieldManager[], apiVersion: string): object[] {
  return managers.map(({ manager, operation, fields }) => {
    let fieldsV1: Json = {};
    for (const path of fields)
      fieldsV1 = withPath(
        fieldsV1,
        (JSON.parse(path) as string[]).map((step) => `f:${step}`),
        {},
      );
    return { manager, operation, apiVersion, fieldsType: 'FieldsV1', fieldsV1 };
  });
}
