// The request path, step by step. Each step is a file of its own; this one only says the order.
import type { Log } from '../base/log.ts';
import type { MatchedRoute, PortConfig, RuntimeConfig } from './config/runtime-config.ts';
import { serveOwnEndpoint } from './authentication/login/endpoints/serve-own-endpoint.ts';
import { answerRedirect } from './filters/redirect.ts';
import { chooseBackend } from './filters/weighted-choice.ts';
import type { ForwardPlan } from './forward/forward-plan.ts';
import type { LoopGuard } from './forward/loop-guard.ts';
import { planForward } from './forward/plan-forward.ts';
import type { TrustedProxies } from './http/client-view.ts';
import type { RawHeaders } from './http/exchange.ts';
import { reasons } from './http/reasons.ts';
import type { ExchangeHandler } from './listen/port-context.ts';
import { findUsableBackend } from './policies/fail-closed.ts';
import { findForeignCaller } from './policies/origin-check.ts';
import { backendSteps, redirectChain, routeChain } from './policies/policy-chain.ts';
import { answerRequest, denyRequest } from './request/answer.ts';
import { type RequestContext, startRequest } from './request/request-context.ts';
import type { RequestObserver } from './request/request-observer.ts';
import type { StaleGate } from './request/stale-gate.ts';
import { type Verdict } from './request/verdict.ts';
import { type BackendRequest, runSteps } from './request/run-steps.ts';
import { findListener } from './route/find-listener.ts';
import { findOwnEndpoint } from './route/find-protection.ts';
import { findOtherReading, findRoute } from './route/match-route.ts';
import { readTarget } from './http/request-target.ts';

interface RequestPathParts {
  readonly getConfig: () => RuntimeConfig;
  readonly forward: (context: RequestContext, plan: ForwardPlan) => void;
  readonly observers: readonly RequestObserver[];
  readonly log: Log;
  /** Chooses among weighted backends and mirrored requests. */
  readonly random: () => number;
  /** Recognises requests that a backend sends back. Default: loops are not detected. */
  readonly loopGuard?: Pick<LoopGuard, 'markNext'> | undefined;
  /** Finds tools of federations that are called by the servers' own names. Default: they are not found. */
  readonly findAppTools?: BackendRequest['findAppTools'];
  /** Closed while the configuration is too old. Default: always open. */
  readonly staleGate?: Pick<StaleGate, 'refuse'> | undefined;
  /** Every rule is evaluated and noted, not only those that decide: for `explain`. Default false. */
  readonly explained?: boolean;
  /** The peers whose X-Forwarded-* headers are trusted. Default: none. */
  readonly trustedProxies?: TrustedProxies | undefined;
}

/** Builds the function that serves every request of the gateway. */
export function createRequestHandler(parts: RequestPathParts): ExchangeHandler {
  return (exchange, port) => {
    const context = startRequest(exchange, parts.explained, parts.trustedProxies);
    for (const observer of parts.observers) observer.start(context);
    exchange.onClose((clean, bytesSent, bytesReceived) => {
      if (!clean) {
        context.reason ??= 'client_disconnected';
        if (context.status === 0) context.status = reasons.client_disconnected.status;
      }
      for (const observer of parts.observers) observer.finish(context, clean, bytesSent, bytesReceived);
    });
    try {
      if (parts.staleGate?.refuse(context) === true) return;
      // Routes and backends of one and the same configuration, from here to the end of the request.
      const config = parts.getConfig();
      routeRequest(parts, context, config, config.ports.get(port.bindKey) ?? port);
    } catch (error) {
      failRequest(parts, context, error);
    }
  };
}

