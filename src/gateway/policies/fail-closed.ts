// A rule, a policy or a backend that cannot be used as configured answers an error. No request is served with fewer policies than configured.
import type { Failure } from '../../ir/gen/config_pb.ts';
import type { BackendConfig, WeightedBackendConfig } from '../config/runtime-config.ts';
import type { Reason } from '../http/reasons.ts';
import { continueUnchanged, type Denial, type Verdict } from '../request/verdict.ts';
import type { RouteRequest } from '../request/run-steps.ts';

/** The step of the route's chain: policies that cannot be enforced, a rule that cannot be served, a rule that may lack its policy or lacks one. */
export function failClosed({ route }: RouteRequest): Verdict {
  const { failure } = route.policies;
  if (failure !== undefined) return denyFailure('policy_invalid', failure.failure, `policy ${failure.source}`);
  if (route.failure !== undefined) return denyFailure('route_invalid', route.failure, `route ${route.key}`);
  const { unprotected } = route;
  if (unprotected !== undefined)
    return denyFailure('policy_unattached', unprotected.failure, `policy ${unprotected.source} protects nothing`);
  if (route.closedByDefault !== undefined)
    return denyFailure('route_unprotected', route.closedByDefault.failure, `route ${route.key}`);
  return continueUnchanged;
}

/** A backend that requests can go to, or why not. */
type UsableBackend =
  | { readonly ok: true; readonly choice: WeightedBackendConfig; readonly backend: BackendConfig }
  | { readonly ok: false; readonly denial: Denial };

/** The chosen backend. A backend that cannot be used as configured answers an error for its share of requests. */
export function findUsableBackend(
  choice: WeightedBackendConfig | undefined,
  backends: ReadonlyMap<string, BackendConfig>,
): UsableBackend {
  if (choice === undefined) return refuse('no backend of the rule has a weight above 0');
  const { failure, policies } = choice;
  if (policies.failure !== undefined) {
    const denial = denyFailure('policy_invalid', policies.failure.failure, `policy ${policies.failure.source}`);
    return { ok: false, denial };
  }
  if (failure !== undefined)
    return { ok: false, denial: denyFailure('backend_invalid', failure, `backend ${choice.backend}`) };
  const backend = backends.get(choice.backend);
  return backend === undefined ? refuse('the backend is no longer configured') : { ok: true, choice, backend };
}

function refuse(detail: string): UsableBackend {
  return { ok: false, denial: { kind: 'deny', reason: 'backend_invalid', detail, responseHeaders: [] } };
}

function denyFailure(reason: Reason, failure: Failure, subject: string): Denial {
  const status = failure.status >= 400 && failure.status <= 599 ? failure.status : 500;
  const code = failure.reason === '' ? '' : ` (${failure.reason})`;
  return { kind: 'deny', reason, status, detail: `${subject}${code}: ${failure.message}`, responseHeaders: [] };
}
