// An access line as JSON, put together by hand: there is one per request, and most of its pieces are those of a line before. It has few pieces, because
// V8 puts them together when the line is written, and that is most of what a line costs.
import { copyText, cutText } from '../../base/cut-text.ts';
import { hasNoCredentials, redactText } from '../../base/redact.ts';
import { rememberTexts } from '../../base/text-memory.ts';
import { findDeciding, formatRule } from '../request/decision.ts';
import { describeCaller } from './describe-caller.ts';
import type { RawHeaders } from '../http/exchange.ts';
import type { RuleReference } from '../config/rule-set.ts';
import { measureDuration, type RequestContext } from '../request/request-context.ts';
import { readClaimedMessage, showMessage } from '../request/seen-message.ts';
import type { Caller, VerifiedToken } from '../authentication/token/verified-token.ts';

/** Formats what comes after level and time, with the end of the line. Members that are unknown are left out. */
type AccessLineFormatter = (
  context: RequestContext,
  clean: boolean,
  bytesSent: number,
  bytesReceived: number,
) => string;

/** A path or User-Agent past this length is cut: a line must stay a line. */
const maxTextLength = 1_024;

const lineEnd = ',"msg":"request"}\n';

/** Creates a formatter with a memory of its own. */
export function createAccessLineFormatter(): AccessLineFormatter {
  const formatAsked = createAskedPiece();
  const formatPlace = createPlacePiece();
  const formatReason = createField('reason');
  const formatDetail = createField('detail');
  const formatReceived = createNumberPiece(',"bytes_in":', ',"bytes_out":');
  const formatSent = createNumberPiece('', ',"duration_ms":');
  const formatClient = createClientPiece();
  const formatAgent = createAgentPiece();

  return (context, clean, bytesSent, bytesReceived) => {
    const { exchange, upstreamMs, client, traceparent } = context;
    let line = `,"kind":"access","request_id":"${context.requestId}${formatAsked(context)}`;
    if (context.reason !== undefined) line += formatReason(context.reason);
    if (context.detail !== undefined) line += formatDetail(context.detail);
    if (context.caller !== undefined) line += formatCaller(context.caller);
    const seen = context.mcpMessage ?? context.glimpsed ?? readClaimedMessage(exchange.headers);
    if (seen !== undefined) line += formatMessage(seen);
    line += formatPlace(context);
    if (context.retries !== 0) line += `,"retries":${context.retries}`;
    line += formatReceived(bytesReceived);
    line += formatSent(bytesSent);
    const duration = measureDuration(context);
    if (upstreamMs === undefined) line += formatTenths(duration);
    else line += `${formatTenthsBeforeUpstream(duration)}${formatTenths(upstreamMs)}`;
    if (!clean) line += ',"complete":false';
    // What a proxy knows of the client's port is lost on the way.
    line += client.isBehindProxy
      ? formatMember('client', client.address).slice(0, -1)
      : `${formatClient(exchange.remoteAddress)}${exchange.remotePort}`;
    const { member, last } = formatAgent(findUserAgent(exchange.headers));
    return traceparent === undefined
      ? `${line}${last}`
      : `${line}${member},"trace_id":"${traceparent.slice(3, 35)}"${lineEnd}`;
  };
}

/** Values that were together before, and what was made of them, in one piece. Lists of them are short: they are searched from the beginning. */
interface Combination<V> {
  readonly values: V;
  readonly text: string;
}

/** Clients choose host and path; the configuration limits where requests can go. */
const maxAsked = 8;
const maxPlaces = 32;

function remember<V>(combinations: Combination<V>[], max: number, values: V, text: string): void {
  if (combinations.length >= max) combinations.length = 0;
  combinations.push({ values, text: copyText(text) });
}

interface Asked {
  readonly method: string;
  readonly hostname: string;
  readonly httpVersion: string;
  readonly scheme: string;
  readonly status: number;
}

/** From the end of the request id to the status. */
function createAskedPiece(): (context: RequestContext) => string {
  const formatMethod = createField('method');
  const formatHost = createField('host', maxTextLength);
  const findPath = rememberTexts(
    (path, isKept) => ({
      member: formatMember('path', cutText(path, maxTextLength)),
      combinations: isKept ? ([] as Combination<Asked>[]) : undefined,
    }),
    { mayKeep: hasNoCredentials },
  );
  return (context) => {
    const { exchange, hostname, status, client } = context;
    const { method, httpVersion } = exchange;
    const { scheme } = client;
    const path = findPath(context.path === '' ? removeQuery(exchange.target) : context.path);
    if (path.combinations !== undefined) {
      for (const { values, text } of path.combinations) {
        if (
          values.status === status &&
          values.method === method &&
          values.hostname === hostname &&
          values.httpVersion === httpVersion &&
          values.scheme === scheme
        )
          return text;
      }
    }
    const text = `"${formatMethod(method)}${formatHost(hostname)}${path.member},"protocol":"HTTP/${httpVersion}","scheme":"${scheme}","status":${status}`;
    if (path.combinations === undefined || method.length + hostname.length > maxKeptLength) return text;
    const values = { method: copyText(method), hostname: copyText(hostname), httpVersion, scheme, status };
    // Half a character does not survive the copy.
    if (values.method === method && values.hostname === hostname) remember(path.combinations, maxAsked, values, text);
    return text;
  };
}

