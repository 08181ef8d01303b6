// Puts a report together from what the request path left behind: its context, its answer, its plan.
import { isSecretName, redactText } from '../../base/redact.ts';
import { formatBackendName } from '../../gateway/request/backend-name.ts';
import type {
  PortConfig,
  RouteConfig,
  RuntimeConfig,
  WeightedBackendConfig,
} from '../../gateway/config/runtime-config.ts';
import { chooseBackend } from '../../gateway/filters/weighted-choice.ts';
import type { RawHeaders } from '../../gateway/http/exchange.ts';
import { readPreflightMethod } from '../../gateway/http/preflight.ts';
import type { RequestContext } from '../../gateway/request/request-context.ts';
import { findOwnEndpoint } from '../../gateway/route/find-protection.ts';
import type { ServerConfig } from '../../gateway/config/server-config.ts';
import { describePicker } from '../describe-picker.ts';
import type { SignatureNote } from './assumed-keys.ts';
import type { Credential } from './credential.ts';
import { explainFederation } from './explain-federation.ts';
import type {
  ExplainedAnswer,
  ExplainedFederation,
  ExplainedForward,
  ExplainedRequest,
  ExplainedToken,
  ExplainedVerdict,
  ExplainReport,
} from './explain-report.ts';
import type { MemoryAnswer } from './memory-exchange.ts';
import { isRefusal } from './judge-policy.ts';
import { listPolicies } from './report-policies.ts';
import { findShare, type ForwardedRequest, type RequestOutcome } from './run-request.ts';
import { describeRoute, type TracedRoute, traceRoute } from './trace-route.ts';

/** What a report is made of. */
interface ReportInput {
  readonly runtime: RuntimeConfig;
  readonly port: PortConfig;
  readonly request: ExplainedRequest;
  readonly credential: Credential;
  readonly signatures: readonly SignatureNote[];
  readonly outcome: RequestOutcome;
  /** Key of the backend that was asked for. */
  readonly wantedBackend: string | undefined;
  readonly notes: readonly string[];
}

/** Builds the report. */
export function buildReport(input: ReportInput): ExplainReport {
  const { runtime, outcome, request } = input;
  const { context, answer, forwarded } = outcome;
  const { route } = context;
  const traced = traceContext(runtime, context);
  const choice =
    route === undefined
      ? undefined
      : chooseBackend(route.backends, () => findShare(route.backends, input.wantedBackend));
  return {
    request,
    token: describeToken(input),
    listener: describeListener(input),
    route: route === undefined ? null : describeRoute(route, traced.match),
    ownEndpoint: findOwn(context),
    passedOver: traced.passedOver,
    policies: listPolicies({
      route,
      choice,
      decisions: context.decisions,
      conflicts: runtime.policyConflicts,
      usesItem: context.mcpMessage?.item !== undefined,
      isForwarded: forwarded !== undefined,
      cors: findCorsOutcome(outcome),
    }),
    verdict: findVerdict(outcome),
    answer: answer === undefined ? null : describeAnswer(answer),
    forward:
      forwarded === undefined || route === undefined || isDisguised(outcome)
        ? null
        : describeForward(forwarded, context, route, choice, request.message),
    items: null,
    notes: [...input.notes, ...listNotes(input)],
  };
}

/** What becomes of a request. A refusal in the place of a server, such as that of a hidden tool, has status 200 and is one all the same. */
export function findVerdict({ context, answer, forwarded }: RequestOutcome): ExplainedVerdict {
  const { reason = null, detail = null } = context;
  const refusal = context.decisions.find(isRefusal);
  if (forwarded !== undefined && !isDisguised({ context, forwarded }))
    return { outcome: 'forwarded', reason: null, detail: null };
  const isDenied = refusal !== undefined || answer === undefined || answer.status >= 400;
  return {
    outcome: isDenied ? 'denied' : 'answered',
    reason: reason ?? refusal?.reason ?? null,
    detail: detail === '' ? null : (detail ?? refusal?.detail ?? null),
  };
}

/** A hidden item is asked for under a name that the server does not have. That is a refusal, too. */
function isDisguised({ context, forwarded }: Pick<RequestOutcome, 'context' | 'forwarded'>): boolean {
  return forwarded !== undefined && context.reason === 'item_hidden';
}

function describeToken({ credential, signatures, outcome }: ReportInput): ExplainedToken | null {
  if (credential.kind === 'none') return null;
  const { caller } = outcome.context;
  return { from: credential.kind, subject: caller?.subject ?? null, issuer: caller?.issuer ?? null, signatures };
}

function describeListener({ outcome, port }: ReportInput): ExplainReport['listener'] {
  const { listener } = outcome.context;
  if (listener === undefined) return null;
  const { gateway, name, hostname } = listener;
  return { gateway, name, hostname, protocol: port.protocol, port: port.port };
}

function findOwn({ listener, hostname, path }: RequestContext): string | null {
  return listener === undefined ? null : (findOwnEndpoint(listener, hostname, path)?.form ?? null);
}

