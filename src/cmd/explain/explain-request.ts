// `explain` for a request that has not been sent: resources, flags and a token in, a report out.
import type { MatchedRoute, PortConfig, RouteConfig, RuntimeConfig } from '../../gateway/config/runtime-config.ts';
import type { RawHeaders } from '../../gateway/http/exchange.ts';
import { readTarget } from '../../gateway/http/request-target.ts';
import { type RequestContext, startRequest } from '../../gateway/request/request-context.ts';
import { findListener } from '../../gateway/route/find-listener.ts';
import { formatFacadeIssuer, readBase } from '../../gateway/authentication/read-base.ts';
import { findOwnEndpoint, findProtectedResource } from '../../gateway/route/find-protection.ts';
import { findRoute } from '../../gateway/route/match-route.ts';
import type { TokenInput } from '../token/read-token-input.ts';
import { requireEgressProxy } from '../egress.ts';
import { AssumedKeys } from './assumed-keys.ts';
import { buildReport } from './build-report.ts';
import { choosePort } from './choose-port.ts';
import { compileExplained } from './compile-files.ts';
import { type Credential, readCredential } from './credential.ts';
import type { ExplainValues } from './explain-flags.ts';
import { explainItems } from './explain-items.ts';
import type { ExplainedRequest, ExplainReport } from './explain-report.ts';
import { findListMethod } from './mcp-message.ts';
import { findExpectedIssuer, placeToken } from './place-token.ts';
import { type MessagePlan, type PlannedMessage, planMessage, planMessages } from './plan-messages.ts';
import { findSourceProblem, readHeaderFlags } from './read-head-flags.ts';
import { type ExplainSource, readSource } from './read-source.ts';
import { formatRequestUrl, readRequestLine, type RequestLine } from './request-line.ts';
import { createExchange, type PlannedRequest, type RequestOutcome, runRequest } from './run-request.ts';

type ExplainResult =
  | { readonly ok: true; readonly report: ExplainReport }
  /** One line each. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** Explains. Every mistake in the input is a line, never an exception. */
export async function explainRequest(
  values: ExplainValues,
  source: ExplainSource,
  environment: NodeJS.ProcessEnv,
  input: TokenInput,
): Promise<ExplainResult> {
  const asked = await readQuestion(values, input);
  if (!asked.ok) return { ok: false, problems: [asked.problem] };
  const read = await readSource(source, { line: asked.question.line, listener: values.listener }, environment);
  if (!read.ok) return { ok: false, problems: read.problems };
  const { credential } = asked.question;
  const assumed = new AssumedKeys(credential);
  const egress = values.online ? requireEgressProxy(environment) : undefined;
  const compiled = compileExplained(read.configuration, assumed, { online: values.online, egress });
  try {
    const explained = await answerQuestion(asked.question, compiled.runtime, assumed, values);
    if (!explained.ok) return explained;
    const { report } = explained;
    return {
      ok: true,
      report: {
        ...report,
        notes: [...report.notes, ...read.notes, ...countProblems(source, [...read.problems, ...compiled.problems])],
      },
    };
  } finally {
    await compiled.close();
  }
}

/** What is wrong with single resources closes what they protect, and matters here only when the request meets it. */
function countProblems({ kind }: ExplainSource, problems: readonly string[]): string[] {
  const { length } = problems;
  if (length === 0) return [];
  const count = length === 1 ? '1 problem' : `${length} problems`;
  switch (kind) {
    case 'files':
      return [`The files have ${count}, which mcp-gatehouse check lists.`];
    case 'cluster':
      return [`The resources have ${count}; mcp-gatehouse status -A lists what the controller says about them.`];
    case 'gateway':
      return [
        `Of the configuration ${count === '1 problem' ? '1 part' : `${length} parts`} cannot be used: ${problems.join('; ')}.`,
      ];
  }
}

interface Question {
  readonly line: RequestLine;
  readonly headers: RawHeaders;
  readonly plan: MessagePlan;
  readonly credential: Credential;
}