function routeRequest(parts: RequestPathParts, context: RequestContext, config: RuntimeConfig, port: PortConfig): void {
  const { exchange } = context;

  // 1. One reading of the target, for everyone after this line.
  const target = readTarget(exchange.target, exchange.method);
  if (!target.ok) return denyRequest(context, 'bad_target', { detail: target.detail });
  context.path = target.path;
  context.query = target.query;

  // 2. The listener, by the host.
  const found = findListener(exchange, port);
  context.hostname = found.hostname;
  if (!found.ok) return denyRequest(context, found.reason, { detail: found.detail });
  const { listener } = found;
  context.listener = listener;

  // 3. The gateway's own endpoints, which the login of MCP clients needs. They are open to every origin; a foreign Host is not.
  const own = findOwnEndpoint(listener, found.hostname, target.path);
  if (own !== undefined) {
    const foreign = findForeignCaller(exchange, port, listener, () => true);
    if (foreign !== undefined) return denyRequest(context, foreign.reason, foreign);
    serveOwnEndpoint({ context, ...own }).catch((error: unknown) => failRequest(parts, context, error));
    return;
  }

  // 4. The route. Web pages of other sites do not get to a listener on loopback, unless CORS settings name them.
  const matched = findRoute(context, listener);
  const foreign = findForeignCaller(exchange, port, listener, matched?.route.policies['traffic.cors']?.allowsOrigin);
  if (foreign !== undefined) return denyRequest(context, foreign.reason, foreign);
  if (matched === undefined) return denyRequest(context, 'no_route');
  context.route = matched.route;
  const other = findOtherReading(context, listener, matched);
  if (other !== undefined) return denyRequest(context, other.reason, other);

  // 5. The policies of the route (policy-chain.ts). Then a redirect, or the backend.
  const { route } = matched;
  whenPassed(parts, context, runSteps(routeChain, { context, route, matched }), (responseHeaders) => {
    const { redirect } = route.filters;
    if (redirect === undefined) return serveBackend(parts, context, config, matched, responseHeaders);
    const leave = runSteps(redirectChain, { context, route, matched }, responseHeaders);
    whenPassed(parts, context, leave, (headers) => answerRedirect(context, redirect, matched, port, headers));
  });
}

function serveBackend(
  parts: RequestPathParts,
  context: RequestContext,
  config: RuntimeConfig,
  matched: MatchedRoute,
  headers: RawHeaders,
): void {
  // 6. The backend, by weight.
  const { route } = matched;
  const choice = chooseBackend(route.backends, parts.random);
  context.backend = choice?.backend;
  const usable = findUsableBackend(choice, config.backends);
  if (!usable.ok) return denyRequest(context, usable.denial.reason, { ...usable.denial, headers });

  // 7. Its policies, and where it is several servers, the message that says which (policy-chain.ts).
  const { findAppTools } = parts;
  const request: BackendRequest = { context, route, matched, findAppTools, ...usable };
  whenPassed(parts, context, runSteps(backendSteps, request, headers), (responseHeaders) => {
    // 8. Forward the request, unless it loops. Policies may have waited, for a body or for keys.
    const { loopGuard, observers, random } = parts;
    if (parts.staleGate?.refuse(context) === true) return;
    const round = loopGuard?.markNext(context.exchange.headers);
    if (loopGuard !== undefined && round === undefined)
      return denyRequest(context, 'loop_detected', { headers: responseHeaders });
    for (const observer of observers) observer.startUpstream?.(context);
    parts.forward(context, planForward({ ...request, backends: config.backends, responseHeaders, round, random }));
  });
}

/** Goes on with a request that the steps let through; otherwise answers it. At once, unless a step had to wait. */
function whenPassed(
  parts: RequestPathParts,
  context: RequestContext,
  verdict: Verdict | Promise<Verdict>,
  goOn: (responseHeaders: RawHeaders) => void,
): void {
  if (verdict instanceof Promise) {
    verdict
      .then((late) => whenPassed(parts, context, late, goOn))
      .catch((error: unknown) => failRequest(parts, context, error));
    return;
  }
  if (verdict.kind === 'continue') return goOn(verdict.responseHeaders);
  if (verdict.kind === 'respond') return answerRequest(context, verdict.status, verdict.headers, verdict.body);
  denyRequest(context, verdict.reason, { ...verdict, headers: verdict.responseHeaders });
}

/** Handles a bug of the gateway: the client gets an answer, or an aborted stream if one has begun; the log gets the error. */
function failRequest(parts: RequestPathParts, context: RequestContext, error: unknown): void {
  parts.log.error({ request_id: context.requestId, err: error }, 'the gateway failed to handle a request');
  if (context.exchange.headSent) {
    context.reason = 'internal_error';
    context.exchange.abort();
  } else {
    denyRequest(context, 'internal_error');
  }
}
