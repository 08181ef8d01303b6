// A resource that was good and became bad keeps its last good form. One that never was good is handed on as invalid, to fail closed,
// and stays so even when it can no longer be identified: an invalid policy keeps its target closed until it is removed.
import type { InvalidResource } from '../../api/resources.ts';
import { formatIdentity, type ResourceIdentity } from '../resource-source.ts';
import type { SnapshotEntry } from '../resource-snapshot.ts';
import type { ValidationResult } from '../validate.ts';
import type { RawResource } from './read-yaml.ts';

/** The position of a resource. */
export interface FilePlace {
  readonly file: string;
  readonly written: RawResource;
}

/** A resource as it is in a file now. */
export interface ValidatedResource {
  readonly place: FilePlace;
  readonly result: ValidationResult;
}

/** A valid resource in force. */
type GoodEntry = SnapshotEntry<FilePlace> & { readonly state: 'valid' };

/** A resource in force that was never valid: such a policy keeps its target closed. */
type InvalidEntry = SnapshotEntry<FilePlace> & { readonly state: 'invalid' };

/** What was in force after the previous reading. */
export interface LastInForce {
  /** By identity. */
  readonly good: ReadonlyMap<string, GoodEntry>;
  readonly invalid: readonly InvalidEntry[];
}

/** What is in force, and which earlier resources are kept for each invalid one. */
interface KeptResources {
  readonly entries: readonly SnapshotEntry<FilePlace>[];
  readonly keptFor: ReadonlyMap<ValidatedResource, readonly ResourceIdentity[]>;
}

/** Merges the present content of the files with what was in force before. */
export function keepLastGood(resources: readonly ValidatedResource[], last: LastInForce): KeptResources {
  const present = new Set(resources.map(({ result }) => formatIdentity(result.identity)));
  const entries: SnapshotEntry<FilePlace>[] = [];
  const keptFor = new Map<ValidatedResource, readonly ResourceIdentity[]>();
  const kept = new Set<SnapshotEntry<FilePlace>>();
  for (const resource of resources) {
    const { place, result } = resource;
    if (result.ok) {
      entries.push({ state: 'valid', identity: result.identity, resource: result.resource, place });
      continue;
    }
    for (const entry of findLostInvalid(resource, last.invalid, present)) {
      if (kept.has(entry)) continue;
      kept.add(entry);
      entries.push({ ...entry, place });
    }
    const stead = findLastGood(resource, last.good, present);
    if (stead.length === 0) {
      const invalid: InvalidResource = { ...result.identity, raw: result.raw, problems: result.problems };
      entries.push({ state: 'invalid', identity: result.identity, invalid, place });
      continue;
    }
    keptFor.set(
      resource,
      stead.map(({ identity }) => identity),
    );
    const isNamed = isIdentified(result.identity);
    for (const entry of stead) {
      // Two resources without a name may both have been the same one; two with the same name are duplicates, and said to be.
      if (!isNamed && kept.has(entry)) continue;
      kept.add(entry);
      entries.push({ ...entry, place });
    }
  }
  return { entries, keptFor };
}

function isIdentified({ kind, name }: ResourceIdentity): boolean {
  return kind !== '' && name !== '';
}

/**
 * The previous version of a resource. If the kind or the name is unknown, all resources that the same file held and that are
 * missing now: it must be one of them.
 */
function findLastGood(
  resource: ValidatedResource,
  lastGood: ReadonlyMap<string, GoodEntry>,
  present: ReadonlySet<string>,
): GoodEntry[] {
  const { identity } = resource.result;
  const same = lastGood.get(formatIdentity(identity));
  if (same !== undefined) return [same];
  if (isIdentified(identity)) return [];
  return [...lastGood.values()].filter((entry) => mayBeTheSame(resource, entry, present));
}

/** Missing resources that were never valid, and that a resource of unknown kind or name may be. */
function findLostInvalid(
  resource: ValidatedResource,
  lastInvalid: readonly InvalidEntry[],
  present: ReadonlySet<string>,
): InvalidEntry[] {
  if (isIdentified(resource.result.identity)) return [];
  return lastInvalid.filter((entry) => mayBeTheSame(resource, entry, present));
}

function mayBeTheSame(
  { place, result }: ValidatedResource,
  before: SnapshotEntry<FilePlace>,
  present: ReadonlySet<string>,
): boolean {
  const { kind, namespace, name } = result.identity;
  return (
    before.place.file === place.file &&
    !present.has(formatIdentity(before.identity)) &&
    (kind === '' || kind === before.identity.kind) &&
    (name === '' || (name === before.identity.name && namespace === before.identity.namespace))
  );
}
