// The RequestRedirect filter of Gateway API: status and Location (RFC 9110 10.2.2).
import type { RequestRedirect } from '../../ir/gen/config_pb.ts';
import type { MatchedRoute, PortConfig } from '../config/runtime-config.ts';
import { findClientPort } from '../http/client-view.ts';
import type { RawHeaders } from '../http/exchange.ts';
import { answerRequest } from '../request/answer.ts';
import { readForwardedQuery } from '../request/forwarded-query.ts';
import type { RequestContext } from '../request/request-context.ts';
import { rewritePath } from './url-rewrite.ts';

/** Answers a request with the redirect of its rule. */
export function answerRedirect(
  context: RequestContext,
  redirect: RequestRedirect,
  { matchedPrefix }: MatchedRoute,
  port: PortConfig,
  headers: RawHeaders,
): void {
  const { status, location } = buildRedirect(redirect, {
    scheme: context.client.scheme,
    hostname: context.hostname,
    path: context.path,
    query: readForwardedQuery(context),
    listenerPort: findClientPort(context.client, port.port),
    matchedPrefix,
  });
  answerRequest(context, status, [...headers, 'location', location], '');
}

/** What a redirect keeps of the request where it does not say otherwise. */
export interface RedirectedRequest {
  readonly scheme: 'http' | 'https';
  /** Without port; an IPv6 literal in brackets. */
  readonly hostname: string;
  readonly path: string;
  /** Including '?', or empty. */
  readonly query: string;
  /** Port of the listener, as configured. */
  readonly listenerPort: number;
  readonly matchedPrefix: string | undefined;
}

const wellKnownPorts: Readonly<Record<string, number>> = { http: 80, https: 443 };

/** Builds status and Location of a redirect. */
export function buildRedirect(
  redirect: RequestRedirect,
  request: RedirectedRequest,
): { status: number; location: string } {
  const scheme = redirect.scheme === '' ? request.scheme : redirect.scheme;
  const hostname = redirect.hostname === '' ? request.hostname : redirect.hostname;
  const port = derivePort(redirect, request.listenerPort);
  const authority = port === wellKnownPorts[scheme] ? hostname : `${hostname}:${port}`;
  const path =
    redirect.path === undefined ? request.path : rewritePath(request.path, request.matchedPrefix, redirect.path);
  return {
    status: redirect.statusCode,
    location: `${scheme}://${authority}${path}${request.query}`,
  };
}

/** Without a port of its own, a redirect that names a scheme goes to the scheme's port, and any other to the listener's. */
function derivePort({ port, scheme }: RequestRedirect, listenerPort: number): number {
  if (port !== 0) return port;
  return (scheme === '' ? undefined : wellKnownPorts[scheme]) ?? listenerPort;
}
