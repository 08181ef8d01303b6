// The authorization step (`spec.traffic.authorization`): rules over the request and the claims of its token. The operator learns which
// rule decided; the client does not.
import type { Expression, ExpressionVariables } from '../../cel/expression.ts';
import type { RouteConfig } from '../config/runtime-config.ts';
import type { Decision } from '../request/decision.ts';
import { noteDecision, type RequestContext } from '../request/request-context.ts';
import type { VerifiedToken } from '../authentication/token/verified-token.ts';
import { continueUnchanged, type Verdict } from '../request/verdict.ts';
import type { RouteRequest } from '../request/run-steps.ts';
import { exposeToScripts } from '../authentication/browser-access.ts';
import { decideRules, listRules, type RuleApplication } from './decide-rules.ts';
import { describeDenial } from './describe-denial.ts';
import { listOutcomes } from './describe-outcomes.ts';
import { readRequestVariables } from './request-variables.ts';
import type { RuleReference, RuleSet } from '../config/rule-set.ts';
import { findDistrustfulExpressions } from './token-trust.ts';

/** Judges a request after all authentication steps. Returns a promise only when rules of other levels wait for keys. */
export function authorizeRequest({ context, route }: RouteRequest): Verdict | Promise<Verdict> {
  const { 'traffic.authorization': rules, trust } = route.policies;
  if (rules === undefined) return continueUnchanged;
  // The token of the route's JWT authentication takes precedence here; in rules over messages the backend's does.
  const { jwt, mcp } = context;
  const isOfRoute = jwt?.token !== undefined;
  const { token, text } = (isOfRoute ? jwt : mcp) ?? noToken;
  const anchored = isOfRoute ? trust?.ofRoute : trust?.ofBackend;
  if (text === undefined || anchored === undefined || anchored.length === 0)
    return decide(context, route, rules, token, undefined);
  const distrustful = findDistrustfulExpressions(anchored, text);
  if (distrustful instanceof Promise) return distrustful.then((late) => decide(context, route, rules, token, late));
  return decide(context, route, rules, token, distrustful);
}

const noToken = { token: undefined, text: undefined } as const;

function decide(
  context: RequestContext,
  route: RouteConfig,
  rules: RuleSet,
  token: VerifiedToken | undefined,
  distrustful: ReadonlySet<Expression> | undefined,
): Verdict {
  const variables = readRequestVariables(context, token);
  const application =
    distrustful === undefined || distrustful.size === 0 ? undefined : hideClaimsFrom(distrustful, context, variables);
  const decision = decideRules(rules, variables, application);
  const { allowed, decidedBy } = decision;
  if (allowed && !context.explained) {
    noteDecision(context, findAllowDecision(rules, decidedBy));
    return continueUnchanged;
  }
  const tokenLocation = route.policies['traffic.jwtAuthentication']?.message.location;
  const outcomes = listOutcomes({ rules, variables, application, tokenLocation });
  if (allowed) {
    noteDecision(context, { ...findAllowDecision(rules, decidedBy), rules: outcomes });
    return continueUnchanged;
  }
  const detail = describeDenial(rules, decision, outcomes);
  noteDecision(context, {
    step: 'traffic.authorization',
    policy: (decidedBy ?? decision.unmatchedOverride ?? rules.allow[0]!).policy,
    mode: '',
    outcome: 'deny',
    reason: 'rbac_denied',
    detail,
    decidedBy,
    rules: outcomes,
  });
  return { kind: 'deny', reason: 'rbac_denied', detail, responseHeaders: exposeToScripts(context) };
}

/** Hides the claims from expressions that do not trust the token. */
function hideClaimsFrom(
  distrustful: ReadonlySet<Expression>,
  context: RequestContext,
  variables: ExpressionVariables,
): RuleApplication {
  const withoutToken = readRequestVariables(context, undefined);
  return {
    applies: () => true,
    skippedAllows: false,
    view: (expression) => (distrustful.has(expression) ? withoutToken : variables),
  };
}

/** Allow decisions, created once each: by the expression that allowed, or by the rule set when no Allow rule was needed. */
const allowDecisions = new WeakMap<RuleReference | RuleSet, Decision>();

function findAllowDecision(rules: RuleSet, decidedBy: RuleReference | undefined): Decision {
  const key = decidedBy ?? rules;
  let pass = allowDecisions.get(key);
  if (pass === undefined) {
    const policy = decidedBy?.policy ?? listRules(rules)[0]!.policy;
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
    allowDecisions.set(key, pass);
  }
  return pass;
}
