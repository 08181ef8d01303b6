// The request path, step by step. Each step is a file of its own; this one only says the order.
import type { RequestObserver } from './request/request-observer.ts';
import type { Log } from '../base/log.ts';
import { answerRequest, denyRequest } from './request/answer.ts';
import { findClientPort, type TrustedProxies } from './http/client-view.ts';
import type {
  BackendConfig,
  MatchedRoute,
  PortConfig,
  RuntimeConfig,
  WeightedBackendConfig,
} from './config/runtime-config.ts';
import { buildRedirect } from './filters/redirect.ts';
import { chooseBackend } from './filters/weighted-choice.ts';
import type { ForwardPlan } from './forward/forward-plan.ts';
import type { LoopGuard } from './forward/loop-guard.ts';
import { readForwardedQuery } from './forward/forwarded-identity.ts';
import { planForward, type PlanInput } from './forward/plan-forward.ts';
import type { RawHeaders } from './http/exchange.ts';
import type { ExchangeHandler } from './listen/port-context.ts';
import { judgeMessages } from './mcp/judge/judge-messages.ts';
import { asksForSubscription } from './mcp/streams/list-changed-notification.ts';
import type { McpAuthorizationConfig } from './config/mcp-authorization-config.ts';
import type { MessageVerdict } from './mcp/answer/message-verdict.ts';
import { findForeignCaller } from './policies/origin-check.ts';
import { authorizeRequest } from './authorization/authorize-request.ts';
import { findBackendDenial } from './policies/fail-closed.ts';
import { authenticateRequest } from './authentication/mcp/authenticate-mcp.ts';
import type { AuthenticationVerdict } from './authentication/mcp/authentication-verdict.ts';
import type { ProtectedResource } from './config/protected-resource.ts';
import { serveOwnEndpoint } from './authentication/login/endpoints/serve-own-endpoint.ts';
import { runPolicyChain } from './policies/policy-chain.ts';
import type { PolicyVerdict } from './request/policy-verdict.ts';
import { reasons } from './http/reasons.ts';
import { type RequestContext, startRequest } from './request/request-context.ts';
import { findListener } from './route/find-listener.ts';
import { findOwnEndpoint, findProtectedResource } from './route/find-protection.ts';
import { findOtherReading, findRoute } from './route/match-route.ts';
import { readTarget } from './http/request-target.ts';

export interface RequestPathParts {
  readonly getConfig: () => RuntimeConfig;
  readonly forward: (context: RequestContext, plan: ForwardPlan) => void;
  readonly observers: readonly RequestObserver[];
  readonly log: Log;
  /** Chooses among weighted backends and mirrored requests. */
  readonly random: () => number;
  /** Knows requests again that a backend sends back. Default: nobody does. */
  readonly loopGuard?: Pick<LoopGuard, 'markNext'> | undefined;
  /** Every rule is evaluated and noted, not only those that decide: for `explain`. Default false. */
  readonly explained?: boolean;
  /** Whose X-Forwarded-* are believed. Default: nobody's. */
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
      // Routes and backends of one and the same configuration, from here to the end of the request.
      const config = parts.getConfig();
      serveRequest(parts, context, config, config.ports.get(port.bindKey) ?? port);
    } catch (error) {
      failRequest(parts, context, error);
    }
  };
}

/** A mistake of ours. The client gets an answer, or a broken stream if one has begun; the log gets the error. */
function failRequest(parts: RequestPathParts, context: RequestContext, error: unknown): void {
  parts.log.error({ request_id: context.requestId, err: error }, 'a request failed inside the gateway');
  if (context.exchange.headSent) {
    context.reason = 'internal_error';
    context.exchange.abort();
  } else {
    denyRequest(context, 'internal_error');
  }
}

