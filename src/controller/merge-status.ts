// Merges our status into the one that was last seen. Pure. Entries of other writers are kept: conditions of types that are not ours, and the parents and
// ancestors of other controllers (Gateway API: "controllers must take care to only update the entries that they are responsible for").
import {
  conditionReasons,
  createCondition,
  type Condition,
  type ConditionSubject,
  type GatewayClassStatus,
  type GatewayStatus,
  type HttpRouteStatus,
  type InferencePoolStatus,
  type ParentReference,
  type ProxyBackendStatus,
  type ProxyPolicyStatus,
} from '../translate/conditions.ts';

/** Our part of a status, by kind. */
export interface OwnStatuses {
  readonly GatewayClass: GatewayClassStatus;
  readonly Gateway: GatewayStatus;
  readonly HTTPRoute: HttpRouteStatus;
  readonly ProxyBackend: ProxyBackendStatus;
  readonly ProxyPolicy: ProxyPolicyStatus;
  readonly InferencePool: InferencePoolStatus;
}

/** The kinds whose status we write. */
export type StatusKind = keyof OwnStatuses;

/** The kinds whose status has one entry per controller, and the field with the entries. */
const entryLists = { HTTPRoute: 'parents', ProxyPolicy: 'ancestors', InferencePool: 'parents' } as const;
type EntryKind = keyof typeof entryLists;

/** Whether the status of a kind has one entry per controller. */
export function hasEntries(kind: StatusKind): kind is EntryKind {
  return Object.hasOwn(entryLists, kind);
}

/** What merging needs in addition to the two statuses. */
interface MergeContext {
  readonly controllerName: string;
  /** The namespace of the object; references without a namespace mean this one. */
  readonly namespace: string;
  /** RFC 3339, for conditions whose status changes. */
  readonly now: string;
}

type Json = Readonly<Record<string, unknown>>;
type Merge<S> = (seen: Json, own: S | undefined, context: MergeContext) => Json;

// The limits of the CRDs.
const maxConditions = 8;
const maxParents = 32;
const maxAncestors = 16;

const mergers: { readonly [K in StatusKind]: Merge<OwnStatuses[K]> } = {
  GatewayClass: (seen, own, context) => mergeWhole('gatewayClass', seen, own, context),
  Gateway: mergeGateway,
  HTTPRoute: (seen, own, context) => ({
    ...seen,
    parents: mergeEntries('routeParent', 'parentRef', maxParents, seen['parents'], own?.parents ?? [], context),
  }),
  ProxyBackend: (seen, own, context) => mergeWhole('proxyBackend', seen, own, context),
  ProxyPolicy: (seen, own, context) => ({
    ...seen,
    ancestors: mergeEntries(
      'policyAncestor',
      'ancestorRef',
      maxAncestors,
      seen['ancestors'],
      own?.ancestors ?? [],
      context,
    ),
  }),
  InferencePool: (seen, own, context) => ({
    ...seen,
    parents: mergeEntries('inferencePoolParent', 'parentRef', maxParents, seen['parents'], own?.parents ?? [], context),
  }),
};

/** The status with our part merged into it; `own` undefined: without our part. */
export function mergeStatus<K extends StatusKind>(
  kind: K,
  seen: unknown,
  own: OwnStatuses[K] | undefined,
  context: MergeContext,
): Json {
  const merge: Merge<OwnStatuses[K]> = mergers[kind];
  return merge(readObject(seen), own, context);
}

/** The status of a Gateway that we do not manage at the moment: conditions say so, its addresses and listeners stay as last known. */
export function suspendGateway(seen: unknown, message: string, generation: number, now: string): Json {
  const status = readObject(seen);
  const own = (['Accepted', 'Programmed'] as const).map((type) =>
    createCondition('gateway', type, 'Unknown', 'Pending', message, generation),
  );
  return { ...status, conditions: mergeConditions('gateway', status['conditions'], own, now) };
}

/** Whether a status has entries of this controller. An entry without a controller name is not ours. */
export function hasOwnEntries(kind: EntryKind, seen: unknown, controllerName: string): boolean {
  return readList(readObject(seen)[entryLists[kind]]).some((entry) => entry['controllerName'] === controllerName);
}

/** Whether a status still has these conditions, apart from their transition times: then no one else has written them since. */
export function hasConditions(seen: unknown, conditions: readonly Condition[]): boolean {
  const list = readList(readObject(seen)['conditions']);
  return conditions.every((condition) =>
    list.some((other) => (Object.keys(condition) as (keyof Condition)[]).every((key) => other[key] === condition[key])),
  );
}

