// The authorization step (`spec.traffic.authorization`): rules over the request and the claims of its token. Which rule decided is told
// to the operator and never to the client.
import type { Expression, ExpressionVariables } from '../../cel/expression.ts';
import type { RouteConfig } from '../config/runtime-config.ts';
import type { Decision } from '../request/decision.ts';
import { noteDecision, type RequestContext } from '../request/request-context.ts';
import type { VerifiedToken } from '../authentication/token/verified-token.ts';
import { continueUnchanged, type Verdict } from '../request/verdict.ts';
import type { RouteRequest } from '../request/run-steps.ts';
import { exposeToScripts } from '../authentication/browser-access.ts';
import { decideRules, type RuleApplication } from './decide-rules.ts';
import { describeDenial } from './describe-denial.ts';
import { listOutcomes } from './describe-outcomes.ts';
import { readRequestVariables } from './request-variables.ts';
import type { RuleReference, RuleSet } from '../config/rule-set.ts';
import { findDoubters } from './token-trust.ts';

/** Judges a request after everyone who wants to know has said who is asking. A promise only when rules of other levels have to ask for keys. */
export function authorizeRequest({ context, route }: RouteRequest): Verdict | Promise<Verdict> {
  const { 'traffic.authorization': rules, trust } = route.policies;
  if (rules === undefined) return continueUnchanged;
  // The route's own token speaks first here, the backend's in rules over messages.
  const { jwt, mcp } = context;
  const isOfRoute = jwt?.token !== undefined;
  const { token, text } = (isOfRoute ? jwt : mcp) ?? noToken;
  const anchored = isOfRoute ? trust?.ofRoute : trust?.ofBackend;
  if (text === undefined || anchored === undefined || anchored.length === 0)
    return decide(context, route, rules, token, undefined);
  const doubters = findDoubters(anchored, text);
  if (doubters instanceof Promise) return doubters.then((late) => decide(context, route, rules, token, late));
  return decide(context, route, rules, token, doubters);
}

const noToken = { token: undefined, text: undefined } as const;

function decide(
  context: RequestContext,
  route: RouteConfig,
  rules: RuleSet,
  token: VerifiedToken | undefined,
  doubters: ReadonlySet<Expression> | undefined,
): Verdict {
  const variables = readRequestVariables(context, token);
  const application = doubters === undefined || doubters.size === 0 ? undefined : doubt(doubters, context, variables);
  const decision = decideRules(rules, variables, application);
  const { allowed, decidedBy } = decision;
  if (allowed && !context.explained) {
    noteDecision(context, findPass(rules, decidedBy));
    return continueUnchanged;
  }
  const tokenLocation = route.policies['traffic.jwtAuthentication']?.message.location;
  const outcomes = listOutcomes({ rules, variables, application, tokenLocation });
  if (allowed) {
    noteDecision(context, { ...findPass(rules, decidedBy), rules: outcomes });
    return continueUnchanged;
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
  return { kind: 'deny', reason: 'rbac_denied', detail, responseHeaders: exposeToScripts(context) };
}

/** These expressions see the request without the claims. */
function doubt(
  doubters: ReadonlySet<Expression>,
  context: RequestContext,
  variables: ExpressionVariables,
): RuleApplication {
  const withoutToken = readRequestVariables(context, undefined);
  return {
    applies: () => true,
    skippedAllows: false,
    view: (expression) => (doubters.has(expression) ? withoutToken : variables),
  };
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
