// What is known about one request so far. Steps of the request path fill it in; the access log and the metrics read it at the end.
import { performance } from 'node:perf_hooks'; // The global of this name is a getter.
import { readWallClock } from '../../base/wall-clock.ts';
import { type ClientView, type TrustedProxies, viewClient } from '../http/client-view.ts';
import type { ListenerConfig, RouteConfig } from '../config/runtime-config.ts';
import type { Decision } from './decision.ts';
import type { FlowStep } from './flow-step.ts';
import type { Exchange } from '../http/exchange.ts';
import type { JwtAdmission, McpAdmission } from './admission.ts';
import type { JudgeAgain, JudgedMessages } from './judged-messages.ts';
import type { VerifiedToken } from '../authentication/token/verified-token.ts';
import type { Reason } from '../http/reasons.ts';
import { createRequestId } from '../http/request-id.ts';
import type { SeenMessage } from './seen-message.ts';

export interface RequestContext {
  readonly requestId: string;
  readonly exchange: Exchange;
  /** The request as its client sees it, past trusted proxies. */
  readonly client: ClientView;
  /** performance.now() when the head was complete. */
  readonly startedAt: number;
  /** Wall clock of the same moment, for the log. */
  readonly startedAtMs: number;
  /** Milliseconds from there until its exchange closed; undefined before. Read it through measureDuration. */
  durationMs: number | undefined;
  /** W3C trace context that goes upstream; undefined when the client sent none and tracing is off. */
  traceparent: string | undefined;
  /** Normalised path, without the query. Router and policies see this one and no other. */
  path: string;
  /** Query including '?', or empty. */
  query: string;
  /** Host without port, lower case. */
  hostname: string;
  listener: ListenerConfig | undefined;
  route: RouteConfig | undefined;
  /** Key of the chosen backend. */
  backend: string | undefined;
  /** host:port of the endpoint that was (last) tried. */
  endpoint: string | undefined;
  /** Set when the gateway answered by itself or a stream ended badly. */
  reason: Reason | undefined;
  /** For the operator's log only: what exactly failed. */
  detail: string | undefined;
  status: number;
  /** Milliseconds from the upstream request to its response head. */
  upstreamMs: number | undefined;
  /** How often the request was sent again because it never reached an upstream. */
  retries: number;
  /** The step of a login flow that this request is; set by flow-recorder.ts, read by the flow inspector. */
  flowStep: FlowStep | undefined;
  /** The result of the route's JWT authentication. */
  jwt: JwtAdmission | undefined;
  /** The result of the backend's MCP authentication. */
  mcp: McpAdmission | undefined;
  /** The messages that rules over MCP messages allowed; undefined: there are no rules, or they have not run yet. */
  messages: JudgedMessages | undefined;
  /** Judges the request again when its answer outlives the rules over messages. */
  judgeAgain: JudgeAgain | undefined;
  /** The token that identifies the caller: from the backend's MCP authentication, else from the route's JWT authentication. */
  caller: VerifiedToken | undefined;
  /** The message that rules over MCP messages read from the body; undefined without rules, or when no message was read. */
  mcpMessage: SeenMessage | undefined;
  /** Sees the chunks of a body that is forwarded unread, and may not keep them; undefined: nobody watches. */
  glance: ((chunk: Uint8Array) => void) | undefined;
  /** The message that `glance` saw. It decides nothing. */
  glimpsed: SeenMessage | undefined;
  /** What policies decided, in order. */
  decisions: readonly Decision[];
  /** Every rule is evaluated and noted, not only those that decide: for `explain`. */
  readonly explained: boolean;
}

const noDecisions: readonly Decision[] = [];

/** Notes what a policy decided. */
export function noteDecision(context: RequestContext, decision: Decision): void {
  const { decisions } = context;
  context.decisions = decisions.length === 0 ? [decision] : [...decisions, decision];
}

/** How long the request took, once its exchange has closed. Measured once, so that all observers see the same duration. */
export function measureDuration(context: RequestContext): number {
  return (context.durationMs ??= performance.now() - context.startedAt);
}

/** The context of a request whose head has just arrived. */
export function startRequest(exchange: Exchange, explained = false, trustedProxies?: TrustedProxies): RequestContext {
  const startedAt = performance.now();
  return {
    requestId: createRequestId(),
    exchange,
    client: viewClient(exchange, trustedProxies),
    startedAt,
    startedAtMs: readWallClock(startedAt),
    durationMs: undefined,
    traceparent: undefined,
    path: '',
    query: '',
    hostname: '',
    listener: undefined,
    route: undefined,
    backend: undefined,
    endpoint: undefined,
    reason: undefined,
    detail: undefined,
    status: 0,
    upstreamMs: undefined,
    retries: 0,
    flowStep: undefined,
    jwt: undefined,
    mcp: undefined,
    messages: undefined,
    judgeAgain: undefined,
    caller: undefined,
    mcpMessage: undefined,
    glance: undefined,
    glimpsed: undefined,
    decisions: noDecisions,
    explained,
  };
}
