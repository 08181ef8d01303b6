// What goes upstream and to which endpoint: the plan, plus what sessions of MCP servers need.
import { readMessageTarget, startLegacySse, type LegacySseRewriter } from '../mcp/legacy-sse.ts';
import { routeSession } from '../mcp/session-routing.ts';
import type { RawHeaders } from '../listen/exchange.ts';
import type { Reason } from '../reasons.ts';
import type { RequestContext } from '../request-context.ts';
import type { ForwardPlan } from './forward-plan.ts';
import { findHeader } from './headers.ts';
import type { UpstreamRequest } from './upstream-call.ts';
import type { Endpoint, UpstreamBackend } from './upstreams.ts';

export interface RoutedRequest {
  readonly kind: 'routed';
  readonly request: UpstreamRequest;
  /** The only endpoint that will do: the one that has the session. Undefined: any. */
  readonly endpoint: Endpoint | undefined;
  /** Session ids in the answer get the endpoint's tag. */
  readonly tagsSessions: boolean;
  /** Set when the answer may announce a URL that must be rewritten. */
  readonly rewriteAnswer:
    | ((status: number, headers: RawHeaders, endpoint: Endpoint) => LegacySseRewriter | undefined)
    | undefined;
}

export interface RefusedRequest {
  readonly kind: 'refused';
  readonly reason: Reason;
  readonly detail: string;
}

/** Turns a plan into the request that an upstream gets. */
export function routeUpstreamRequest(
  context: RequestContext,
  plan: ForwardPlan,
  backend: UpstreamBackend,
  legacySseKey: Uint8Array,
): RoutedRequest | RefusedRequest {
  const { mcp } = plan.backend;
  if (mcp === undefined) return route(context, plan, plan.target, plan.headers, undefined, false, undefined);

  if (mcp.transport === 'sse') {
    if (plan.method === 'POST') {
      const message = readMessageTarget(context.query, legacySseKey, backend.config.key);
      if (message.kind === 'none') return route(context, plan, plan.target, plan.headers, undefined, false, undefined);
      const endpoint = message.kind === 'valid' ? backend.findByTag(message.tag) : undefined;
      if (message.kind === 'invalid' || endpoint === undefined) {
        return refuse(
          'session_gone',
          message.kind === 'invalid' ? 'not a message URL of this gateway' : 'the endpoint of this session is gone',
        );
      }
      return route(context, plan, message.target, plan.headers, endpoint, false, undefined);
    }
    if (plan.method === 'GET') {
      // Compressed events could not be rewritten.
      const headers = withoutAcceptEncoding(plan.headers);
      return route(context, plan, plan.target, headers, undefined, false, (status, received, endpoint) =>
        startLegacySse({ context, plan, status, headers: received, endpoint, key: legacySseKey }),
      );
    }
  }

  const session = routeSession(plan.headers, backend.endpoints, mcp.sessionRouting);
  if (session.kind === 'gone') return refuse('session_gone', 'the endpoint of this session is gone');
  if (session.kind === 'invalid') return refuse('bad_request', 'several Mcp-Session-Id headers');
  const stateful = mcp.sessionRouting === 'stateful';
  if (session.kind === 'none') return route(context, plan, plan.target, plan.headers, undefined, stateful, undefined);
  return route(context, plan, plan.target, session.headers, session.endpoint, stateful, undefined);
}

function route(
  context: RequestContext,
  plan: ForwardPlan,
  target: string,
  headers: RawHeaders,
  endpoint: Endpoint | undefined,
  tagsSessions: boolean,
  rewriteAnswer: RoutedRequest['rewriteAnswer'],
): RoutedRequest {
  const { exchange } = context;
  const length = exchange.hasBody ? findHeader(exchange.headers, 'content-length') : undefined;
  return {
    kind: 'routed',
    request: {
      method: plan.method,
      target,
      host: plan.host,
      headers,
      hasBody: exchange.hasBody,
      contentLength: length === undefined ? undefined : Number(length),
      // A body of unknown length may end with trailers, announced or not.
      wantsTrailers: exchange.hasBody && (length === undefined || findHeader(headers, 'trailer') !== undefined),
      upgrade: undefined,
    },
    endpoint,
    tagsSessions,
    rewriteAnswer,
  };
}

function refuse(reason: Reason, detail: string): RefusedRequest {
  return { kind: 'refused', reason, detail };
}

function withoutAcceptEncoding(headers: RawHeaders): RawHeaders {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.toLowerCase() !== 'accept-encoding') kept.push(headers[i]!, headers[i + 1]!);
  }
  kept.push('accept-encoding', 'identity');
  return kept;
}
