// The authorization step (`spec.traffic.authorization`): rules over the request and the claims of its token. Which rule decided is told
// to the operator and never to the client.
import type { RouteConfig } from '../../config/runtime-config.ts';
import type { Decision } from '../../decision.ts';
import { noteDecision, type RequestContext } from '../../request-context.ts';
import type { VerifiedToken } from '../../token/verified-token.ts';
import type { PolicyDenial } from '../policy-verdict.ts';
import { decideRules } from './decide-rules.ts';
import { describeDenial } from './describe-denial.ts';
import { listOutcomes } from './describe-outcomes.ts';
import { readRequestVariables } from './request-variables.ts';
import type { RuleReference, RuleSet } from './rule-set.ts';

/** A request after everyone who wants to know has said who is asking. */
export interface AuthorizationRequest {
  readonly context: RequestContext;
  readonly route: RouteConfig;
  /** Of the route's JWT authentication, else of the backend's MCP authentication. */
  readonly token: VerifiedToken | undefined;
}

/** Why the request must not go on; undefined when it may. */
export function authorizeRequest({ context, route, token }: AuthorizationRequest): PolicyDenial | undefined {
  const { authorization: rules, jwt } = route.policies;
  if (rules === undefined) return undefined;
  const variables = readRequestVariables(context, token);
  const decision = decideRules(rules, variables);
  const { allowed, decidedBy } = decision;
  if (allowed && !context.explained) {
    noteDecision(context, findPass(rules, decidedBy));
    return undefined;
  }
  const outcomes = listOutcomes({ rules, variables, tokenLocation: jwt?.message.location });
  if (allowed) {
    noteDecision(context, { ...findPass(rules, decidedBy), rules: outcomes });
    return undefined;
  }
  const detail = describeDenial(rules, decision, outcomes);
  noteDecision(context, {
    step: 'traffic.authorization',
    policy: decidedBy?.policy ?? rules.allow[0]!.policy,
    mode: '',
    outcome: 'deny',
    reason: 'rbac_denied',
    detail,
    decidedBy,
    rules: outcomes,
  });
  return { kind: 'deny', reason: 'rbac_denied', detail, responseHeaders: [] };
}

/** Leave to pass is the same every time: by the expression that gave it, or by a whole set that had nothing against it. */
const passes = new WeakMap<RuleReference | RuleSet, Decision>();

function findPass(rules: RuleSet, decidedBy: RuleReference | undefined): Decision {
  const key = decidedBy ?? rules;
  let pass = passes.get(key);
  if (pass === undefined) {
    const policy = decidedBy?.policy ?? [...rules.deny, ...rules.require, ...rules.allow][0]!.policy;
    pass = {
      step: 'traffic.authorization',
      policy,
      mode: '',
      outcome: 'allow',
      reason: undefined,
      detail: undefined,
      decidedBy,
      rules: [],
    };
    passes.set(key, pass);
  }
  return pass;
}
