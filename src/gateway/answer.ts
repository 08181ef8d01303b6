// Answers that the gateway makes itself. Errors are always JSON, with the request id and a stable reason.
import type { RawHeaders } from './listen/exchange.ts';
import { type Reason, reasons } from './reasons.ts';
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
  return `${JSON.stringify({ error: reason, error_description: description, request_id: requestId })}\n`;
}

/** Ends a request with an error answer, and notes the reason for the log and the metrics. */
export function denyRequest(context: RequestContext, reason: Reason, options: DenyOptions = {}): void {
  const definition = reasons[reason];
  context.reason = reason;
  // An empty detail says nothing: no line of the log has it.
  if (options.detail !== undefined && options.detail !== '') context.detail = options.detail;
  const body = formatErrorBody(reason, options.description ?? definition.description, context.requestId);
  // A client that is promised JSON may look for it: the Gateway API conformance suite fails on its absence in an answer to HEAD.
  const type = context.exchange.method === 'HEAD' ? [] : ['content-type', 'application/json'];
  const headers = [...type, 'cache-control', 'no-store', ...(options.headers ?? [])];
  answerRequest(context, options.status ?? definition.status, headers, body);
}

/** Ends a request with an answer of the gateway's own. */
export function answerRequest(context: RequestContext, status: number, headers: RawHeaders, body: string): void {
  context.status = status;
  const hasBody = status !== 204 && status !== 304;
  const length = hasBody ? ['content-length', String(Buffer.byteLength(body))] : [];
  const isHead = context.exchange.method === 'HEAD';
  context.exchange.respond(
    status,
    [...headers, ...length, 'x-request-id', context.requestId],
    isHead || !hasBody ? '' : body,
  );
}
