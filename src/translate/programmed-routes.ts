// HTTPRoutes whose rules a gateway cannot use although translation could. They have no `Programmed`; Gateway API says PartiallyInvalid, or not Accepted.
import type { Route } from '../ir/gen/config_pb.ts';
import { createCondition, type HttpRouteStatus, type Statuses } from './conditions.ts';
import type { FactsView } from './facts-view.ts';
import { createStatusMaker, findCondition, replaceCondition } from './replace-condition.ts';
import type { Translation } from './translate.ts';

/** A rule that a gateway refuses. */
interface RejectedRule {
  /** namespace/name */
  readonly gateway: string;
  readonly ruleIndex: number;
  readonly reason: string;
}

/** What is different from what translation said. */
interface Difference {
  readonly namespace: string;
  /** How many rules the route has. */
  readonly rules: number;
  readonly rejected: readonly RejectedRule[];
}

/** The statuses of all routes; unchanged from translation except for routes with rejected rules. */
export function describeRejectedRoutes(
  { configuration, statuses }: Translation,
  views: ReadonlyMap<string, FactsView>,
): Statuses['httpRoutes'] {
  const keys = new Set(
    [...views.values()].flatMap(({ facts }) =>
      (facts?.rejections ?? []).flatMap(({ list, key }) => (list === 'routes' ? [key] : [])),
    ),
  );
  if (keys.size === 0) return statuses.httpRoutes;
  const changed: Record<string, HttpRouteStatus> = {};
  const names = new Set(configuration.routes.filter(({ key }) => keys.has(key)).map(({ httpRoute }) => httpRoute));
  for (const [name, routes] of Map.groupBy(configuration.routes, ({ httpRoute }) => httpRoute)) {
    const status = statuses.httpRoutes[name];
    if (!names.has(name) || status === undefined) continue;
    changed[name] = makeStatus(status, {
      namespace: name.slice(0, name.indexOf('/')),
      rules: routes.length,
      rejected: listRejected(routes, views),
    });
  }
  return { ...statuses.httpRoutes, ...changed };
}

function listRejected(routes: readonly Route[], views: ReadonlyMap<string, FactsView>): readonly RejectedRule[] {
  return [...views.values()].flatMap(({ gateway, findRejection }) =>
    routes.flatMap(({ key, ruleIndex }) => {
      const reason = findRejection('routes', key);
      return reason === undefined ? [] : [{ gateway, ruleIndex, reason }];
    }),
  );
}

const makeStatus = createStatusMaker(
  (original: HttpRouteStatus, { namespace, rules, rejected }: Difference): HttpRouteStatus => ({
    parents: original.parents.map((parent) => {
      const { parentRef, conditions } = parent;
      const gateway = `${parentRef.namespace ?? namespace}/${parentRef.name}`;
      const own = rejected.filter((each) => each.gateway === gateway);
      const accepted = findCondition(conditions, 'Accepted');
      if (own.length === 0 || accepted?.status !== 'True') return parent;
      const generation = accepted.observedGeneration;
      const details = own.map(({ ruleIndex, reason }) => `rules[${ruleIndex}]: the gateway rejects it: ${reason}`);
      if (own.length < rules) {
        const indexes = own.map(({ ruleIndex }) => ruleIndex).join(', ');
        const message = `Dropped Rule ${indexes}: requests that match are answered with 500. ${details.join('; ')}`;
        const known = findCondition(conditions, 'PartiallyInvalid')?.message;
        const text = known === undefined ? message : `${known}; ${message}`;
        return {
          ...parent,
          conditions: replaceCondition(
            conditions,
            createCondition('routeParent', 'PartiallyInvalid', 'True', 'UnsupportedValue', text, generation),
          ),
        };
      }
      const message = `${details.join('; ')}; requests are answered with 500`;
      const others = conditions.filter(({ type }) => type !== 'PartiallyInvalid');
      return {
        ...parent,
        conditions: replaceCondition(
          others,
          createCondition('routeParent', 'Accepted', 'False', 'UnsupportedValue', message, generation),
        ),
      };
    }),
  }),
);