// A status that is entirely ours, except for conditions of other types.
function mergeWhole(
  subject: ConditionSubject,
  seen: Json,
  own: { readonly conditions: readonly Condition[] } | undefined,
  { now }: MergeContext,
): Json {
  return { ...seen, ...own, conditions: mergeConditions(subject, seen['conditions'], own?.conditions ?? [], now) };
}

function mergeGateway(seen: Json, own: GatewayStatus | undefined, context: MergeContext): Json {
  const { addresses: _addresses, ...rest } = seen;
  const listeners = new Map(readList(seen['listeners']).map((listener) => [listener['name'], listener]));
  const merged = mergeWhole('gateway', rest, own, context);
  return {
    ...merged,
    listeners: (own?.listeners ?? []).map((listener) => ({
      ...listener,
      conditions: mergeConditions(
        'listener',
        listeners.get(listener.name)?.['conditions'],
        listener.conditions,
        context.now,
      ),
    })),
  };
}

// Our conditions keep their place, new ones are appended, and those that no longer apply are removed.
function mergeConditions(subject: ConditionSubject, seen: unknown, own: readonly Condition[], now: string): Json[] {
  const ownTypes = new Set(Object.keys(conditionReasons[subject]));
  const pending = new Map(own.map((condition) => [condition.type, condition]));
  let room = Math.max(maxConditions - own.length, 0);
  const merged: Json[] = [];
  for (const previous of readList(seen)) {
    const type = String(previous['type']);
    const condition = pending.get(type);
    if (condition !== undefined) {
      merged.push(timeCondition(condition, previous, now));
      pending.delete(type);
    } else if (!ownTypes.has(type) && room > 0) {
      merged.push(previous);
      room -= 1;
    }
  }
  for (const condition of pending.values()) merged.push(timeCondition(condition, undefined, now));
  return merged;
}

function timeCondition(condition: Condition, previous: Json | undefined, now: string): Json {
  const isSame = previous?.['status'] === condition.status && typeof previous['lastTransitionTime'] === 'string';
  return { ...condition, lastTransitionTime: isSame ? previous['lastTransitionTime'] : now };
}

interface OwnEntry {
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}

function mergeEntries<E extends OwnEntry>(
  subject: ConditionSubject,
  reference: keyof E & string,
  max: number,
  seen: unknown,
  own: readonly E[],
  context: MergeContext,
): Json[] {
  const previous = readList(seen);
  const foreign = previous.filter((entry) => entry['controllerName'] !== context.controllerName);
  const pending = chooseEntries(own, Math.max(max - foreign.length, 0)).map((entry) => ({
    entry,
    key: formatReference(entry[reference], context.namespace),
  }));
  const merged: Json[] = [];
  for (const entry of previous) {
    if (entry['controllerName'] !== context.controllerName) {
      merged.push(entry);
      continue;
    }
    const key = formatReference(entry[reference], context.namespace);
    const at = pending.findIndex((each) => each.key === key);
    if (at === -1) continue;
    const [found] = pending.splice(at, 1);
    merged.push(mergeEntry(subject, found!.entry, entry['conditions'], context.now));
  }
  for (const { entry } of pending) merged.push(mergeEntry(subject, entry, undefined, context.now));
  return merged;
}

function mergeEntry(subject: ConditionSubject, own: OwnEntry, seen: unknown, now: string): Json {
  return { ...own, conditions: mergeConditions(subject, seen, own.conditions, now) };
}

// If there is not room for all entries, those with problems come first.
function chooseEntries<E extends OwnEntry>(own: readonly E[], room: number): readonly E[] {
  if (own.length <= room) return own;
  const isHealthy = ({ conditions }: E): boolean => conditions.every(({ status }) => status === 'True');
  return [...own.filter((entry) => !isHealthy(entry)), ...own.filter(isHealthy)].slice(0, room);
}

// The API server fills in the defaults of the CRDs, so the same reference may come back longer than it was sent.
function formatReference(value: unknown, namespace: string): string {
  const reference = readObject(value) as Partial<ParentReference>;
  return JSON.stringify([
    reference.group ?? 'gateway.networking.k8s.io',
    reference.kind ?? 'Gateway',
    reference.namespace ?? namespace,
    reference.name,
    reference.sectionName ?? '',
    reference.port ?? 0,
  ]);
}

function readObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function readList(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(readObject) : [];
}
