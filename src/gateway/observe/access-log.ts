// One line per request, for people and machines. It holds the path but never the query, and no header except the User-Agent:
// queries and headers are where credentials travel. Of a token it has the names of the caller, never the token; of a message its method
// and what it uses, never the arguments.
import { cutText } from '../../base/cut-text.ts';
import type { LineLog } from '../../base/log.ts';
import type { LogRecord } from '../../base/log-text.ts';
import { escapeControls, type Palette } from '../../base/terminal.ts';
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