/** Longer values are not kept. */
const maxKeptLength = 256;

interface Place {
  readonly policy: string | undefined;
  readonly rule: RuleReference | undefined;
  readonly listener: string | undefined;
  readonly backend: string | undefined;
  readonly endpoint: string | undefined;
}

/** The deciding policy and the upstream: texts of the configuration, and an address. */
function createPlacePiece(): (context: RequestContext) => string {
  const formatPolicy = createField('policy');
  const formatListener = createField('listener');
  const formatRoute = createField('route');
  const formatBackend = createField('backend');
  const formatEndpoint = createField('endpoint');
  const findCombinations = rememberTexts((): Combination<Place>[] => []);
  return (context) => {
    const { decisions, route, backend, endpoint } = context;
    const deciding = decisions.length === 1 ? decisions[0] : findDeciding(decisions);
    const policy = deciding?.policy;
    const rule = deciding?.decidedBy;
    const listener = context.listener?.key;
    const combinations = findCombinations(route?.key ?? '');
    for (const { values, text } of combinations) {
      if (
        values.endpoint === endpoint &&
        values.policy === policy &&
        values.rule === rule &&
        values.backend === backend &&
        values.listener === listener
      )
        return text;
    }
    let text = policy === undefined ? '' : formatPolicy(policy);
    if (rule !== undefined) text += formatMember('rule', formatRule(rule));
    if (listener !== undefined) text += formatListener(listener);
    if (route !== undefined) text += formatRoute(route.key);
    if (backend !== undefined) text += formatBackend(backend);
    if (endpoint !== undefined) text += formatEndpoint(endpoint);
    remember(combinations, maxPlaces, { policy, rule, listener, backend, endpoint }, text);
    return text;
  };
}

/** The caller; the same for every request with the token. */
function formatCaller(token: VerifiedToken): string {
  const caller = describeCaller(token);
  return (caller.logged ??= formatMembers(caller));
}

function formatMembers({ subject, issuer, clientId }: Caller): string {
  return copyText(
    `${formatKnown('subject', subject)}${formatMember('issuer', issuer)}${formatKnown('client_id', clientId)}`,
  );
}

function formatMessage(seen: NonNullable<RequestContext['mcpMessage']>): string {
  const { method, item, count } = showMessage(seen);
  const messages = count === 1 ? '' : `,"mcp_messages":${count}`;
  return `${formatMember('mcp_method', method)}${formatKnown('mcp_item', item)}${messages}`;
}

/** The client's address up to the port: `,"client":"127.0.0.1:`. */
function createClientPiece(): (address: string) => string {
  return rememberTexts((address) =>
    copyText(formatMember('client', address.includes(':') ? `[${address}]:` : `${address}:`).slice(0, -1)),
  );
}

/** From the quote that ends the client's address; with and without the end of the line. */
function createAgentPiece(): (agent: string | undefined) => { readonly member: string; readonly last: string } {
  const none = { member: '"', last: `"${lineEnd}` };
  const find = rememberTexts(
    (agent, isKept) => {
      const member = `"${formatMember('user_agent', cutText(agent, maxTextLength))}`;
      const last = `${member}${lineEnd}`;
      return isKept ? { member: copyText(member), last: copyText(last) } : { member, last };
    },
    { mayKeep: hasNoCredentials },
  );
  return (agent) => (agent === undefined ? none : find(agent));
}

/** A member with a text: `,"host":"mcp.example"`. What has credentials in it is not remembered. */
function createField(name: string, maxLength = Number.POSITIVE_INFINITY): (text: string) => string {
  return rememberTexts(
    (text, isKept) => {
      const member = formatMember(name, cutText(text, maxLength));
      return isKept ? copyText(member) : member;
    },
    { mayKeep: hasNoCredentials },
  );
}

/** Without credentials. */
function formatMember(name: string, text: string): string {
  return `,"${name}":${JSON.stringify(redactText(text))}`;
}

function formatKnown(name: string, text: string | undefined): string {
  return text === undefined ? '' : formatMember(name, text);
}

function findUserAgent(headers: RawHeaders): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    if (name.length === 10 && name.toLowerCase() === 'user-agent') return headers[index + 1] ?? '';
  }
  return undefined;
}

/** Only while the path is not known yet, e.g. for a request that was refused because of its target. */
function removeQuery(target: string): string {
  const end = target.search(/[?#]/);
  return end === -1 ? target : target.slice(0, end);
}

/** Most numbers are small: sizes of messages, tenths of milliseconds. */
const maxKnownNumber = 4_096;

/** A number between two texts, in one piece. */
function createNumberPiece(before: string, after: string, divisor = 1): (value: number) => string {
  const known = Array.from<string>({ length: maxKnownNumber }).fill('');
  return (value) => {
    const text = known[value];
    if (text !== undefined && text !== '') return text;
    const made = `${before}${value / divisor}${after}`;
    if (text !== undefined) known[value] = copyText(made);
    return made;
  };
}

const formatCount = createNumberPiece('', '', 10);
const formatCountBeforeUpstream = createNumberPiece('', ',"upstream_ms":', 10);

/** Milliseconds with one digit behind the point. */
function formatTenths(milliseconds: number): string {
  return formatCount(Math.round(milliseconds * 10));
}

function formatTenthsBeforeUpstream(milliseconds: number): string {
  return formatCountBeforeUpstream(Math.round(milliseconds * 10));
}
