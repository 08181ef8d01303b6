// The JWT step of the policy chain (`spec.traffic.jwtAuthentication`, RFC 6750, RFC 7519): a valid token, or the answer that says why not.
import { continueUnchanged, type PolicyRequest, type PolicyVerdict } from '../policy-verdict.ts';

/** Judges the token of a request where the route wants one. A promise only when keys are under way. */
export function authenticateJwt({ route }: PolicyRequest): PolicyVerdict | Promise<PolicyVerdict> {
  const { jwt } = route.policies;
  if (jwt === undefined) return continueUnchanged;
  return { kind: 'deny', reason: 'policy_invalid', detail: 'not supported yet', responseHeaders: [] };
}
