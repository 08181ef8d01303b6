// What one top-level field of a ProxyPolicy has to provide. One file per field beside this one; ../policies.ts lists them.
import type { ProxyPolicy } from '../../api/proxy-policy.ts';
import type { Listener, Policy, Route, Secret } from '../../ir/gen/config_pb.ts';
import type { Backends } from '../backends.ts';
import type { PolicyTarget } from '../policy-targets.ts';
import type { Secrets } from '../secrets.ts';

/** The spec of a Policy message. */
export type PolicySpec = Exclude<Policy['spec'], { case: undefined }>;

/** What a field can look at beyond its policy. */
export interface FieldSurroundings {
  readonly secrets: Secrets;
  readonly backends: Backends;
  /** The targets of the policy. */
  readonly targets: readonly PolicyTarget[];
  /** The rules that are served and send requests to a target; for a ProxyBackend only. */
  readonly listRules: (target: PolicyTarget) => readonly Route[];
  /** The older policy that names this URL for a server behind the same Gateway; undefined: none does. */
  readonly findResourceOwner: (resource: string) => string | undefined;
  /** A listener of ours by its key. */
  readonly findListener: (key: string) => Listener | undefined;
}

/** The message of a field with what it refers to, or why it cannot be enforced: then everything that the policy targets is closed. */
export type FieldTranslation =
  | {
      readonly valid: true;
      readonly spec: Exclude<PolicySpec, { case: 'failure' }>;
      readonly secrets: readonly Secret[];
      /** Keys of backends. */
      readonly backends: readonly string[];
    }
  /** Each with the field that it is about. */
  | { readonly valid: false; readonly problems: readonly string[] };

/** One top-level field: at each level of attachment it is decided by one policy. */
export interface PolicyField {
  /** The field's own name, part of the message's key. */
  readonly name: string;
  /** As people write it: `traffic.cors`. */
  readonly path: string;
  /** Whether it refuses requests: without it more of them would pass. */
  readonly isGuard: boolean;
  /** Whether the policy has the field. */
  readonly isSet: (policy: ProxyPolicy) => boolean;
  /** Undefined when the policy does not have the field. */
  readonly translate: (policy: ProxyPolicy, surroundings: FieldSurroundings) => FieldTranslation | undefined;
}
