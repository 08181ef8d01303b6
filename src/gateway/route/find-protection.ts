// Finds what MCP authentication needs of a request: the gateway's own endpoint, or the protected resource.
import type { ListenerConfig, MatchedRoute, OwnEndpoint, WeightedBackendConfig } from '../config/runtime-config.ts';
import { findResourcePath, type ProtectedResource } from '../config/protected-resource.ts';
import type { RequestContext } from '../request/request-context.ts';

/** The gateway's own endpoint at this path of this host; the whole path in its normal form decides, and nothing else of the request. */
export function findOwnEndpoint(listener: ListenerConfig, hostname: string, path: string): OwnEndpoint | undefined {
  if (listener.protection.size === 0) return undefined;
  return listener.protection.find(hostname)?.endpoints.get(path);
}

/**
 * The resource that a request to a protected backend belongs to. Undefined when there is none that its policy protects: a path that
 * two policies claim belongs to one of them. Answer an error then; there is no login that would help.
 */
export function findProtectedResource(
  context: Pick<RequestContext, 'listener' | 'hostname'>,
  matched: MatchedRoute,
  choice: WeightedBackendConfig,
): ProtectedResource | undefined {
  const { backend, policies } = choice;
  const authentication = policies['backend.mcp.authentication'];
  if (authentication === undefined) return undefined;
  const path = findResourcePath(authentication, matched.matchedPrefix);
  if (path === undefined) return undefined;
  const resource = context.listener?.protection.find(context.hostname)?.resources.get(path);
  if (resource?.config !== authentication) return undefined;
  return resource.backend === backend ? resource : { ...resource, backend };
}
