// What the fake API server remembers: objects, one counter of resource versions for all of them, and the events since a test last let them expire.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { KubernetesObject } from '../../../src/kubernetes/client.ts';
import {
  applyFields,
  type FieldManager,
  formatPath,
  noteUpdate,
  readManagedFields,
  writeManagedFields,
} from './apply-fields.ts';
import { formatResource, type ServedKind } from './served-kind.ts';
import { conflict, notFound, StatusError } from './status-error.ts';

/** A change, as watches replay it. `before` and `after`: one is undefined when the object came or went. */
export interface StoreEvent {
  readonly resourceVersion: number;
  readonly resource: string;
  readonly before: KubernetesObject | undefined;
  readonly after: KubernetesObject | undefined;
  /** As deleted: the last state, with the resourceVersion of the deletion. */
  readonly gone: KubernetesObject | undefined;
}

/** Who writes, and whether it counts. */
export interface WriteOptions {
  readonly manager: string;
  readonly dryRun?: boolean;
}

type Draft = Record<string, unknown> & { metadata: Record<string, unknown> };

export class ObjectStore {
  readonly #objects = new Map<string, Map<string, KubernetesObject>>();
  readonly #managers = new Map<string, readonly FieldManager[]>();
  readonly #listeners = new Set<(event: StoreEvent) => void>();
  #history: StoreEvent[] = [];
  #forgottenUntil = 0;
  /** Starts high, so that nobody mistakes a resourceVersion for a count. */
  #resourceVersion = 1000;

  get resourceVersion(): number {
    return this.#resourceVersion;
  }

  /** Watches from before this version are expired. */
  get forgottenUntil(): number {
    return this.#forgottenUntil;
  }

  forgetHistory(): void {
    // The counter moves on, as it does in a cluster where others write, so that nobody who saw everything is spared.
    this.#resourceVersion += 1;
    this.#forgottenUntil = this.#resourceVersion;
    this.#history = [];
  }

