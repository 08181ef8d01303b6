// A resource that was good and became bad keeps its last good form. One that never was good is handed on as invalid, to fail closed.
import type { InvalidResource } from '../../api/resources.ts';
import { formatIdentity } from '../resource-source.ts';
import type { ResourceIdentity } from '../resource-source.ts';
import type { SnapshotEntry } from '../resource-snapshot.ts';
import type { ValidationResult } from '../validate.ts';
import type { RawResource } from './read-yaml.ts';

/** Where a resource stands. */
export interface FilePlace {
  readonly file: string;
  readonly written: RawResource;
}

/** A resource as it stands in a file now. */
export interface ValidatedResource {
  readonly place: FilePlace;
  readonly result: ValidationResult;
}

/** A resource in force, good. */
export type GoodEntry = SnapshotEntry<FilePlace> & { readonly state: 'valid' };

/** What is in force, and for each bad resource which earlier ones are kept in its stead. */
export interface KeptResources {
  readonly entries: readonly SnapshotEntry<FilePlace>[];
  readonly keptFor: ReadonlyMap<ValidatedResource, readonly ResourceIdentity[]>;
}

/** `lastGood` is what was in force and good, by identity. */
export function keepLastGood(
  resources: readonly ValidatedResource[],
  lastGood: ReadonlyMap<string, GoodEntry>,
): KeptResources {
  const present = new Set(resources.map(({ result }) => formatIdentity(result.identity)));
  const entries: SnapshotEntry<FilePlace>[] = [];
  const keptFor = new Map<ValidatedResource, readonly ResourceIdentity[]>();
  const kept = new Set<string>();
  for (const resource of resources) {
    const { place, result } = resource;
    if (result.ok) {
      entries.push({ state: 'valid', identity: result.identity, resource: result.resource, place });
      continue;
    }
    const stead = findLastGood(resource, lastGood, present);
    if (stead.length === 0) {
      const invalid: InvalidResource = { ...result.identity, raw: result.raw, problems: result.problems };
      entries.push({ state: 'invalid', identity: result.identity, invalid, place });
      continue;
    }
    keptFor.set(
      resource,
      stead.map(({ identity }) => identity),
    );
    const isNamed = result.identity.kind !== '' && result.identity.name !== '';
    for (const entry of stead) {
      const key = formatIdentity(entry.identity);
      // Two resources without a name may both have been the same one; two with the same name are duplicates, and said to be.
      if (!isNamed && kept.has(key)) continue;
      kept.add(key);
      entries.push({ ...entry, place });
    }
  }
  return { entries, keptFor };
}

/**
 * The same resource as it was before. When the kind or the name cannot be told, every resource that the same file held and that is
 * nowhere any more: one of them it was.
 */
function findLastGood(
  resource: ValidatedResource,
  lastGood: ReadonlyMap<string, GoodEntry>,
  present: ReadonlySet<string>,
): GoodEntry[] {
  const { kind, namespace, name } = resource.result.identity;
  const same = lastGood.get(formatIdentity(resource.result.identity));
  if (same !== undefined) return [same];
  if (kind !== '' && name !== '') return [];
  return [...lastGood.values()].filter(
    ({ identity, place }) =>
      place.file === resource.place.file &&
      !present.has(formatIdentity(identity)) &&
      (kind === '' || kind === identity.kind) &&
      (name === '' || (name === identity.name && namespace === identity.namespace)),
  );
}
