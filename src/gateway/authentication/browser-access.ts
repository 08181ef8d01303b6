// CORS for authentication on routes without CORS settings (Fetch standard): preflights are answered, and scripts can read denials.
import { findHeader } from '../http/headers.ts';
import type { RawHeaders } from '../http/exchange.ts';
import type { RequestContext } from '../request/request-context.ts';
import { readPreflightMethod } from '../http/preflight.ts';
import type { GatewayAnswer } from '../request/verdict.ts';

/**
 * A script can send another token or start a login only when it can read why it was refused. The route's CORS settings decide which origins
 * may; without them any origin may read a denial: it reveals nothing that a request without a token would not get.
 */
export function exposeToScripts({ exchange, route }: RequestContext): RawHeaders {
  if (findHeader(exchange.headers, 'origin') === undefined) return [];
  const exposed = ['access-control-expose-headers', 'WWW-Authenticate, Mcp-Session-Id'];
  return route?.policies['traffic.cors'] === undefined ? ['access-control-allow-origin', '*', ...exposed] : exposed;
}

/**
 * Browsers send preflights without credentials. On a route with CORS settings they are already answered. Elsewhere a policy that requires a
 * token answers them here; undefined when the request is not a preflight.
 */
export function answerPreflight({ exchange }: RequestContext): GatewayAnswer | undefined {
  const { method, headers } = exchange;
  const asked = readPreflightMethod(method, headers);
  if (asked === undefined) return undefined;
  const requested = findHeader(headers, 'access-control-request-headers') ?? '';
  // Without credentials: pages of other origins cannot use the user's cookies.
  const answer = ['access-control-allow-origin', '*', 'vary', 'Access-Control-Request-Headers'];
  if (isTokenList(asked)) answer.push('access-control-allow-methods', asked);
  if (isTokenList(requested)) answer.push('access-control-allow-headers', requested);
  return { kind: 'respond', status: 204, headers: answer, body: '' };
}

function isTokenList(text: string): boolean {
  return /^[\w!#$%&'*+\-.^`|~]+(?:[ \t]*,[ \t]*[\w!#$%&'*+\-.^`|~]+)*$/.test(text);
}
