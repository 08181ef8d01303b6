// Where JWT authentication is not asked for, because a policy opens the route on purpose.
import type { RuntimeConfig } from '../../gateway/config/runtime-config.ts';

/** By namespace/name of the policy that authenticates: one sentence for each HTTPRoute. */
export function listPublicRoutes({ ports }: RuntimeConfig): ReadonlyMap<string, readonly string[]> {
  const notes = new Map<string, Set<string>>();
  for (const { listeners } of ports.values())
    for (const [, listener] of listeners.entries())
      for (const [, table] of listener.routes.entries())
        for (const { route } of table.entries) {
          const opening = route.policies['traffic.publicAccess']?.source;
          if (opening === undefined) continue;
          for (const { field, policy } of route.policies.provenance) {
            if (field !== 'traffic.jwtAuthentication') continue;
            const own = notes.get(policy) ?? new Set();
            notes.set(policy, own);
            const place = `HTTPRoute ${route.httpRoute}${route.ruleName === '' ? '' : `, rule ${route.ruleName},`}`;
            own.add(`${place} does not ask for it: ProxyPolicy ${opening} opens it (traffic.publicAccess)`);
          }
        }
  return new Map([...notes].map(([policy, own]) => [policy, [...own]]));
}
