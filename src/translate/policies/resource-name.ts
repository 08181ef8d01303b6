// A protected resource is identified by its URL (RFC 9728). The URL is derived from the route and its listener when they have an exact host and a path,
// never from a request.
import { type Listener, type Route, type RouteMatch, ListenerProtocol, PathMatchType } from '../../ir/gen/config_pb.ts';
import { classifyResourceHost } from '../../ir/resource-host.ts';
import type { FieldSurroundings } from './policy-translator.ts';

/** Why the policy has to name its resource, one sentence for each route that leads to its targets and gives them no URL. */
export function findNamelessRoutes(
  { targets, listRules, findListener }: FieldSurroundings,
  needsHost: boolean,
): readonly string[] {
  const sentences = new Set<string>();
  for (const route of targets.flatMap((target) => listRules(target))) {
    for (const match of route.matches) {
      const how = describeNameless(match);
      if (how === undefined) continue;
      const rule = `rules[${route.ruleIndex}]`;
      sentences.add(`required, because HTTPRoute ${route.httpRoute} matches ${how} in ${rule}, which gives no URL`);
    }
    if (needsHost) for (const sentence of describeHostless(route, findListener)) sentences.add(sentence);
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

function describeHostless(route: Route, findListener: FieldSurroundings['findListener']): readonly string[] {
  return route.parents.flatMap(({ listener: key, hostnames }) => {
    const listener = findListener(key);
    if (listener === undefined) return [];
    return (hostnames.length === 0 ? [''] : hostnames)
      .filter((hostname) => classifyResourceHost(listener, hostname) === 'open')
      .map((hostname) => {
        const what = hostname === '' || hostname === '*' ? 'any hostname' : hostname;
        const line = `resource: ${formatExample(listener, hostname, route)}`;
        return `required, because HTTPRoute ${route.httpRoute} serves ${what} on listener ${key}: add "${line}" with the host that clients use, or set that hostname on the route`;
      });
  });
}

/** A URL that the resource could have. */
function formatExample({ protocol, port }: Listener, hostname: string, { matches }: Route): string {
  const scheme = protocol === ListenerProtocol.HTTPS ? 'https' : 'http';
  const host = hostname.startsWith('*.') ? `mcp${hostname.slice(1)}` : 'mcp.example.com';
  const isDefaultPort = port === (scheme === 'https' ? 443 : 80);
  const path = matches.find((match) => describeNameless(match) === undefined)?.path?.value ?? '/';
  return `${scheme}://${host}${isDefaultPort ? '' : `:${port}`}${path}`;
}
