// A protected resource is known by its URL (RFC 9728). It follows from the path of the route that leads there, when the route has one.
import type { RouteMatch } from '../../ir/gen/config_pb.ts';
import { PathMatchType } from '../../ir/gen/config_pb.ts';
import type { FieldSurroundings } from './policy-field.ts';

/** Rules that lead to the policy's targets by matches without a path of their own, one sentence for each. */
export function findNamelessRoutes({ targets, listRules }: FieldSurroundings): readonly string[] {
  const sentences = new Set<string>();
  for (const route of targets.flatMap((target) => listRules(target))) {
    for (const match of route.matches) {
      const how = describeNameless(match);
      if (how === undefined) continue;
      const rule = `rules[${route.ruleIndex}]`;
      sentences.add(`required, because HTTPRoute ${route.httpRoute} matches ${how} in ${rule}, which gives no URL`);
    }
  }
  return [...sentences].toSorted();
}

function describeNameless({ path, headers, queryParams }: RouteMatch): string | undefined {
  if (path?.type === PathMatchType.REGULAR_EXPRESSION) return 'by a regular expression';
  const isAnyPath = path === undefined || (path.type === PathMatchType.PREFIX && path.value === '/');
  if (!isAnyPath) return undefined;
  if (headers.length > 0) return 'by headers alone';
  return queryParams.length > 0 ? 'by query parameters alone' : undefined;
}