function serveRequest(parts: RequestPathParts, context: RequestContext, config: RuntimeConfig, port: PortConfig): void {
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
  context.listener = found.listener;

  // 3. The gateway's own endpoints, which the login of MCP clients needs. They are open to every origin; a foreign Host is not.
  const own = findOwnEndpoint(found.listener, found.hostname, target.path);
  if (own !== undefined) {
    const foreign = findForeignCaller(exchange, port, found.listener, () => true);
    if (foreign !== undefined) return denyRequest(context, foreign.reason, { detail: foreign.detail });
    serveOwnEndpoint({ context, ...own }).catch((error: unknown) => failRequest(parts, context, error));
    return;
  }

  // 4. The route.
  const matched = findRoute(context, found.listener);

  // 5. Web pages of other sites do not get to a listener on loopback, unless CORS settings name them.
  const foreign = findForeignCaller(
    exchange,
    port,
    found.listener,
    matched?.route.policies['traffic.cors']?.allowsOrigin,
  );
  if (foreign !== undefined) return denyRequest(context, foreign.reason, { detail: foreign.detail });
  if (matched === undefined) return denyRequest(context, 'no_route');
  context.route = matched.route;
  // Nor does a path that the server could read as that of another rule.
  const other = findOtherReading(context, found.listener, matched);
  if (other !== undefined)
    return denyRequest(context, 'bad_target', {
      detail: `servers may read the path as ${other}, which another rule serves`,
    });

  // 6. The policies, in the order of policy-chain.ts. Then the answer.
  const verdict = runPolicyChain({ context, route: matched.route, matched });
  if (!(verdict instanceof Promise)) return actOnVerdict(parts, context, config, port, matched, verdict);
  verdict
    .then((late) => actOnVerdict(parts, context, config, port, matched, late))
    .catch((error: unknown) => failRequest(parts, context, error));
}

function actOnVerdict(
  parts: RequestPathParts,
  context: RequestContext,
  config: RuntimeConfig,
  port: PortConfig,
  matched: MatchedRoute,
  verdict: PolicyVerdict,
): void {
  if (verdict.kind === 'deny') {
    return denyRequest(context, verdict.reason, { ...verdict, headers: verdict.responseHeaders });
  }
  if (verdict.kind === 'respond') return answerRequest(context, verdict.status, verdict.headers, verdict.body);
  context.caller = context.jwt?.token;

  // 7. A redirect needs no backend, but the leave of the rules.
  const { redirect } = matched.route.filters;
  if (redirect !== undefined) {
    const { route } = matched;
    const refused = authorizeRequest({ context, route });
    const { responseHeaders } = verdict;
    return whenAuthorized(parts, context, refused, responseHeaders, () => {
      const { status, location } = buildRedirect(redirect, {
        ...context,
        ...matched,
        query: readForwardedQuery(context),
        scheme: context.client.scheme,
        listenerPort: findClientPort(context.client, port.port),
      });
      answerRequest(context, status, [...responseHeaders, 'location', location], '');
    });
  }

  // 8. The backend, by weight. One that cannot be used as configured answers an error for its share.
  const { responseHeaders } = verdict;
  const choice = chooseBackend(matched.route.backends, parts.random);
  if (choice === undefined)
    return denyRequest(context, 'backend_invalid', {
      detail: 'no backend of the rule has a weight',
      headers: responseHeaders,
    });
  context.backend = choice.backend;
  const denial = findBackendDenial(choice);
  if (denial !== undefined) return denyRequest(context, denial.reason, { ...denial, headers: responseHeaders });
  const { backends } = config;
  const backend = backends.get(choice.backend);
  if (backend === undefined)
    return denyRequest(context, 'backend_invalid', { detail: 'the backend is gone', headers: responseHeaders });

  // 9. Who is asking, where the backend wants to know.
  const routed = startRouted(parts, context, matched, choice, backend, backends, responseHeaders);
  if (choice.policies['backend.mcp.authentication'] === undefined) return actOnCaller(routed, undefined);
  const resource = findProtectedResource(context, matched, choice);
  if (resource === undefined)
    return denyRequest(context, 'policy_invalid', {
      detail: `policy ${choice.policies['backend.mcp.authentication'].source}: the path of this request belongs to another policy, or to none`,
      headers: responseHeaders,
    });
  const identity = authenticateRequest({ context, resource });
  if (!(identity instanceof Promise)) return actOnIdentity(routed, resource, identity);
  identity
    .then((late) => actOnIdentity(routed, resource, late))
    .catch((error: unknown) => failRequest(parts, context, error));
}

/** What is planned about a request whose backend is known; the steps from here on fill it in. */
type RoutedRequest = Writable<
  PlanInput,
  'authenticated' | 'body' | 'mcpName' | 'releaseBody' | 'filterAnswer' | 'judgeAgain' | 'round'
> & {
  readonly parts: RequestPathParts;
};
type Writable<T, K extends keyof T> = Omit<T, K> & { -readonly [P in K]: T[P] };

function startRouted(
  parts: RequestPathParts,
  context: RequestContext,
  matched: MatchedRoute,
  choice: WeightedBackendConfig,
  backend: BackendConfig,
  backends: RuntimeConfig['backends'],
  responseHeaders: RawHeaders,
): RoutedRequest {
  return {
    parts,
    context,
    matched,
    choice,
    backend,
    backends,
    responseHeaders,
    random: parts.random,
    authenticated: undefined,
    body: undefined,
    mcpName: undefined,
    releaseBody: undefined,
    filterAnswer: undefined,
    judgeAgain: undefined,
    round: undefined,
  };
}

