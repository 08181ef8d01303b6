// Puts a token where the policies of a rule look for it.
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import type { RouteConfig } from '../../gateway/config/runtime-config.ts';
import type { RawHeaders } from '../../gateway/http/exchange.ts';
import type { RequestLine } from './request-line.ts';

/** A request with its token. */
interface PlacedToken {
  readonly line: RequestLine;
  readonly headers: RawHeaders;
}

/** The route's JWT authentication says where; MCP authentication, and servers behind the gateway, look into Authorization (RFC 6750). */
export function placeToken(
  line: RequestLine,
  headers: RawHeaders,
  token: string,
  route: RouteConfig | undefined,
): PlacedToken {
  const place = route?.policies['traffic.jwtAuthentication']?.location;
  const isMcp = findMcpAuthentication(route) !== undefined;
  const bearer = ['authorization', `Bearer ${token}`];
  switch (place?.kind) {
    case 'header': {
      const { name, prefix } = place;
      const own = [name, `${prefix}${token}`];
      return { line, headers: [...headers, ...own, ...(isMcp && name !== 'authorization' ? bearer : [])] };
    }
    case 'cookie':
      return { line, headers: [...headers, 'cookie', `${place.name}=${token}`, ...(isMcp ? bearer : [])] };
    case 'queryParameter': {
      const separator = line.target.includes('?') ? '&' : '?';
      const target = `${line.target}${separator}${encodeURIComponent(place.name)}=${token}`;
      return { line: { ...line, target }, headers: [...headers, ...(isMcp ? bearer : [])] };
    }
    case undefined:
      return { line, headers: [...headers, ...bearer] };
  }
}

/** The issuer for claims that name none: whose tokens the rule takes. `ownIssuer`: the gateway itself issues them. */
export function findExpectedIssuer(route: RouteConfig | undefined, ownIssuer: string | undefined): string {
  const [provider] = route?.policies['traffic.jwtAuthentication']?.message.providers ?? [];
  if (provider !== undefined) return provider.issuer;
  return ownIssuer ?? findMcpAuthentication(route)?.message.issuer ?? 'https://issuer.invalid';
}

function findMcpAuthentication(route: RouteConfig | undefined): McpAuthenticationConfig | undefined {
  const [config] =
    route?.backends.entries.flatMap(({ policies }) => policies['backend.mcp.authentication'] ?? []) ?? [];
  return config;
}
