// What one top-level field of a ProxyPolicy has to provide. One file per field beside this one; ../policies.ts lists them.
import type { ProxyPolicy } from '../../api/proxy-policy.ts';
import type { Policy } from '../../ir/gen/config_pb.ts';

/** The spec of a Policy message. */
export type PolicySpec = Exclude<Policy['spec'], { case: undefined }>;

/** One top-level field: at each level of attachment it is decided by one policy. */
export interface PolicyField {
  /** The field's own name, part of the message's key. */
  readonly name: string;
  /** The spec when the policy has the field. A field that cannot be enforced is a `failure`: its target is closed. */
  readonly translate: (policy: ProxyPolicy) => PolicySpec | undefined;
}
