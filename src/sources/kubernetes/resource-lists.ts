// The lists of Resources, kept sorted while objects come and go: an event among twenty thousand objects must not cost a sort of all of them.
// The order is that of resource-snapshot.ts: by namespace and name. Lists of kinds in which nothing changed stay the same arrays.
import type { Kind } from '../../api/kinds.ts';
import { emptyResources, type InvalidResource, type Resources } from '../../api/resources.ts';
import { listsByKind } from '../resource-snapshot.ts';
import type { Outcome } from './cached-object.ts';

interface Slot {
  readonly key: string;
  readonly outcome: Outcome;
}

interface KindList {
  slots: Slot[];
  /** What to do at the next build, by key; undefined: remove. */
  readonly pending: Map<string, Outcome | undefined>;
  invalid: readonly InvalidResource[];
}

export interface ResourceLists {
  /** Notes what an object is now; undefined: gone. */
  update(kind: Kind, key: string, outcome: Outcome | undefined): void;
  /** The resources with all that was noted. The same object as before if nothing changed. */
  build(): Resources;
  /** How many objects there are, good and bad, as of the last build. */
  count(kind: Kind): number;
}

/** With this many changes in one build, sorting everything is cheaper. */
const manyChanges = 64;

export function createResourceLists(): ResourceLists {
  const lists = new Map<Kind, KindList>();
  // As resource-snapshot.ts sorts the invalid ones.
  const kindsInOrder = (Object.keys(listsByKind) as Kind[]).toSorted();
  for (const kind of kindsInOrder) lists.set(kind, { slots: [], pending: new Map(), invalid: [] });
  let resources: Resources = emptyResources;

  return {
    update(kind, key, outcome) {
      lists.get(kind)!.pending.set(key, outcome);
    },
    build() {
      const changes: { -readonly [K in keyof Resources]?: unknown } = {};
      for (const kind of kindsInOrder) {
        const list = lists.get(kind)!;
        if (list.pending.size === 0 || !applyPending(list)) continue;
        changes[listsByKind[kind]] = list.slots.flatMap(({ outcome }) =>
          outcome.state === 'valid' ? [outcome.resource] : [],
        );
        const invalid = list.slots.flatMap(({ outcome }) => (outcome.state === 'invalid' ? [outcome.invalid] : []));
        if (invalid.length > 0 || list.invalid.length > 0) {
          list.invalid = invalid;
          changes.invalid = [];
        }
      }
      if (changes.invalid !== undefined) changes.invalid = kindsInOrder.flatMap((kind) => lists.get(kind)!.invalid);
      if (Object.keys(changes).length > 0) resources = { ...resources, ...changes } as Resources;
      return resources;
    },
    count: (kind) => lists.get(kind)!.slots.length,
  };
}

/** Returns whether anything changed. */
function applyPending(list: KindList): boolean {
  const { pending } = list;
  const isChanged = pending.size > manyChanges ? rebuild(list) : edit(list);
  pending.clear();
  return isChanged;
}

function rebuild(list: KindList): boolean {
  const byKey = new Map(list.slots.map(({ key, outcome }) => [key, outcome]));
  let isChanged = false;
  for (const [key, outcome] of list.pending) {
    if (byKey.get(key) === outcome) continue;
    isChanged = true;
    if (outcome === undefined) byKey.delete(key);
    else byKey.set(key, outcome);
  }
  if (isChanged)
    list.slots = [...byKey]
      .map(([key, outcome]) => ({ key, outcome }))
      .toSorted((left, right) => (left.key < right.key ? -1 : 1));
  return isChanged;
}

function edit(list: KindList): boolean {
  let isChanged = false;
  for (const [key, outcome] of list.pending) {
    const index = findIndex(list.slots, key);
    const slot = list.slots[index];
    const isThere = slot?.key === key;
    if (outcome === (isThere ? slot.outcome : undefined)) continue;
    isChanged = true;
    if (outcome === undefined) list.slots.splice(index, 1);
    else list.slots.splice(index, isThere ? 1 : 0, { key, outcome });
  }
  return isChanged;
}

/** Where the key is, or would be. */
function findIndex(slots: readonly Slot[], key: string): number {
  let [from, to] = [0, slots.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (slots[middle]!.key < key) from = middle + 1;
    else to = middle;
  }
  return from;
}
