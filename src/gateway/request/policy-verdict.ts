// What a step of the policy chain says about a request.
import type { MatchedRoute, RouteConfig } from '../config/runtime-config.ts';
import type { RawHeaders } from '../http/exchange.ts';
import type { Reason } from '../http/reasons.ts';
import type { RequestContext } from './request-context.ts';

/** What a policy may look at. */
export interface PolicyRequest {
  readonly context: RequestContext;
  readonly route: RouteConfig;
  /** The match that led to the route. */
  readonly matched: MatchedRoute;
}

/** The outcome of one step, or of the whole chain. */
export type PolicyVerdict =
  /** Go on. The headers belong on the answer, whoever makes it. */
  | { readonly kind: 'continue'; readonly responseHeaders: RawHeaders }
  /** The policy has the answer. */
  | { readonly kind: 'respond'; readonly status: number; readonly headers: RawHeaders; readonly body: string }
  | PolicyDenial;

/** The request ends here, as an error answer of the gateway. */
export interface PolicyDenial {
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

/** One policy. Returns at once when it can: a promise costs every request that does not need it. */
export type PolicyStep = (request: PolicyRequest) => PolicyVerdict | Promise<PolicyVerdict>;

/** The verdict of a step that has nothing to say. */
export const continueUnchanged: PolicyVerdict = { kind: 'continue', responseHeaders: [] };
