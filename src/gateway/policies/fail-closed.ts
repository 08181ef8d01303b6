// A rule, a policy or a backend that cannot be used as configured answers an error. It never serves less than it was asked to.
import type { Failure } from '../../ir/gen/config_pb.ts';
import type { WeightedBackendConfig } from '../config/runtime-config.ts';
import type { Reason } from '../http/reasons.ts';
import {
  continueUnchanged,
  type PolicyDenial,
  type PolicyRequest,
  type PolicyVerdict,
} from '../request/policy-verdict.ts';

/** The step of the chain: policies that cannot be enforced, then a rule that cannot be served. */
export function failClosed({ route }: PolicyRequest): PolicyVerdict {
  const { failure } = route.policies;
  if (failure !== undefined) return denyFailure('policy_invalid', failure.failure, `policy ${failure.source}`);
  if (route.failure !== undefined) return denyFailure('route_invalid', route.failure, `route ${route.key}`);
  return continueUnchanged;
}

/** Why the chosen backend must not be used; undefined when it may. */
export function findBackendDenial(backend: WeightedBackendConfig): PolicyDenial | undefined {
  if (backend.policies.failure !== undefined) {
    return denyFailure('policy_invalid', backend.policies.failure.failure, `policy ${backend.policies.failure.source}`);
  }
  return backend.failure === undefined
    ? undefined
    : denyFailure('backend_invalid', backend.failure, `backend ${backend.backend}`);
}

function denyFailure(reason: Reason, failure: Failure, subject: string): PolicyDenial {
  const status = failure.status >= 400 && failure.status <= 599 ? failure.status : 500;
  const code = failure.reason === '' ? '' : ` (${failure.reason})`;
  return { kind: 'deny', reason, status, detail: `${subject}${code}: ${failure.message}`, responseHeaders: [] };
}