/** The way to the rule, or past all rules. */
function traceContext(runtime: RuntimeConfig, context: RequestContext): TracedRoute {
  const { listener, route, exchange, hostname, path, query, reason } = context;
  if (listener === undefined || (route === undefined && reason !== 'no_route')) return { match: '', passedOver: [] };
  const request = { method: exchange.method, hostname, path, query, headers: exchange.headers };
  const traced = traceRoute(runtime, listener, request, route);
  const asked = readPreflightMethod(exchange.method, exchange.headers);
  // A preflight may be served by the rule of the request that it asks about.
  if (traced.match !== '' || asked === undefined) return traced;
  return traceRoute(runtime, listener, { ...request, method: asked }, route);
}

function findCorsOutcome({ context, answer }: RequestOutcome): 'allow' | 'deny' | 'respond' {
  const { exchange, decisions, reason } = context;
  if (decisions.length > 0 || readPreflightMethod(exchange.method, exchange.headers) === undefined) return 'allow';
  if (reason === 'origin_not_allowed') return 'deny';
  return answer?.status === 204 ? 'respond' : 'allow';
}

function describeAnswer({ status, headers, body }: MemoryAnswer): ExplainedAnswer {
  return { status, headers: pairHeaders(headers), body: body === '' ? null : body };
}

/** Header fields that every forwarded request gets. */
function isOwnHeader(name: string): boolean {
  return name.startsWith('x-forwarded-') || name === 'x-request-id' || name === 'traceparent';
}

/** Fields of the connection, which each side writes for itself. */
const framing = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'expect']);

function describeForward(
  { plan, request, endpoint }: ForwardedRequest,
  { exchange }: RequestContext,
  route: RouteConfig,
  choice: WeightedBackendConfig | undefined,
  message: ExplainedRequest['message'],
): ExplainedForward {
  const sent = pairHeaders(exchange.headers);
  const passed = pairHeaders(request.headers);
  const before = new Set(sent.map(([name, value]) => `${name.toLowerCase()}: ${value}`));
  const after = new Set(passed.map(([name]) => name.toLowerCase()));
  const fresh = passed.filter(([name, value]) => !before.has(`${name.toLowerCase()}: ${value}`));
  const { backend } = plan;
  const federation = backend.federation === undefined ? null : explainFederation(backend.federation, message);
  // The message goes to one target of a federation, or to all; without prefixes, to one of all.
  const servers = backend.federation?.targets
    .filter(({ name }) => isConcerned(federation?.item ?? null, name))
    .map((target) => target.backend) ?? [backend];
  const endpoints = servers.flatMap(listEndpoints);
  const mirrors = [...route.filters.mirrors, ...(choice?.filters.mirrors ?? [])];
  return {
    backend: formatBackendName(backend.key),
    choices: route.backends.entries.map((each) => ({ backend: formatBackendName(each.backend), weight: each.weight })),
    endpoints: endpoint === undefined ? endpoints : [`${backend.tls === undefined ? 'http' : 'https'}://${endpoint}`],
    federation,
    picker: backend.picker === undefined ? null : describePicker(backend.picker),
    method: request.method,
    target: redactText(request.target),
    host: request.host,
    addedHeaders: fresh.filter(([name]) => !isOwnHeader(name.toLowerCase())),
    removedHeaders: [
      ...new Set(sent.map(([name]) => name.toLowerCase()).filter((name) => !framing.has(name) && !after.has(name))),
    ],
    ownHeaders: passed.filter(([name]) => isOwnHeader(name.toLowerCase())),
    filtersAnswer: plan.filterAnswer !== undefined,
    mirrors: mirrors.map(({ backend: key, numerator, denominator }) =>
      numerator >= denominator ? formatBackendName(key) : `${formatBackendName(key)} (${numerator} of ${denominator})`,
    ),
  };
}

function listEndpoints({ endpoints, tls }: ServerConfig): string[] {
  const scheme = tls === undefined ? 'http' : 'https';
  return endpoints.map(({ host, port }) => `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`);
}

function pairHeaders(headers: RawHeaders): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    // A challenge is about tokens and has none in it.
    const shown = name.toLowerCase() === 'www-authenticate' ? value : redactText(value);
    pairs.push([name, isSecretName(name) ? '[redacted]' : shown]);
  }
  return pairs;
}

function listNotes({ outcome, credential }: ReportInput): string[] {
  const { context, forwarded } = outcome;
  const notes: string[] = [];
  if (context.reason === 'missing_token' && credential.kind === 'none')
    notes.push('The request has no token; --token FILE or --claims FILE says who asks.');
  if (context.reason === 'session_gone')
    notes.push(
      'Session ids are sealed with a key that only the running gateway has: here every one of them is unknown.',
    );
  if (isDisguised(outcome))
    notes.push(
      'The rules let unknown names pass, and the server answers for those: it is asked under a name that it does not have.',
    );
  const refused = forwarded === undefined || isDisguised(outcome) ? 0 : context.decisions.filter(isRefusal).length;
  if (refused > 0) notes.push(`The batch goes on without ${refused} of its messages, which were refused.`);
  const { route } = context;
  const entries = route?.backends.entries.filter(({ weight }) => weight > 0) ?? [];
  if (entries.length > 1)
    notes.push('The rule splits requests by weight; --backend NAME explains another one than the first.');
  return notes;
}

function isConcerned(item: ExplainedFederation['item'], target: string): boolean {
  if (item === null) return true;
  return item.target === null ? item.isServed : item.target === target;
}
