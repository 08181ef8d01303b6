// The CORS step of the policy chain: answers preflights, puts CORS headers on every other answer.
import { decideCors } from './cors.ts';
import { continueUnchanged, type Verdict } from '../request/verdict.ts';
import type { RouteRequest } from '../request/run-steps.ts';

/** Answers preflights, refuses those from origins that are not allowed, and adds CORS headers to everything else. */
export function applyCors({ context, route }: RouteRequest): Verdict {
  const cors = route.policies['traffic.cors'];
  if (cors === undefined) return continueUnchanged;
  const decision = decideCors(cors, context.exchange.method, context.exchange.headers);
  if (decision.kind === 'preflight') return { kind: 'respond', status: 204, headers: decision.headers, body: '' };
  if (decision.kind === 'actual') return { kind: 'continue', responseHeaders: decision.headers };
  return {
    kind: 'deny',
    reason: 'origin_not_allowed',
    detail: `CORS preflight from ${decision.origin}`,
    responseHeaders: ['vary', 'Origin'],
  };
}
