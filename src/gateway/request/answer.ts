// Answers that the gateway makes itself. Errors are always JSON, with the request id and a stable reason.
import { rememberTexts } from '../../base/text-memory.ts';
import { TurnBudget } from '../../base/turn-budget.ts';
import type { RawHeaders } from '../http/exchange.ts';
import { type Reason, reasons } from '../http/reasons.ts';
import type { RequestContext } from './request-context.ts';

interface DenyOptions {
  /** In place of the reason's own sentence. */
  readonly description?: string;
  readonly headers?: RawHeaders;
  /** In place of the reason's own status. */
  readonly status?: number;
  /** For the operator's log only. */
  readonly detail?: string;
}

/** The body of every error that the gateway answers itself. */
export function formatErrorBody(reason: string, description: string, requestId: string): string {
  return `{"error":${quote(reason)},"error_description":${quote(description)},"request_id":${JSON.stringify(requestId)}}\n`;
}

/** Cached: there are only a few more sentences than reasons. */
const quote = rememberTexts((text) => JSON.stringify(text));

/** Limits denials per turn of the event loop: a client that is denied sends its next request at once, while others wait for an upstream. */
const denials = new TurnBudget(16);

/** Ends a request with an error answer, and notes the reason for the log and the metrics. */
export function denyRequest(context: RequestContext, reason: Reason, options: DenyOptions = {}): void {
  context.reason = reason;
  // An empty detail is not logged.
  if (options.detail !== undefined && options.detail !== '') context.detail = options.detail;
  if (denials.take()) answerDenial(context, reason, options);
  else denials.wait(() => answerLater(context, reason, options));
}

function answerLater(context: RequestContext, reason: Reason, options: DenyOptions): void {
  try {
    if (!context.exchange.headSent) answerDenial(context, reason, options);
  } catch {
    // No caller is left to end the exchange or to catch the error.
    context.exchange.abort();
  }
}

function answerDenial(context: RequestContext, reason: Reason, options: DenyOptions): void {
  const definition = reasons[reason];
  const body = formatErrorBody(reason, options.description ?? definition.description, context.requestId);
  // An answer to HEAD announces no JSON: the Gateway API conformance suite would fail on its absence.
  const isHead = context.exchange.method === 'HEAD';
  const headers = isHead
    ? ['cache-control', 'no-store']
    : ['content-type', 'application/json', 'cache-control', 'no-store'];
  if (options.headers !== undefined) for (const part of options.headers) headers.push(part);
  answerRequest(context, options.status ?? definition.status, headers, body);
}

/** Ends a request with an answer that the gateway makes itself. */
export function answerRequest(context: RequestContext, status: number, headers: RawHeaders, body: string): void {
  context.status = status;
  const { exchange, requestId } = context;
  if (status === 204 || status === 304) {
    exchange.respond(status, [...headers, 'x-request-id', requestId], '');
    return;
  }
  const length = String(Buffer.byteLength(body));
  const isHead = exchange.method === 'HEAD';
  exchange.respond(status, [...headers, 'content-length', length, 'x-request-id', requestId], isHead ? '' : body);
}
