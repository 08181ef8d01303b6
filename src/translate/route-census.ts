// What is counted over all routes. Each function takes one field of every route, which is kept while it does not change: most changes of routes
// change none of these.
import type { TranslatedRoute } from './routes.ts';

/** How many routes count for a listener, by its key. A route counts once, however many of its parentRefs lead there. */
export function countAttachedRoutes(
  attachments: readonly TranslatedRoute['attachedListeners'][],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const listeners of attachments) for (const key of listeners) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** The names of the routes that lead to a backend, by its key. */
export function groupByBackend(usages: readonly TranslatedRoute['usage'][]): ReadonlyMap<string, readonly string[]> {
  const users = new Map<string, string[]>();
  for (const { route, backends } of usages) {
    for (const key of backends) {
      const known = users.get(key);
      if (known === undefined) users.set(key, [route]);
      else known.push(route);
    }
  }
  return users;
}