async function readQuestion(
  values: ExplainValues,
  input: TokenInput,
): Promise<{ readonly ok: true; readonly question: Question } | { readonly ok: false; readonly problem: string }> {
  const line = readRequestLine(values.request ?? '');
  if (!line.ok) return { ok: false, problem: `--request ${line.problem}` };
  const sourceProblem = findSourceProblem(values.source);
  if (sourceProblem !== undefined) return { ok: false, problem: sourceProblem };
  const headers = readHeaderFlags(values.header);
  if (!headers.ok) return headers;
  const planned = await planMessages(values);
  if (!planned.ok) return planned;
  const hasMessage = planned.plan.kind === 'table' || planned.plan.message !== undefined;
  if (hasMessage && line.line.method !== 'POST')
    return { ok: false, problem: `MCP messages are sent with POST, not with ${line.line.method}` };
  if (values.online && values.claims !== undefined)
    return { ok: false, problem: '--online checks the signature of a token; --claims has none' };
  const read = await readCredential(values, input);
  if (!read.ok) return read;
  return {
    ok: true,
    question: { line: line.line, headers: headers.headers, plan: planned.plan, credential: read.credential },
  };
}

async function answerQuestion(
  question: Question,
  runtime: RuntimeConfig,
  assumed: AssumedKeys,
  values: ExplainValues,
): Promise<
  { readonly ok: true; readonly report: ExplainReport } | { readonly ok: false; readonly problems: readonly string[] }
> {
  const { line, plan, credential } = question;
  const chosen = choosePort(runtime, line, values.listener);
  if (!chosen.ok) return { ok: false, problems: [chosen.problem] };
  const { port } = chosen;
  const backend = chooseWanted(question, port, values);
  if (!backend.ok) return { ok: false, problems: [backend.problem] };
  const run = (message: PlannedMessage | undefined): Promise<RequestOutcome> =>
    runRequest(runtime, planRequest({ question, port, assumed, values, message, backend: backend.key }));

  const first = chooseMessage(question, port, values);
  const outcome = await run(first.message);
  const report = buildReport({
    runtime,
    port,
    request: describeRequest(line, first, values.source),
    credential,
    signatures: assumed.notes,
    outcome,
    wantedBackend: backend.key,
    notes: listNotes(line, port),
  });
  if (plan.kind === 'one') return { ok: true, report };
  const items = await explainItems(plan.items, {
    use: (item) => run(planMessage(findUse(item.kind), item, values)),
    list: (method) => run(planMessage(method, undefined, values)),
  });
  return {
    ok: true,
    report: { ...report, items, token: report.token && { ...report.token, signatures: assumed.notes } },
  };
}

