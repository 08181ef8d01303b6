// Builds the upstream request and finds its endpoint: the plan, plus session affinity of MCP servers.
import {
  createMessageSigner,
  readMessageTarget,
  startLegacySse,
  type LegacySseRewriter,
} from '../mcp/sessions/legacy-sse.ts';
import { asksForSubscription } from '../mcp/streams/list-changed-notification.ts';
import { createBoundSigner } from '../mcp/sessions/session-binding.ts';
import { type KnownSession, routeSession, sealResponse, tagResponse } from '../mcp/sessions/session-routing.ts';
import type { RawHeaders } from '../http/exchange.ts';
import type { SessionIdentity } from '../request/admission.ts';
import type { Reason } from '../http/reasons.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { ForwardPlan } from './forward-plan.ts';
import { readFieldName } from '../http/field-name.ts';
import { readContentLength } from '../../http1/framing.ts';
import { findHeader } from '../http/headers.ts';
import type { UpstreamRequest } from './upstream/upstream-call.ts';
import type { Endpoint, UpstreamBackend } from './upstream/upstreams.ts';

export interface RoutedRequest {
  readonly kind: 'routed';
  readonly request: UpstreamRequest;
  /** The endpoint that has the session (session affinity). Undefined: any. */
  readonly endpoint: Endpoint | undefined;
  /** Session ids in the answer as the client must see them: tagged with the endpoint, or sealed. Undefined: as they are. */
  readonly rewriteSession: ((headers: RawHeaders, endpoint: Endpoint) => RawHeaders) | undefined;
  /** Set when the answer may announce a URL that must be rewritten. */
  readonly rewriteAnswer:
    | ((status: number, headers: RawHeaders, endpoint: Endpoint) => LegacySseRewriter | undefined)
    | undefined;
}

interface RefusedRequest {
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
  // A federation keeps its sessions itself.
  if (mcp === undefined || plan.backend.federation !== undefined)
    return route(context, plan, plan.target, plan.headers, undefined, undefined, undefined);

  if (mcp.transport === 'sse' && (plan.method === 'POST' || plan.method === 'GET'))
    return routeLegacySse(context, plan, backend, legacySseKey);
  const session = routeSession(plan.headers, backend.endpoints, mcp.sessionRouting, plan.session);
  if (session.kind === 'gone')
    return refuse(
      'session_gone',
      plan.session === undefined
        ? 'the endpoint of this session is gone'
        : 'the endpoint of this session is gone, or it is not a session of this user',
    );
  if (session.kind === 'invalid') return refuse('bad_request', 'several Mcp-Session-Id headers');
  const known = session.kind === 'session' ? session.known : undefined;
  const isStateful = mcp.sessionRouting === 'stateful';
  const unbound = isStateful ? tagSession : undefined;
  const rewrite = plan.session === undefined ? unbound : createSessionSeal(plan.session, isStateful, known);
  if (session.kind === 'none') return route(context, plan, plan.target, plan.headers, undefined, rewrite, undefined);
  return route(context, plan, plan.target, session.headers, session.endpoint, rewrite, undefined);
}

/** The older transport: a stream of events for GET, and messages to the URL that it announced. */
function routeLegacySse(
  context: RequestContext,
  plan: ForwardPlan,
  backend: UpstreamBackend,
  legacySseKey: Uint8Array,
): RoutedRequest | RefusedRequest {
  const signer =
    plan.session === undefined
      ? createMessageSigner(legacySseKey, backend.config.key)
      : createBoundSigner(plan.session);
  if (plan.method === 'GET') {
    return route(context, plan, plan.target, plan.headers, undefined, undefined, (status, received, endpoint) =>
      startLegacySse({ context, plan, status, headers: received, endpoint, signer }),
    );
  }
  const message = readMessageTarget(context.query, signer);
  if (message.kind === 'none') return route(context, plan, plan.target, plan.headers, undefined, undefined, undefined);
  const endpoint = message.kind === 'valid' ? backend.findByTag(message.tag) : undefined;
  if (message.kind === 'invalid' || endpoint === undefined) {
    return refuse(
      'session_gone',
      message.kind === 'invalid' ? 'not a message URL of this gateway' : 'the endpoint of this session is gone',
    );
  }
  return route(context, plan, message.target, plan.headers, endpoint, undefined, undefined);
}

const tagSession: RoutedRequest['rewriteSession'] = (headers, { tag }) => tagResponse(headers, tag);

function createSessionSeal(
  session: SessionIdentity,
  isStateful: boolean,
  known: KnownSession | undefined,
): RoutedRequest['rewriteSession'] {
  return (headers, { tag }) => sealResponse(headers, isStateful ? tag : undefined, session, known);
}

function route(
  context: RequestContext,
  plan: ForwardPlan,
  target: string,
  headers: RawHeaders,
  endpoint: Endpoint | undefined,
  rewriteSession: RoutedRequest['rewriteSession'],
  rewriteAnswer: RoutedRequest['rewriteAnswer'],
): RoutedRequest {
  // Compressed answers can be neither rewritten nor filtered, and nothing can be said between compressed events.
  const mustRead =
    plan.filterAnswer !== undefined ||
    (plan.backend.mcp !== undefined && (plan.method === 'GET' || asksForSubscription(plan.method, headers)));
  const sent = mustRead ? withField(headers, 'accept-encoding', 'identity') : headers;
  return {
    kind: 'routed',
    request:
      plan.body === undefined
        ? describeStreamed(context, plan, target, sent)
        : describeRead(plan, target, sent, plan.body),
    endpoint,
    rewriteSession,
    rewriteAnswer,
  };
}

/** For a buffered body, which may be shorter than the client's own and has no trailers. */
function describeRead(
  { method, host }: ForwardPlan,
  target: string,
  headers: RawHeaders,
  body: Uint8Array,
): UpstreamRequest {
  return {
    method,
    target,
    host,
    headers: withField(headers, 'trailer', undefined),
    hasBody: body.length > 0,
    contentLength: body.length,
    wantsTrailers: false,
    upgrade: undefined,
  };
}

function describeStreamed(
  { exchange }: RequestContext,
  { method, host }: ForwardPlan,
  target: string,
  headers: RawHeaders,
): UpstreamRequest {
  const { hasBody } = exchange;
  const length = hasBody ? findHeader(exchange.headers, 'content-length') : undefined;
  return {
    method,
    target,
    host,
    headers,
    hasBody,
    contentLength: length === undefined ? undefined : readContentLength(length),
    // A body of unknown length may end with trailers, announced or not.
    wantsTrailers: hasBody && (length === undefined || findHeader(headers, 'trailer') !== undefined),
    upgrade: undefined,
    sentFields: exchange.sentFields,
  };
}

function refuse(reason: Reason, detail: string): RefusedRequest {
  return { kind: 'refused', reason, detail };
}

/** The headers with exactly this value for the field; undefined: without the field. */
function withField(headers: RawHeaders, lowerCaseName: string, value: string | undefined): RawHeaders {
  if (value === undefined && findHeader(headers, lowerCaseName) === undefined) return headers;
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (readFieldName(headers[i]!).lowerCase !== lowerCaseName) kept.push(headers[i]!, headers[i + 1]!);
  }
  if (value !== undefined) kept.push(lowerCaseName, value);
  return kept;
}
