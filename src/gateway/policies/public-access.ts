// The step of `spec.traffic.publicAccess`: asks nothing of anybody, and notes that the route is open on purpose.
import type { Decision } from '../request/decision.ts';
import { noteDecision } from '../request/request-context.ts';
import type { RouteRequest } from '../request/run-steps.ts';
import { continueUnchanged, type Verdict } from '../request/verdict.ts';
import type { PublicAccess } from '../config/runtime-config.ts';

/** Notes which policy opened the route. */
export function notePublicAccess({ context, route }: RouteRequest): Verdict {
  const config = route.policies['traffic.publicAccess'];
  if (config !== undefined) noteDecision(context, findDecision(config));
  return continueUnchanged;
}

/** Created once each. */
const decisions = new WeakMap<PublicAccess, Decision>();

function findDecision(config: PublicAccess): Decision {
  let decision = decisions.get(config);
  if (decision === undefined) {
    decision = {
      step: 'traffic.publicAccess',
      policy: config.source,
      mode: '',
      outcome: 'allow',
      reason: undefined,
      detail: undefined,
      decidedBy: undefined,
      rules: [],
    };
    decisions.set(config, decision);
  }
  return decision;
}