function actOnIdentity(routed: RoutedRequest, resource: ProtectedResource, verdict: AuthenticationVerdict): void {
  const { context, responseHeaders } = routed;
  if (verdict.kind === 'continue') {
    routed.authenticated = verdict;
    return actOnCaller(routed, resource);
  }
  if (verdict.kind === 'respond')
    return answerRequest(context, verdict.status, [...responseHeaders, ...verdict.headers], verdict.body);
  return denyRequest(context, verdict.reason, {
    ...verdict,
    headers: [...responseHeaders, ...verdict.responseHeaders],
  });
}

function actOnCaller(routed: RoutedRequest, resource: ProtectedResource | undefined): void {
  const { context, matched, authenticated } = routed;
  context.caller = authenticated?.token ?? context.jwt?.token;

  // 10. Whether they may: rules over the request. The route's own token speaks first here, the backend's in rules over messages.
  const refused = authorizeRequest({ context, route: matched.route, authenticated });
  if (refused === undefined) return actOnLeave(routed, resource);
  whenAuthorized(routed.parts, context, refused, routed.responseHeaders, () => actOnLeave(routed, resource));
}

/** Goes on with a request that rules let through. At once, unless they have to wait for keys. */
function whenAuthorized(
  parts: RequestPathParts,
  context: RequestContext,
  refused: ReturnType<typeof authorizeRequest>,
  headers: RawHeaders,
  goOn: () => void,
): void {
  if (refused instanceof Promise) {
    refused
      .then((late) => whenAuthorized(parts, context, late, headers, goOn))
      .catch((error: unknown) => failRequest(parts, context, error));
    return;
  }
  if (refused === undefined) goOn();
  else denyRequest(context, refused.reason, { ...refused, headers });
}

function actOnLeave(routed: RoutedRequest, resource: ProtectedResource | undefined): void {
  const { context, choice, backend } = routed;
  // 11. Rules over MCP messages. Without them the body is not looked at.
  // The stream of a GET or of a subscription may outlive them; it is judged again when they change.
  const { method, headers } = context.exchange;
  const outlives = backend.mcp !== undefined && (method === 'GET' || asksForSubscription(method, headers));
  if (choice.policies['backend.mcp.authorization'] === undefined && !outlives) return forwardRequest(routed);
  judgeRequest(routed, resource, outlives);
}

function judgeRequest(routed: RoutedRequest, resource: ProtectedResource | undefined, outlives: boolean): void {
  const { parts, context, choice, backend, authenticated } = routed;
  const judge = (
    rules: McpAuthorizationConfig | undefined,
    isAgain: boolean,
  ): MessageVerdict | Promise<MessageVerdict> =>
    rules === undefined
      ? unjudged
      : judgeMessages({ context, rules, backend, token: context.caller, authenticated, resource, isAgain });
  if (outlives) routed.judgeAgain = (rules) => judge(rules, true);
  const verdict = judge(choice.policies['backend.mcp.authorization'], false);
  if (!(verdict instanceof Promise)) return actOnMessages(routed, verdict);
  verdict.then((late) => actOnMessages(routed, late)).catch((error: unknown) => failRequest(parts, context, error));
}

const unjudged = {
  kind: 'forward',
  body: undefined,
  mcpName: undefined,
  releaseBody: undefined,
  filterAnswer: undefined,
} as const;

function actOnMessages(routed: RoutedRequest, verdict: MessageVerdict): void {
  const { context, responseHeaders } = routed;
  if (verdict.kind === 'forward') {
    routed.body = verdict.body;
    routed.mcpName = verdict.mcpName;
    routed.releaseBody = verdict.releaseBody;
    routed.filterAnswer = verdict.filterAnswer;
    return forwardRequest(routed);
  }
  if (verdict.kind === 'respond')
    return answerRequest(context, verdict.status, [...responseHeaders, ...verdict.headers], verdict.body);
  denyRequest(context, verdict.reason, { ...verdict, headers: [...responseHeaders, ...verdict.responseHeaders] });
}

function forwardRequest(routed: RoutedRequest): void {
  const { parts, context } = routed;
  // 12. Off it goes, unless it goes round in circles.
  const { loopGuard } = parts;
  if (loopGuard !== undefined) {
    routed.round = loopGuard.markNext(context.exchange.headers);
    if (routed.round === undefined) return denyRequest(context, 'loop_detected', { headers: routed.responseHeaders });
  }
  for (const observer of parts.observers) observer.startUpstream?.(context);
  parts.forward(context, planForward(routed));
}
