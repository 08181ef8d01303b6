// Looks ahead at the rule that a request will meet: where its policy wants the token, and whether an MCP server is behind it.
import type { RouteConfig } from '../../gateway/config/runtime-config.ts';
import { startRequest } from '../../gateway/request/request-context.ts';
import { findListener } from '../../gateway/route/find-listener.ts';
import { findOwnEndpoint } from '../../gateway/route/find-protection.ts';
import { findRoute } from '../../gateway/route/match-route.ts';
import { readTarget } from '../../gateway/http/request-target.ts';
import { createExchange, type PlannedRequest } from './run-request.ts';

/** The rule; undefined when there is none, or the gateway answers at that path itself. */
export function previewRoute(planned: PlannedRequest): RouteConfig | undefined {
  const exchange = createExchange(planned);
  const context = startRequest(exchange);
  const target = readTarget(exchange.target, exchange.method);
  const found = findListener(exchange, planned.port);
  if (!target.ok || !found.ok) return undefined;
  context.path = target.path;
  context.query = target.query;
  context.hostname = found.hostname;
  if (findOwnEndpoint(found.listener, found.hostname, target.path) !== undefined) return undefined;
  return findRoute(context, found.listener)?.route;
}
