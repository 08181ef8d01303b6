// The order in which policies judge a request. A reader sees it here; each step is a file of its own.
import { applyCors } from './apply-cors.ts';
import { failClosed } from './fail-closed.ts';
import { authenticateJwt } from '../authentication/jwt/authenticate-jwt.ts';
import {
  continueUnchanged,
  type PolicyRequest,
  type PolicyStep,
  type PolicyVerdict,
} from '../request/policy-verdict.ts';

const steps: readonly PolicyStep[] = [
  failClosed, // before anything is answered: what cannot be enforced closes the route, for preflights too
  applyCors, // before authentication: browsers send preflights without credentials, and must be able to read a denial
  authenticateJwt, // who is asking, where the route wants to know; rules come after a backend had the chance to ask as well
];

/**
 * Runs all steps until one answers or denies. Headers that earlier steps put on the answer stay on it in every case.
 * The result is a promise only when a step needed one.
 */
export function runPolicyChain(request: PolicyRequest): PolicyVerdict | Promise<PolicyVerdict> {
  return runSteps(steps, request);
}

/** The chain over any steps. */
export function runSteps(
  chain: readonly PolicyStep[],
  request: PolicyRequest,
  start = 0,
  collected: readonly string[] = [],
): PolicyVerdict | Promise<PolicyVerdict> {
  let responseHeaders = collected;
  for (let index = start; index < chain.length; index += 1) {
    const verdict = chain[index]!(request);
    if (verdict instanceof Promise) {
      const headersSoFar = responseHeaders;
      return verdict.then((late) => {
        const merged = mergeHeaders(headersSoFar, late);
        return merged.kind === 'continue' ? runSteps(chain, request, index + 1, merged.responseHeaders) : merged;
      });
    }
    const merged = mergeHeaders(responseHeaders, verdict);
    if (merged.kind !== 'continue') return merged;
    responseHeaders = merged.responseHeaders;
  }
  return responseHeaders.length === 0 ? continueUnchanged : { kind: 'continue', responseHeaders };
}

function mergeHeaders(collected: readonly string[], verdict: PolicyVerdict): PolicyVerdict {
  if (collected.length === 0) return verdict;
  if (verdict.kind === 'respond') return { ...verdict, headers: [...collected, ...verdict.headers] };
  return { ...verdict, responseHeaders: [...collected, ...verdict.responseHeaders] };
}
