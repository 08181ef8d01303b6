// Answers that the gateway makes itself. Errors are always JSON, with the request id and a stable reason.
import { rememberTexts } from '../../base/text-memory.ts';
import { TurnBudget } from '../../base/turn-budget.ts';
import type { RawHeaders } from '../http/exchange.ts';
import { type Reason, reasons } from '../http/reasons.ts';
import type { RequestContext } from './request-context.ts';

export interface DenyOptions {
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

/** There are as many sentences as reasons, and a few more. */
const quote = rememberTexts((text) => JSON.stringify(text));

/** Answers of this kind in one turn of the event loop. A client that gets one sends the next, without the way to an upstream that others have to go. */
const denials = new TurnBudget(16);

/** Ends a request with an error answer, and notes the reason for the log and the metrics. */
export function denyRequest(context: RequestContext, reason: Reason, options: DenyOptions = {}): void {
  context.reason = reason;
  // An empty detail says nothing: no line of the log has it.
  if (options.detail !== undefined && options.detail !== '') context.detail = options.detail;
  if (denials.take()) answerDenial(context, reason, options);
  else denials.wait(() => answerLater(context, reason, options));
}

function answerLater(context: RequestContext, reason: Reason, options: DenyOptions): void {
  try {
    if (!context.exchange.headSent) answerDenial(context, reason, options);
  } catch {
    // Nobody else would end it, and nobody would catch it.
    context.exchange.abort();
  }
}

function answerDenial(context: RequestContext, reason: Reason, options: DenyOptions): void {
  const definition = reasons[reason];
  const body = formatErrorBody(reason, options.description ?? definition.description, context.requestId);
  // A client that is promised JSON may look for it: the Gateway API conformance suite fails on its absence in an answer to HEAD.
  const isHead = context.exchange.method === 'HEAD';
  const headers = isHead
    ? ['cache-control', 'no-store']
    : ['content-type', 'application/json', 'cache-control', 'no-store'];
  if (options.headers !== undefined) for (const part of options.headers) headers.push(part);
  answerRequest(context, options.status ?? definition.status, headers, body);
}

/** Ends a request with an answer of the gateway's own. */
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