function findUse(kind: 'tool' | 'prompt' | 'resource'): string {
  return { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' }[kind];
}

interface ChosenMessage {
  readonly message: PlannedMessage | undefined;
  /** No flag names it. */
  readonly isAssumed: boolean;
}

/** Every POST to an MCP server has a message; the most ordinary one stands for those that use nothing in particular. */
function chooseMessage({ plan, line, headers }: Question, port: PortConfig, values: ExplainValues): ChosenMessage {
  if (plan.kind === 'table')
    return { message: planMessage(findListMethod(plan.items[0]?.kind ?? 'tool'), undefined, values), isAssumed: false };
  if (plan.message !== undefined || line.method !== 'POST') return { message: plan.message, isAssumed: false };
  const route = preview(line, headers, port, values.source);
  const isMcp = route?.backends.entries.some((entry) => entry.backend.startsWith('ProxyBackend/')) ?? false;
  return isMcp
    ? { message: planMessage('tools/list', undefined, values), isAssumed: true }
    : { message: undefined, isAssumed: false };
}

function preview(line: RequestLine, headers: RawHeaders, port: PortConfig, source: string): RouteConfig | undefined {
  return previewRoute({ line, port, headers, body: undefined, source, backend: undefined })?.route;
}

interface PreviewedRoute {
  readonly route: RouteConfig;
  /** The name of the gateway as the issuer of tokens; undefined: others issue them. */
  readonly ownIssuer: string | undefined;
}

function findOwnIssuer(context: RequestContext, matched: MatchedRoute): string | undefined {
  for (const choice of matched.route.backends.entries) {
    if (choice.policies['backend.mcp.authentication']?.issuer === undefined) continue;
    const resource = findProtectedResource(context, matched, choice);
    if (resource !== undefined) return formatFacadeIssuer(readBase(context, resource), resource);
  }
  return undefined;
}

/** The rule that a request will meet; undefined when there is none, or the gateway answers at that path itself. */
function previewRoute(planned: PlannedRequest): PreviewedRoute | undefined {
  const exchange = createExchange(planned);
  const context = startRequest(exchange);
  const target = readTarget(exchange.target, exchange.method);
  const found = findListener(exchange, planned.port);
  if (!target.ok || !found.ok) return undefined;
  context.path = target.path;
  context.query = target.query;
  context.hostname = found.hostname;
  if (findOwnEndpoint(found.listener, found.hostname, target.path) !== undefined) return undefined;
  context.listener = found.listener;
  const matched = findRoute(context, found.listener);
  return matched && { route: matched.route, ownIssuer: findOwnIssuer(context, matched) };
}

/** The key of --backend: by its name, or whole. */
function chooseWanted(
  { line, headers }: Question,
  port: PortConfig,
  { backend, source }: ExplainValues,
): { readonly ok: true; readonly key: string | undefined } | { readonly ok: false; readonly problem: string } {
  if (backend === undefined) return { ok: true, key: undefined };
  const entries = preview(line, headers, port, source)?.backends.entries.filter(({ weight }) => weight > 0) ?? [];
  const wanted = entries.find((entry) => {
    const [kind = '', namespace = '', name = ''] = entry.backend.split('/');
    return [name, `${namespace}/${name}`, `${kind} ${namespace}/${name}`, entry.backend].includes(backend);
  });
  if (wanted !== undefined) return { ok: true, key: wanted.backend };
  const names = entries.map((entry) => entry.backend.split('/')[2]).join(', ');
  return {
    ok: false,
    problem: `--backend ${backend}: the rule sends requests to ${names === '' ? 'no backend' : names}`,
  };
}

interface RequestParts {
  readonly question: Question;
  readonly port: PortConfig;
  readonly assumed: AssumedKeys;
  readonly values: ExplainValues;
  readonly message: PlannedMessage | undefined;
  readonly backend: string | undefined;
}

function planRequest({ question, port, assumed, values, message, backend }: RequestParts): PlannedRequest {
  const { line, headers } = question;
  const own = new Set(headers.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()));
  const added = (message?.headers ?? []).filter((_, index, all) => !own.has(all[index - (index % 2)]!));
  const bare = { line, port, headers: [...headers, ...added], body: message?.body, source: values.source, backend };
  const previewed = previewRoute(bare);
  const route = previewed?.route;
  const token = assumed.makeToken(findExpectedIssuer(route, previewed?.ownIssuer));
  return token === undefined ? bare : { ...bare, ...placeToken(line, bare.headers, token, route) };
}

function describeRequest(line: RequestLine, { message, isAssumed }: ChosenMessage, source: string): ExplainedRequest {
  const { item } = message ?? {};
  const nameOf = (kind: string): string | null => (item?.kind === kind ? item.name : null);
  return {
    id: null,
    time: null,
    method: line.method,
    url: formatRequestUrl(line),
    source,
    message:
      message === undefined
        ? null
        : {
            method: message.method,
            tool: nameOf('tool'),
            prompt: nameOf('prompt'),
            resource: nameOf('resource'),
            protocolVersion: message.protocolVersion,
            count: 1,
            assumed: isAssumed,
          },
  };
}

/** Where the connection that was assumed differs from what the URL says. */
function listNotes(line: RequestLine, { protocol, port }: PortConfig): string[] {
  if (protocol !== line.scheme.toUpperCase()) {
    const ends = line.scheme === 'https' ? ': something in front of the gateway ends TLS' : '';
    return [
      `The URL is ${line.scheme}, the listener speaks ${protocol}${ends}. The gateway sees ${protocol.toLowerCase()}.`,
    ];
  }
  if (line.port !== undefined && line.port !== port)
    return [`No listener has port ${line.port}; this is what the one on ${port} does.`];
  return [];
}