  listen(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  eventsAfter(resource: string, resourceVersion: number): readonly StoreEvent[] {
    return this.#history.filter((event) => event.resource === resource && event.resourceVersion > resourceVersion);
  }

  /** In the order of the real server: by namespace and name. */
  list(kind: ServedKind): readonly KubernetesObject[] {
    const objects = this.#objects.get(formatResource(kind)) ?? new Map<string, KubernetesObject>();
    return [...objects.entries()].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, object]) => object);
  }

  find(kind: ServedKind, namespace: string | undefined, name: string): KubernetesObject | undefined {
    return this.#objects.get(formatResource(kind))?.get(formatKey(namespace, name));
  }

  get(kind: ServedKind, namespace: string | undefined, name: string): KubernetesObject {
    const found = this.find(kind, namespace, name);
    if (found === undefined) throw notFound(formatResource(kind), name);
    return found;
  }

  create(kind: ServedKind, object: KubernetesObject, options: WriteOptions): KubernetesObject {
    const draft = copy(object);
    const { generateName } = draft.metadata;
    if (draft.metadata['name'] === undefined && typeof generateName === 'string')
      draft.metadata['name'] = `${generateName}${randomUUID().slice(0, 5)}`;
    const { name, namespace } = draft.metadata as { name?: string; namespace?: string };
    if (name === undefined || name === '')
      throw new StatusError(422, 'Invalid', `${kind.kind} "" is invalid: metadata.name: Required value`);
    if (this.find(kind, namespace, name) !== undefined)
      throw new StatusError(409, 'AlreadyExists', `${formatResource(kind)} "${name}" already exists`);
    if (draft.metadata['resourceVersion'] !== undefined)
      throw new StatusError(400, 'BadRequest', 'resourceVersion should not be set on objects to be created');
    if (kind.hasStatus) delete draft['status'];
    return this.#commit(kind, undefined, draft, options);
  }

  /** `part` says what the write may change; a resourceVersion in the object must be the current one. */
  replace(
    kind: ServedKind,
    object: KubernetesObject,
    part: 'object' | 'status' | 'everything',
    options: WriteOptions,
  ): KubernetesObject {
    const { name, namespace, resourceVersion, uid } = object.metadata;
    const before = this.get(kind, namespace, name);
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw conflict(
        formatResource(kind),
        name,
        'the object has been modified; please apply your changes to the latest version and try again',
      );
    if (uid !== undefined && uid !== before.metadata.uid) throw this.#wrongUid(kind, name, uid, before);
    const draft = copy(part === 'status' ? before : object);
    if (part === 'status') draft['status'] = object['status'];
    else if (part === 'object' && kind.hasStatus) draft['status'] = before['status'];
    const given = object.metadata['managedFields'];
    const isTakeover = Array.isArray(given) && !isDeepStrictEqual(given, before.metadata['managedFields']);
    return this.#commit(kind, before, draft, options, isTakeover ? readManagedFields(given) : undefined, isTakeover);
  }

  /** JSON merge patch (RFC 7396). */
  mergePatch(
    kind: ServedKind,
    namespace: string | undefined,
    name: string,
    patch: unknown,
    part: 'object' | 'status',
    options: WriteOptions,
  ): KubernetesObject {
    const before = this.get(kind, namespace, name);
    return this.replace(kind, mergeJson(before, patch) as KubernetesObject, part, options);
  }

  apply(kind: ServedKind, object: KubernetesObject, force: boolean, options: WriteOptions): KubernetesObject {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const before = this.find(kind, namespace, name);
    if (before === undefined && uid !== undefined)
      throw conflict(
        formatResource(kind),
        name,
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      );
    if (before !== undefined && uid !== undefined && uid !== before.metadata.uid)
      throw new StatusError(
        422,
        'Invalid',
        `${kind.kind} "${name}" is invalid: metadata.uid: Invalid value: ${JSON.stringify(uid)}: field is immutable`,
      );
    if (resourceVersion !== undefined && resourceVersion !== before?.metadata.resourceVersion)
      throw conflict(formatResource(kind), name, 'the object has been modified');
    if (object.metadata['managedFields'] !== undefined)
      throw new StatusError(400, 'BadRequest', 'metadata.managedFields must be nil');
    const applied = copy(object) as Record<string, unknown>;
    if (kind.hasStatus) delete applied['status'];
    const live = before ?? { metadata: { name, ...(namespace !== undefined && { namespace }) } };
    const managers = before === undefined ? [] : (this.#managers.get(before.metadata.uid!) ?? []);
    const outcome = applyFields(live, applied, options.manager, managers, force);
    if (outcome.conflicts.length > 0) {
      const lines = outcome.conflicts.map(
        ({ manager, fields }) => `conflict with "${manager}": ${fields.map((field) => formatPath(field)).join(', ')}`,
      );
      throw new StatusError(
        409,
        'Conflict',
        `Apply failed with ${lines.length} conflict${lines.length === 1 ? '' : 's'}: ${lines.join('; ')}`,
      );
    }
    const draft = { ...copy(outcome.object as KubernetesObject), apiVersion: object.apiVersion, kind: object.kind };
    return this.#commit(kind, before, draft, options, outcome.managers);
  }

  delete(
    kind: ServedKind,
    namespace: string | undefined,
    name: string,
    preconditions: { readonly uid?: string; readonly resourceVersion?: string } = {},
  ): KubernetesObject {
    const before = this.get(kind, namespace, name);
    const { uid, resourceVersion } = preconditions;
    if (uid !== undefined && uid !== before.metadata.uid)
      throw conflict(
        formatResource(kind),
        name,
        `the UID in the precondition (${uid}) does not match the UID in record (${before.metadata.uid}). The object might have been deleted and then recreated`,
      );
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw conflict(
        formatResource(kind),
        name,
        `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${before.metadata.resourceVersion})`,
      );
    const finalizers = before.metadata['finalizers'] as readonly string[] | undefined;
    if (finalizers !== undefined && finalizers.length > 0) {
      if (before.metadata.deletionTimestamp !== undefined) return before;
      const draft = copy(before);
      draft.metadata['deletionTimestamp'] = formatTime();
      return this.#commit(kind, before, draft, { manager: 'fake-api-server' });
    }
    return this.#remove(kind, before);
  }

  #wrongUid(kind: ServedKind, name: string, uid: string, before: KubernetesObject): StatusError {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`;
    return conflict(formatResource(kind), name, why);
  }

  #commit(
    kind: ServedKind,
    before: KubernetesObject | undefined,
    draft: Draft,
    options: WriteOptions,
    applied?: readonly FieldManager[],
    isTakeover = false,
  ): KubernetesObject {
    const { metadata } = draft;
    metadata['uid'] = before?.metadata.uid ?? randomUUID();
    metadata['creationTimestamp'] = before?.metadata.creationTimestamp ?? metadata['creationTimestamp'] ?? formatTime();
    if (before?.metadata.deletionTimestamp !== undefined)
      metadata['deletionTimestamp'] = before.metadata.deletionTimestamp;
    draft['apiVersion'] = kind.group === '' ? kind.versions[0] : `${kind.group}/${kind.versions[0]}`;
    draft['kind'] = kind.kind;
    delete metadata['resourceVersion'];
    delete metadata['managedFields'];
    delete metadata['generation'];
    if (kind.group !== '') metadata['generation'] = countGeneration(before, draft);

    const uid = metadata['uid'] as string;
    const managers = applied ?? noteUpdate(before ?? {}, draft, options.manager, this.#managers.get(uid) ?? []);
    const unchanged =
      !isTakeover && before !== undefined && isDeepStrictEqual(withoutVersion(before), withoutVersion(draft));
    if (unchanged) {
      if (options.dryRun !== true) this.#managers.set(uid, managers);
      return before;
    }
    metadata['managedFields'] = writeManagedFields(managers, draft['apiVersion'] as string);
    if (options.dryRun === true)
      return this.#freeze(draft, before?.metadata.resourceVersion ?? String(this.#resourceVersion));
    this.#managers.set(uid, managers);
    if (metadata['deletionTimestamp'] !== undefined && !hasFinalizers(metadata))
      return this.#remove(kind, draft as unknown as KubernetesObject);
    this.#resourceVersion += 1;
    const after = this.#freeze(draft, String(this.#resourceVersion));
    const resource = formatResource(kind);
    const objects = this.#objects.get(resource) ?? new Map<string, KubernetesObject>();
    this.#objects.set(resource, objects.set(formatKey(after.metadata.namespace, after.metadata.name), after));
    this.#tell({ resourceVersion: this.#resourceVersion, resource, before, after, gone: undefined });
    return after;
  }

  #remove(kind: ServedKind, object: KubernetesObject): KubernetesObject {
    const resource = formatResource(kind);
    const { namespace, name, uid } = object.metadata;
    const before = this.find(kind, namespace, name);
    this.#objects.get(resource)?.delete(formatKey(namespace, name));
    this.#managers.delete(uid!);
    this.#resourceVersion += 1;
    const gone = this.#freeze(copy(object), String(this.#resourceVersion));
    this.#tell({ resourceVersion: this.#resourceVersion, resource, before, after: undefined, gone });
    return gone;
  }

  #freeze(draft: Draft, resourceVersion: string): KubernetesObject {
    draft.metadata['resourceVersion'] = resourceVersion;
    return draft as unknown as KubernetesObject;
  }

  #tell(event: StoreEvent): void {
    this.#history.push(event);
    for (const listener of this.#listeners) listener(event);
  }
}

function formatKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''} ${name}`;
}

function formatTime(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}

function copy(object: KubernetesObject): Draft {
  return structuredClone(object);
}

function hasFinalizers(metadata: Record<string, unknown>): boolean {
  return Array.isArray(metadata['finalizers']) && metadata['finalizers'].length > 0;
}

/** Counts the changes of everything but metadata and status. */
function countGeneration(before: KubernetesObject | undefined, draft: Draft): number {
  if (before === undefined) return 1;
  const generation = before.metadata.generation ?? 1;
  const strip = ({ metadata: _metadata, status: _status, ...rest }: Record<string, unknown>): object => rest;
  return isDeepStrictEqual(strip(before), strip(draft)) ? generation : generation + 1;
}

function withoutVersion(object: Readonly<Record<string, unknown>>): object {
  const {
    resourceVersion: _version,
    managedFields: _fields,
    ...metadata
  } = object['metadata'] as object & {
    resourceVersion?: unknown;
    managedFields?: unknown;
  };
  return JSON.parse(JSON.stringify({ ...object, metadata })) as object;
}

function mergeJson(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergeJson(merged[key], value);
  }
  return merged;
}
