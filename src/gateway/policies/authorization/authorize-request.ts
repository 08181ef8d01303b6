// The authorization step (`spec.traffic.authorization`): rules over the request and the claims of its token.
import type { RouteConfig } from '../../config/runtime-config.ts';
import type { RequestContext } from '../../request-context.ts';
import type { VerifiedToken } from '../../token/verified-token.ts';
import type { PolicyDenial } from '../policy-verdict.ts';
import { decideRules } from './decide-rules.ts';
import { readRequestVariables } from './request-variables.ts';

/** A request after everyone who wants to know has said who is asking. */
export interface AuthorizationRequest {
  readonly context: RequestContext;
  readonly route: RouteConfig;
  /** Of the route's JWT authentication, else of the backend's MCP authentication. */
  readonly token: VerifiedToken | undefined;
}

/** Why the request must not go on; undefined when it may. */
export function authorizeRequest({ context, route, token }: AuthorizationRequest): PolicyDenial | undefined {
  const { authorization } = route.policies;
  if (authorization === undefined) return undefined;
  const decision = decideRules(authorization, readRequestVariables(context, token));
  if (decision.allowed) return undefined;
  return {
    kind: 'deny',
    reason: 'rbac_denied',
    detail: decision.decidedBy?.source ?? 'no Allow rule matches',
    responseHeaders: [],
  };
}
