// What is known of namespaces: which there are, and their labels.
import type { CachedObject } from './cached-object.ts';
import { splitObjectKey } from './object-key.ts';
import type { WatchGroup } from './watch-group.ts';

/** The names of all namespaces of a group that are not being deleted, sorted: the rights in a namespace go with it, before it is gone. */
export function listNamespaces(group: WatchGroup): readonly string[] {
  const names: string[] = [];
  group.forEach((kind, key) => {
    if (kind === 'Namespace' && !isBeingDeleted(group.find(kind, key))) names.push(splitObjectKey(key).name);
  });
  return names.toSorted();
}

function isBeingDeleted(cached: CachedObject | undefined): boolean {
  return cached?.outcome.state === 'valid' && cached.outcome.resource.metadata.deletionTimestamp !== undefined;
}

/** The labels of a namespace. They count even where something else about it is not understood. */
export function readLabels(cached: CachedObject | undefined): Readonly<Record<string, string>> {
  if (cached?.outcome.state === 'valid') return cached.outcome.resource.metadata.labels;
  const raw = cached?.outcome.invalid.raw as
    | { readonly metadata?: { readonly labels?: Record<string, string> } }
    | undefined;
  return raw?.metadata?.labels ?? {};
}
