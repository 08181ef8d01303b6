// Turns the decisions of routing and policies into a plan for forward-request.ts: path, host, headers, timeouts, mirrors.
import { rewritePath, mapMcpPath } from '../filters/url-rewrite.ts';
import { chooseMirrors } from '../filters/mirror-choice.ts';
import type { HeaderModifier } from '../../ir/gen/config_pb.ts';
import { backendPolicyKinds } from '../../ir/policy-kinds.ts';
import type {
  BackendConfig,
  MatchedRoute,
  MirrorConfig,
  RouteConfig,
  RouteFilters,
  WeightedBackendConfig,
} from '../config/runtime-config.ts';
import { describesMessage, withFieldValue } from '../mcp/read/field-values.ts';
import type { RawHeaders } from '../http/exchange.ts';
import { corsHeaderRemoval } from '../policies/cors.ts';
import type { BackendRequest } from '../request/run-steps.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { ForwardPlan } from './forward-plan.ts';
import { isSendableValue } from '../../http1/message-head.ts';
import { roundField } from '../http/field-name.ts';
import { withoutCookie } from '../authentication/token/token-cookie.ts';
import { passTraceParent, replaceTraceHeaders } from '../http/trace-context.ts';
import { combineIdentity, type ForwardedIdentity } from './forwarded-identity.ts';
import { readForwardedQuery } from '../request/forwarded-query.ts';
import {
  applyRequestHeaderModifier,
  findUnsendableHeader,
  isSendableModification,
  prepareRequestHeaders,
} from '../http/headers.ts';

/** A request that all steps let through; what they found out is on its context. */
export interface PlanInput extends BackendRequest {
  readonly backends: ReadonlyMap<string, BackendConfig>;
  /** The loop marks for the next hop (loop-guard.ts); undefined: loops are not detected. */
  readonly round: string | undefined;
  /** What the policies put on the answer. */
  readonly responseHeaders: RawHeaders;
  readonly random: () => number;
}

const mirrorsOfNone: ForwardPlan['mirrors'] = [];
const onlyCorsRemoval: readonly HeaderModifier[] = [corsHeaderRemoval];

/** Makes the plan for one request. */
export function planForward(input: PlanInput): ForwardPlan {
  const { context, matched, choice, backend } = input;
  const { exchange, mcp, messages } = context;
  const { route } = matched;
  // A filter on the backendRef is nearer to the backend than one on the rule.
  const rewrite = choice.filters.rewrite ?? route.filters.rewrite;
  const identity = combineIdentity(context.jwt, mcp, route.policies.identityHeaders);
  const query = readForwardedQuery(context);
  const modifiers = joinLists(route.filters.requestHeaders, choice.filters.requestHeaders);
  const host = chooseHost(context, rewrite, backend);
  return {
    backend,
    method: exchange.method,
    target: `${mapPath(context.path, matched, rewrite, backend)}${query}`,
    publicPath: matched.matchedPrefix ?? context.path,
    headers: modifyRequestHeaders(input, identity, modifiers),
    host,
    areHeadersSendable: isAllSendable(context, identity, modifiers, host),
    responseHeaders: listAnswerModifiers(route, choice),
    extraResponseHeaders: listOwnAnswerHeaders(input),
    requestTimeoutMs: route.requestTimeoutMs,
    backendRequestTimeoutMs: route.backendRequestTimeoutMs,
    removedFields: identity.removed,
    body: messages?.body,
    read: backend.federation === undefined ? undefined : messages?.read,
    releaseBody: messages?.releaseBody,
    filterAnswer: messages?.filterAnswer,
    mcpAuthorization: choice.policies['backend.mcp.authorization'],
    judgeAgain: context.judgeAgain,
    session: mcp?.session,
    mirrors: planMirrors(input, query, joinLists(route.filters.mirrors, choice.filters.mirrors)),
  };
}

/** Checks the fields that did not come from the client. */
function isAllSendable(
  { exchange }: RequestContext,
  { added }: ForwardedIdentity,
  modifiers: readonly HeaderModifier[],
  host: string,
): boolean {
  for (const modifier of modifiers) if (!isSendableModification(modifier)) return false;
  return (host === exchange.authority || isSendableValue(host)) && findUnsendableHeader(added) === undefined;
}

