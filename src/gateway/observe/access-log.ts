// One line per request, for people and machines. It holds the path but never the query, and no header except the User-Agent:
// queries and headers are where credentials travel. Of a token it has the names of the caller, never the token; of a message its method
// and what it uses, never the arguments.
import { cutMiddle } from '../../base/cut-text.ts';
import type { LineLog } from '../../base/log.ts';
import { type LogRecord, maxLineLength, prefixLength } from '../../base/log-text.ts';
import { createPalette, escapeControls, type Palette } from '../../base/terminal.ts';
import { readWallClock } from '../../base/wall-clock.ts';
import { createAccessLineFormatter } from './access-line.ts';
import { reasons } from '../http/reasons.ts';
import { measureDuration, type RequestContext } from '../request/request-context.ts';

/** Called once per request, when its exchange closed. `clean` is false when the client did not get the whole answer. */
export type AccessLog = (context: RequestContext, clean: boolean, bytesSent: number, bytesReceived: number) => void;

/** The `kind` of access lines; pass it with formatAccessText to createLog's textFormatters. */
export const accessLogKind = 'access';

/** On a terminal a subject is an aid, not the record; so is what a message uses. */
const maxShownSubject = 40;
const maxShownItem = 60;
const maxShownPath = 80;
/** Ordinary methods of MCP are not cut. */
const minShownMethod = 16;
const maxBriefId = 9;

/** Creates the access log. Ordinary requests are logged at info, 5xx answers of the gateway itself at warn. */
export function createAccessLog(log: LineLog): AccessLog {
  const formatLine = createAccessLineFormatter();
  return (context, clean, bytesSent, bytesReceived) => {
    const level = isGatewayFailure(context) ? 'warn' : 'info';
    if (!log.isEnabled(level)) return;
    const members = formatLine(context, clean, bytesSent, bytesReceived);
    log.writeLine(level, readWallClock(context.startedAt + measureDuration(context)), members);
  };
}

/** How an access line is shortened until it fits: the endpoint and the kind of the backend go first. A request that was not refused can do with the beginning of its id, one with an MCP method without the HTTP method. Then names are cut in the middle. */
interface Shortening {
  readonly endpoint: boolean;
  readonly wholeBackend: boolean;
  readonly wholeId: boolean;
  readonly httpMethod: boolean;
  readonly subject: number;
  readonly item: number;
  readonly path: number;
  /** Host, backend and the method of a message. */
  readonly others: number;
}

const inFull: Shortening = {
  endpoint: true,
  wholeBackend: true,
  wholeId: true,
  httpMethod: true,
  subject: maxShownSubject,
  item: maxShownItem,
  path: maxShownPath,
  others: maxShownPath,
};
const named: Shortening = { ...inFull, endpoint: false, wholeBackend: false };
const brief: Shortening = { ...named, wholeId: false, httpMethod: false };
const complete: readonly Shortening[] = [
  inFull,
  { ...inFull, endpoint: false },
  named,
  { ...named, wholeId: false },
  brief,
];
const cut: readonly Shortening[] = [
  { ...brief, subject: 16, item: 32, path: 40 },
  { ...brief, subject: 12, item: 24, path: 20 },
  ...[20, 18, 16, 14, 13, 12, 11, 10, 9, 8].map((most) => ({
    ...brief,
    subject: Math.min(12, most),
    item: most,
    path: most,
    others: most,
  })),
];

/**
 * The text form: status, method, path, time, the message, then where it went and what went wrong. Fits into a line of a terminal where possible. Status,
 * reason and detail are never cut, nor is the id of a refused request: where there is no room for detail and id, they go to the next line on a terminal.
 */
export function formatAccessText(record: LogRecord, palette: Palette): string {
  const first = record['reason'] === undefined ? record : { ...record, detail: undefined, request_id: undefined };
  const fitting =
    complete.find((each) => fits(record, each)) ??
    [...complete, ...cut].find((each) => fits(first, each)) ??
    cut.at(-1)!;
  return formatParts(record, palette, fitting);
}

function fits(record: LogRecord, shortening: Shortening): boolean {
  return formatParts(record, createPalette(false), shortening).length <= maxLineLength - prefixLength;
}

function formatParts(record: LogRecord, palette: Palette, shortening: Shortening): string {
  const text = (name: string): string => {
    const value = record[name];
    return typeof value === 'string' || typeof value === 'number' ? escapeControls(String(value)) : '';
  };
  const parts = [
    colorStatus(text('status'), palette),
    ...(shortening.httpMethod || record['mcp_method'] === undefined ? [text('method').padEnd(7)] : []),
    `${text('duration_ms')}ms`.padStart(10),
    `${palette.bold(cutMiddle(text('host'), shortening.others))}${cutMiddle(text('path'), shortening.path)}`,
  ];
  if (record['mcp_method'] !== undefined)
    parts.push(formatMessage(text('mcp_method'), text('mcp_item'), text('mcp_messages'), shortening));
  if (record['subject'] !== undefined) parts.push(palette.dim('by'), cutMiddle(text('subject'), shortening.subject));
  if (record['backend'] !== undefined) {
    const backend = text('backend');
    parts.push(
      palette.dim('->'),
      shortening.wholeBackend ? backend : cutMiddle(shortenBackend(backend), shortening.others),
    );
  }
  if (record['endpoint'] !== undefined && shortening.endpoint) parts.push(palette.dim(`(${text('endpoint')})`));
  if (record['reason'] !== undefined) parts.push(palette.red(text('reason')));
  else if (record['complete'] === false) parts.push(palette.yellow('incomplete'));
  if (record['detail'] !== undefined) parts.push(text('detail'));
  const id = text('request_id');
  const isWhole = shortening.wholeId || record['reason'] !== undefined;
  parts.push(palette.dim(isWhole || id.length <= maxBriefId ? id : `${id.slice(0, maxBriefId - 1)}…`));
  return parts.join(' ');
}

/** "tools/call open_ticket (of 3)": the number is that of a batch. */
function formatMessage(method: string, item: string, count: string, shortening: Shortening): string {
  const used = item === '' ? '' : ` ${cutMiddle(item, shortening.item)}`;
  return `${cutMiddle(method, Math.min(Math.max(shortening.others, minShownMethod), maxShownItem))}${used}${count === '' ? '' : ` (of ${count})`}`;
}

/** Without kind and namespace: "tickets". A Service keeps its port: "web/80". */
function shortenBackend(backend: string): string {
  const [kind = '', namespace = '', ...name] = backend.split('/');
  return name.length === 0 ? [kind, namespace].join('/') : name.join('/');
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
