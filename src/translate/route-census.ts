// Counts over all routes. Each function reads one field of every route, which stays the same object while it does not change: most changes of routes
// change none of these fields.
import type { PoolParent } from './inference-pool-status.ts';
import { compareText } from './order.ts';
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

/** The Gateways with routes that name an InferencePool, in order, by namespace/name of the pool. */
export function groupByPool(
  usages: readonly TranslatedRoute['poolUsage'][],
): ReadonlyMap<string, readonly PoolParent[]> {
  const pools = new Map<string, Map<string, { readonly refused: string[]; isAccepted: boolean }>>();
  for (const { route, pools: named, gateways } of usages) {
    for (const pool of named) {
      const parents = pools.get(pool) ?? new Map<string, { readonly refused: string[]; isAccepted: boolean }>();
      pools.set(pool, parents);
      for (const { gateway, isAccepted } of gateways) {
        const parent = parents.get(gateway) ?? { refused: [], isAccepted: false };
        parents.set(gateway, parent);
        if (isAccepted) parent.isAccepted = true;
        else parent.refused.push(route);
      }
    }
  }
  return new Map(
    [...pools].map(([pool, parents]) => [
      pool,
      [...parents]
        .map(([gateway, { refused, isAccepted }]) => ({ gateway, refused: isAccepted ? [] : refused }))
        .toSorted((left, right) => compareText(left.gateway, right.gateway)),
    ]),
  );
}
