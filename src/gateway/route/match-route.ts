// Finds the rule that serves a request on the listener it came in on.
import type { ListenerConfig, MatchedRoute } from '../config/runtime-config.ts';
import { readPreflightMethod } from '../http/preflight.ts';
import type { RequestContext } from '../request/request-context.ts';
import { listReadings } from './ambiguous-path.ts';
import { type MatchRequest, MatchSubject } from './table/route-table.ts';

/**
 * The rule for a request, by hostname first and then by the precedence of its matches. When no rule of the most specific
 * hostname matches, the rules of less specific ones are asked: they match the request too, only with less precedence.
 * Undefined: answer 404.
 */
export function matchRoute(listener: ListenerConfig, request: MatchRequest): MatchedRoute | undefined {
  const subject = new MatchSubject(request);
  return listener.routes.findFirst(request.hostname, (table) =>
    subject.undecidable ? undefined : table.find(subject),
  );
}

/**
 * The rule for a CORS preflight. The browser asks on behalf of a request that it has not sent yet, so a rule that matches only
 * POST must be able to answer the OPTIONS in front of it. The rule of the OPTIONS request itself comes first when it handles CORS.
 */
export function matchPreflight(
  listener: ListenerConfig,
  request: MatchRequest,
  requestedMethod: string,
): MatchedRoute | undefined {
  const ordinary = matchRoute(listener, request);
  if (ordinary?.route.policies['traffic.cors'] !== undefined) return ordinary;
  const asked = matchRoute(listener, { ...request, method: requestedMethod });
  if (asked?.route.policies['traffic.cors'] !== undefined) return asked;
  return ordinary ?? (asked !== undefined && isProtected(asked) ? asked : undefined);
}

// MCP authentication answers preflights by itself, so that a browser gets to read the challenge.
function isProtected({ route }: MatchedRoute): boolean {
  return route.backends.entries.some(({ policies }) => policies['backend.mcp.authentication'] !== undefined);
}

/** The rule for a request in its normal form. A CORS preflight is matched on behalf of the request that it asks about. */
export function findRoute(context: RequestContext, listener: ListenerConfig): MatchedRoute | undefined {
  const { method, headers } = context.exchange;
  const { hostname, path, query } = context;
  const request = { method, hostname, path, query, headers };
  const asked = readPreflightMethod(method, headers);
  return asked === undefined ? matchRoute(listener, request) : matchPreflight(listener, request, asked);
}

/** Why a path is refused that a server could read as a path of another rule; undefined: every reading leads to the same rule. */
export function findOtherReading(
  context: RequestContext,
  listener: ListenerConfig,
  { route }: MatchedRoute,
): { readonly reason: 'bad_target'; readonly detail: string } | undefined {
  for (const path of listReadings(context.path)) {
    const other = findRoute({ ...context, path }, listener);
    if (other !== undefined && other.route !== route)
      return { reason: 'bad_target', detail: `servers may read the path as ${path}, which another rule serves` };
  }
  return undefined;
}
