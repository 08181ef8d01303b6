// The interface of one kind of policy. One file per kind beside this one; policy-translators.ts has them all.
import type { ProxyPolicy } from '../../api/proxy-policy.ts';
import type { Listener, Policy, Route, Secret } from '../../ir/gen/config_pb.ts';
import type { PolicyKind, PolicyMessage } from '../../ir/policy-kinds.ts';
import type { Backends } from '../backends.ts';
import type { Placement } from '../placement.ts';
import type { PolicyTarget } from '../policy-targets.ts';
import type { Secrets } from '../secrets.ts';

/** The spec of a Policy message. */
export type PolicySpec = Exclude<Policy['spec'], { case: undefined }>;

/** What a kind can look at beyond its field. */
export interface FieldSurroundings {
  /** Of the policy. */
  readonly namespace: string;
  readonly placement: Placement;
  readonly secrets: Secrets;
  readonly backends: Backends;
  /** The targets of the policy. */
  readonly targets: readonly PolicyTarget[];
  /** The rules that are served and send requests to a target; for a ProxyBackend only. */
  readonly listRules: (target: PolicyTarget) => readonly Route[];
  /** The older policy that names this URL for a server behind the same Gateway; undefined: none does. */
  readonly findResourceOwner: (resource: string) => string | undefined;
  /** Another policy that has a field at one of the targets and takes precedence there; undefined: this one has it everywhere. */
  readonly findFieldOwner: (kind: PolicyKind) => string | undefined;
  /** A listener of ours by its key. */
  readonly findListener: (key: string) => Listener | undefined;
}

/** The message of a field with what it refers to, or why it cannot be enforced: then everything that the policy targets is closed. */
export type FieldTranslation<Kind extends PolicyKind = PolicyKind> =
  | {
      readonly valid: true;
      readonly message: PolicyMessage<Kind>;
      readonly secrets: readonly Secret[];
      /** Keys of backends. */
      readonly backends: readonly string[];
    }
  /** Each with the field that it is about. */
  | { readonly valid: false; readonly problems: readonly string[] };

/** What a message refers to, by key. */
export interface MessageReferences {
  readonly secrets: readonly string[];
  /** Where keys are fetched from. */
  readonly backends: readonly string[];
}

/** Of messages that refer to nothing. */
export const noReferences: MessageReferences = { secrets: [], backends: [] };

/** The keys that are set. */
export function listSet(keys: readonly (string | undefined)[]): readonly string[] {
  return keys.flatMap((key) => (key === undefined || key === '' ? [] : [key]));
}

/** A field at a path: `traffic.cors` of the spec is `spec.traffic.cors`. */
type FieldAt<Spec, Path> = Path extends `${infer Head}.${infer Rest}`
  ? Head extends keyof Spec
    ? FieldAt<NonNullable<Spec[Head]>, Rest>
    : never
  : Path extends keyof Spec
    ? NonNullable<Spec[Path]>
    : never;

/** The field of a ProxyPolicy that is of a kind. */
export type PolicyField<Kind extends PolicyKind> = FieldAt<ProxyPolicy['spec'], Kind>;

/** One kind of policy. */
export interface PolicyTranslator<Kind extends PolicyKind> {
  readonly translate: (field: PolicyField<Kind>, surroundings: FieldSurroundings) => FieldTranslation<Kind>;
  /** A gateway that gets the message needs these too. */
  readonly listReferences: (message: PolicyMessage<Kind>) => MessageReferences;
}

/** The field of a policy that is of a kind; undefined when the policy does not have it. */
export function readPolicyField<Kind extends PolicyKind>(
  { spec }: ProxyPolicy,
  kind: Kind,
): PolicyField<Kind> | undefined {
  let field: unknown = spec;
  for (const name of kind.split('.')) field = (field as Readonly<Record<string, unknown>> | undefined)?.[name];
  return field as PolicyField<Kind> | undefined;
}
