// Two policies with one field at one target: the older has it, then the first by name; the other has no say there (GEP-713).
import { create } from '@bufbuild/protobuf';
import type { ProxyPolicy } from '../api/proxy-policy.ts';
import type { Policy } from '../ir/gen/config_pb.ts';
import { PolicyRivalSchema } from '../ir/gen/config_pb.ts';
import { formatName, readCreatedAt } from './order.ts';
import type { PolicyTarget } from './policy-targets.ts';
import { formatTarget } from './policy-targets.ts';

/** A field of a policy that another policy has at the same target. */
export interface PolicyConflict {
  /** namespace/name of the policy that has no say. */
  readonly policy: string;
  /** `traffic.cors` */
  readonly field: string;
  readonly target: PolicyTarget;
  /** namespace/name of the policy that has the field. */
  readonly owner: string;
  /** Why that one: "is older", "comes first by name". */
  readonly because: string;
}

/** A field at a target that a policy has. */
interface Claim {
  readonly policy: ProxyPolicy;
  /** Undefined: nothing of the target is served. */
  message: Policy | undefined;
}

/** The outcome of asking for a field: it is theirs, or why not. */
export type ClaimOutcome =
  | { readonly granted: true; readonly claim: Claim }
  | { readonly granted: false; readonly conflict: PolicyConflict };

/** Gives fields at targets away. Policies ask in the order of their age. */
export class PolicyClaims {
  readonly #claims = new Map<string, Claim>();

  /** Takes the field, unless another policy has it already; its message learns of the rival then. */
  ask(policy: ProxyPolicy, field: string, target: PolicyTarget): ClaimOutcome {
    const place = JSON.stringify([target.namespace, formatTarget(target), field]);
    const known = this.#claims.get(place);
    if (known === undefined) {
      const claim: Claim = { policy, message: undefined };
      this.#claims.set(place, claim);
      return { granted: true, claim };
    }
    const isYounger = readCreatedAt(known.policy) !== readCreatedAt(policy);
    known.message?.rivals.push(create(PolicyRivalSchema, { source: formatName(policy), isYounger }));
    const because = isYounger ? 'is older' : 'comes first by name';
    return {
      granted: false,
      conflict: { policy: formatName(policy), field, target, owner: formatName(known.policy), because },
    };
  }
}

/** The sentence for a status. */
export function formatConflict({ field, target, owner, because }: PolicyConflict): string {
  return `${field} of ${formatTarget(target)} is set by ProxyPolicy ${owner}, which ${because}`;
}
