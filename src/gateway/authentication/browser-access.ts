// What web pages need of a policy that asks for tokens, on routes without CORS settings (Fetch standard): preflights, and denials that they can read.
import { findHeader } from '../http/headers.ts';
import type { RawHeaders } from '../http/exchange.ts';
import type { RequestContext } from '../request/request-context.ts';
import { readPreflightMethod } from '../http/preflight.ts';
import type { Response } from '../request/verdict.ts';

/**
 * A script can send another token, or begin a login, only when it can read why it was refused. CORS settings of the route say who may;
 * where there are none, a denial is for everybody to read: it tells nothing that anybody could not ask for without a token.
 */
export function exposeToScripts({ exchange, route }: RequestContext): RawHeaders {
  if (findHeader(exchange.headers, 'origin') === undefined) return [];
  const exposed = ['access-control-expose-headers', 'WWW-Authenticate, Mcp-Session-Id'];
  return route?.policies['traffic.cors'] === undefined ? ['access-control-allow-origin', '*', ...exposed] : exposed;
}

/**
 * Browsers send preflights without credentials. Those of a route with CORS settings were answered before. A policy that lets nothing
 * through without a token answers the others; undefined when the request is none.
 */
export function answerPreflight({ exchange }: RequestContext): Response | undefined {
  const { method, headers } = exchange;
  const asked = readPreflightMethod(method, headers);
  if (asked === undefined) return undefined;
  const requested = findHeader(headers, 'access-control-request-headers') ?? '';
  // Without credentials: a page cannot use cookies that it cannot read.
  const answer = ['access-control-allow-origin', '*', 'vary', 'Access-Control-Request-Headers'];
  if (isTokenList(asked)) answer.push('access-control-allow-methods', asked);
  if (isTokenList(requested)) answer.push('access-control-allow-headers', requested);
  return { kind: 'respond', status: 204, headers: answer, body: '' };
}

function isTokenList(text: string): boolean {
  return /^[\w!#$%&'*+\-.^`|~]+(?:[ \t]*,[ \t]*[\w!#$%&'*+\-.^`|~]+)*$/.test(text);
}
