// One line per request, for people and machines. It holds the path but never the query, and no header except the User-Agent:
// queries and headers are where credentials travel. Of a token it has the names of the caller, never the token; of a message its method
// and what it uses, never the arguments.
import { cutText } from '../base/cut-text.ts';
import type { Log } from '../base/log.ts';
import type { LogRecord } from '../base/log-text.ts';
import { escapeControls, type Palette } from '../base/terminal.ts';
import { findDeciding, formatRule } from './decision.ts';
import { describeCaller } from './describe-caller.ts';
import type { RawHeaders } from './listen/exchange.ts';
import { reasons } from './reasons.ts';
import type { RequestContext } from './request-context.ts';
import { showMessage } from './seen-message.ts';

/** Called once per request, when its exchange closed. `clean` is false when the client did not get the whole answer. */
export type AccessLog = (context: RequestContext, clean: boolean, bytesSent: number, bytesReceived: number) => void;

/** The `kind` of access lines; pass it with formatAccessText to createLog's textFormatters. */
export const accessLogKind = 'access';

/** A path or User-Agent past this length is cut: a line must stay a line. */
const maxTextLength = 1_024;

/** On a terminal a subject is an aid, not the record; so is what a message uses. */
const maxShownSubject = 40;
const maxShownItem = 60;

/** Creates the access log. Ordinary requests are logged at info, 5xx answers of the gateway itself at warn. */
export function createAccessLog(log: Log): AccessLog {
  const lines = log.child({ kind: accessLogKind });
  return (context, clean, bytesSent, bytesReceived) => {
    const failed = isGatewayFailure(context);
    if (!lines.isEnabled(failed ? 'warn' : 'info')) return;
    const record = describeRequest(context, clean, bytesSent, bytesReceived);
    if (failed) lines.warn(record, 'request');
    else lines.info(record, 'request');
  };
}

/** The fields of an access line; those that are unknown are left out. */
export function describeRequest(
  context: RequestContext,
  clean: boolean,
  bytesSent: number,
  bytesReceived: number,
): LogRecord {
  const { exchange } = context;
  const caller = context.caller === undefined ? undefined : describeCaller(context.caller);
  const deciding = findDeciding(context.decisions);
  const message = context.mcpMessage === undefined ? undefined : showMessage(context.mcpMessage);
  return {
    request_id: context.requestId,
    method: exchange.method,
    host: cutText(context.hostname, maxTextLength),
    path: cutText(context.path === '' ? removeQuery(exchange.target) : context.path, maxTextLength),
    protocol: `HTTP/${exchange.httpVersion}`,
    scheme: context.client.scheme,
    status: context.status,
    reason: context.reason,
    detail: context.detail,
    subject: caller?.subject,
    issuer: caller?.issuer,
    client_id: caller?.clientId,
    mcp_method: message?.method,
    mcp_item: message?.item,
    mcp_messages: message === undefined || message.count === 1 ? undefined : message.count,
    policy: deciding?.policy,
    rule: deciding?.decidedBy === undefined ? undefined : formatRule(deciding.decidedBy),
    listener: context.listener?.key,
    route: context.route?.key,
    backend: context.backend,
    endpoint: context.endpoint,
    retries: context.retries === 0 ? undefined : context.retries,
    bytes_in: bytesReceived,
    bytes_out: bytesSent,
    duration_ms: roundMs(performance.now() - context.startedAt),
    upstream_ms: context.upstreamMs === undefined ? undefined : roundMs(context.upstreamMs),
    complete: clean ? undefined : false,
    // What a proxy knows of the client's port is lost on the way.
    client: context.client.isBehindProxy
      ? context.client.address
      : formatAddress(exchange.remoteAddress, exchange.remotePort),
    user_agent: findUserAgent(exchange.headers),
    trace_id: readTraceId(context.traceparent),
  };
}

/** The text form: status, method, path, time, the message, then where it went and what went wrong. */
export function formatAccessText(record: LogRecord, palette: Palette): string {
  const text = (name: string): string => {
    const value = record[name];
    return typeof value === 'string' || typeof value === 'number' ? escapeControls(String(value)) : '';
  };
  const parts = [
    colorStatus(text('status'), palette),
    text('method').padEnd(7),
    `${text('duration_ms')}ms`.padStart(10),
    `${palette.bold(text('host'))}${text('path')}`,
  ];
  if (record['mcp_method'] !== undefined)
    parts.push(formatMessage(text('mcp_method'), text('mcp_item'), text('mcp_messages')));
  if (record['subject'] !== undefined) parts.push(palette.dim('by'), cutText(text('subject'), maxShownSubject));
  if (record['backend'] !== undefined) parts.push(palette.dim('->'), text('backend'));
  if (record['endpoint'] !== undefined) parts.push(palette.dim(`(${text('endpoint')})`));
  if (record['reason'] !== undefined) parts.push(palette.red(text('reason')));
  else if (record['complete'] === false) parts.push(palette.yellow('incomplete'));
  if (record['detail'] !== undefined) parts.push(text('detail'));
  parts.push(palette.dim(text('request_id')));
  return parts.join(' ');
}

/** "tools/call open_ticket (of 3)": the number is that of a batch. */
function formatMessage(method: string, item: string, count: string): string {
  const used = item === '' ? '' : ` ${cutText(item, maxShownItem)}`;
  return `${cutText(method, maxShownItem)}${used}${count === '' ? '' : ` (of ${count})`}`;
}

/** An answer the gateway made because something behind it, or in it, is broken: an operator wants to see it. */
function isGatewayFailure(context: RequestContext): boolean {
  const { reason } = context;
  return reason !== undefined && reasons[reason].status >= 500;
}

function colorStatus(status: string, palette: Palette): string {
  const shown = status.padEnd(3);
  switch (status[0]) {
    case '2':
      return palette.green(shown);
    case '1':
    case '3':
      return palette.cyan(shown);
    case '4':
      return palette.yellow(shown);
    default:
      return palette.red(shown);
  }
}

function findUserAgent(headers: RawHeaders): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    if (name.length === 10 && name.toLowerCase() === 'user-agent')
      return cutText(headers[index + 1] ?? '', maxTextLength);
  }
  return undefined;
}

/** Only while the path is not known yet, e.g. for a request that was refused because of its target. */
function removeQuery(target: string): string {
  const end = target.search(/[?#]/);
  return end === -1 ? target : target.slice(0, end);
}

function formatAddress(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

function readTraceId(traceparent: string | undefined): string | undefined {
  return traceparent?.slice(3, 35);
}

function roundMs(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