/** Makes no new list in the usual case that one of them is empty. */
function joinLists<T>(first: readonly T[], second: readonly T[]): readonly T[] {
  if (second.length === 0) return first;
  return first.length === 0 ? second : [...first, ...second];
}

function listAnswerModifiers(
  { policies, filters }: RouteConfig,
  choice: WeightedBackendConfig,
): readonly HeaderModifier[] {
  const configured = joinLists(choice.filters.responseHeaders, filters.responseHeaders);
  return policies['traffic.cors'] === undefined ? configured : joinLists(onlyCorsRemoval, configured);
}

function listOwnAnswerHeaders({ context, responseHeaders }: PlanInput): RawHeaders {
  const id = ['x-request-id', context.requestId];
  return responseHeaders.length === 0 ? id : [...responseHeaders, ...id];
}

/** A path modifier wins; without one, an MCP target's own path takes the place of the matched one. */
function mapPath(
  path: string,
  matched: MatchedRoute,
  rewrite: RouteFilters['rewrite'],
  backend: BackendConfig,
): string {
  if (rewrite?.path !== undefined) return rewritePath(path, matched.matchedPrefix, rewrite.path);
  return backend.mcp === undefined ? path : mapMcpPath(path, matched.matchedPrefix, backend.mcp.path);
}

function chooseHost(context: RequestContext, rewrite: RouteFilters['rewrite'], backend: BackendConfig): string {
  if (rewrite !== undefined && rewrite.hostname !== '') return rewrite.hostname;
  return backend.hostHeader === '' ? context.exchange.authority : backend.hostHeader;
}

function modifyRequestHeaders(
  { context, backend, choice, round }: Pick<PlanInput, 'context' | 'backend' | 'choice' | 'round'>,
  { removed, removedCookie, added }: ForwardedIdentity,
  modifiers: readonly HeaderModifier[],
): RawHeaders {
  const { exchange, messages } = context;
  const mcpName = messages?.mcpName;
  const prepared = prepareRequestHeaders({
    headers: mcpName === undefined ? exchange.headers : withFieldValue(exchange.headers, 'mcp-name', mcpName),
    remoteAddress: exchange.remoteAddress,
    scheme: exchange.scheme,
    authority: exchange.authority,
    localPort: exchange.localPort,
    isTrustedPeer: context.client.isBehindProxy,
    requestId: context.requestId,
    removedFields: removed,
    // The server must get the same message headers that the rules were checked with.
    isEndToEnd: choice.policies['backend.mcp.authorization'] === undefined ? undefined : describesMessage,
    keepTeTrailers: backend.protocol === 'h2c',
    round: modifiers.length === 0 ? round : undefined,
  });
  const others = removedCookie === undefined ? prepared : withoutCookie(prepared, removedCookie);
  // Added after the client's Connection was applied: that must not remove the verified identity.
  const identified = added.length === 0 ? others : [...others, ...added];
  // Our own span when there is one, else what the client sent, if it is valid (W3C Trace Context).
  let headers = replaceTraceHeaders(identified, context.traceparent ?? passTraceParent(exchange.headers));
  for (const modifier of modifiers) headers = applyRequestHeaderModifier(headers, modifier);
  // Added last, so that no filter can remove the loop marks.
  return modifiers.length === 0 || round === undefined ? headers : [...headers, roundField, round];
}

function planMirrors(input: PlanInput, query: string, mirrors: readonly MirrorConfig[]): ForwardPlan['mirrors'] {
  if (mirrors.length === 0) return mirrorsOfNone;
  const { context, matched, backends, choice } = input;
  const { rewrite } = matched.route.filters;
  return chooseMirrors(mirrors, input.random).flatMap((mirror) => {
    const backend = backends.get(mirror.backend);
    if (backend === undefined) return [];
    // A backend with its own policy gets copies only of requests that this same policy allowed.
    if (backendPolicyKinds.some((kind) => isOwnPolicy(mirror.policies[kind], choice.policies[kind]))) return [];
    const target = `${mapPath(context.path, matched, rewrite, backend)}${query}`;
    const withoutToken =
      choice.policies['backend.mcp.authentication'] !== undefined &&
      mirror.policies['backend.mcp.authentication'] === undefined;
    return [{ backend, target, host: chooseHost(context, rewrite, backend), withoutToken }];
  });
}

function isOwnPolicy(ofMirror: object | undefined, ofChoice: object | undefined): boolean {
  return ofMirror !== undefined && ofMirror !== ofChoice;
}
