// The verdict of a step about a request. Results that later steps need are on the context.
import type { RawHeaders } from '../http/exchange.ts';
import type { Reason } from '../http/reasons.ts';

/** The outcome of one step, or of a chain. */
export type Verdict = Continuation | GatewayAnswer | Denial;

/** Go on. The headers belong on the answer, from the upstream or the gateway. */
export interface Continuation {
  readonly kind: 'continue';
  readonly responseHeaders: RawHeaders;
}

/** The step answers the request itself. */
export interface GatewayAnswer {
  readonly kind: 'respond';
  readonly status: number;
  readonly headers: RawHeaders;
  readonly body: string;
}

/** The request ends here, as an error answer of the gateway. */
export interface Denial {
  readonly kind: 'deny';
  readonly reason: Reason;
  /** In place of the reason's own status. */
  readonly status?: number;
  /** What the client reads, in place of the reason's own sentence. */
  readonly description?: string;
  /** For the operator's log only. */
  readonly detail: string;
  /** Headers of the answer: a browser can read an error only with its CORS headers. */
  readonly responseHeaders: RawHeaders;
}

/** The verdict of a step that changes nothing. */
export const continueUnchanged: Continuation = { kind: 'continue', responseHeaders: [] };
