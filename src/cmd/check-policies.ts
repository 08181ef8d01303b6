// Policies for `check`: where each is in force, and where another policy with the same field takes precedence.
import type { Resources } from '../api/resources.ts';
import { type Policy, PolicyTargetKind } from '../ir/gen/config_pb.ts';
import { findPolicyKind, type PolicyKind, policyTargetNames } from '../ir/policy-kinds.ts';
import type { PolicyConflict } from '../translate/policy-conflicts.ts';
import type { Translation } from '../translate/translate.ts';

/** A policy, where it is in force, and where it is not. */
export interface CheckedPolicy {
  readonly namespace: string;
  readonly name: string;
  /** `failure`: it closes its target. */
  readonly attachments: readonly {
    readonly field: PolicyKind | 'failure';
    readonly target: string;
    readonly closed: boolean;
  }[];
  /** Fields that another policy has at the same target. */
  readonly conflicts: readonly {
    readonly field: PolicyKind;
    readonly target: string;
    /** namespace/name of the policy that has it. */
    readonly owner: string;
    readonly because: string;
  }[];
}

/** Describes all policies, also those that do not validate. */
export function describePolicies(resources: Resources, { configuration, conflicts }: Translation): CheckedPolicy[] {
  const invalid = resources.invalid.filter(({ kind }) => kind === 'ProxyPolicy');
  const names = [...resources.proxyPolicies.map(({ metadata }) => metadata), ...invalid];
  const attached = Map.groupBy(configuration.policies, ({ source }) => source);
  const lost = Map.groupBy(conflicts, ({ policy }) => policy);
  return [...new Map(names.map(({ namespace, name }) => [`${namespace}/${name}`, { namespace, name }]))].map(
    ([source, identity]) => ({
      ...identity,
      attachments: (attached.get(source) ?? []).filter(isAttached).map((policy) => ({
        field: findPolicyKind(policy) ?? 'failure',
        target: describeMessageTarget(policy),
        closed: policy.spec.case === 'failure',
      })),
      conflicts: (lost.get(source) ?? []).map((conflict) => ({
        field: conflict.field,
        target: describeTarget(conflict.target),
        owner: conflict.owner,
        because: describeReason(conflict),
      })),
    }),
  );
}

/** What closes rules without protection stands for a policy that is attached to nothing. */
function isAttached({ target }: Policy): boolean {
  return target?.kind !== PolicyTargetKind.UNPROTECTED;
}

function describeReason({ owner, because }: PolicyConflict): string {
  return `ProxyPolicy ${owner} ${because}`;
}

function describeMessageTarget({ target }: Policy): string {
  const kind = target === undefined ? undefined : policyTargetNames.get(target.kind);
  if (target === undefined || kind === undefined || kind === 'Unprotected') return 'nothing';
  const { namespace, name, sectionName } = target;
  return describeTarget(kind === 'Namespace' ? { kind, namespace } : { kind, namespace, name, sectionName });
}

/** In the words of the gateway: "Gateway default/public, listener http". */
function describeTarget(target: PolicyConflict['target']): string {
  if (target.kind === 'Namespace') return `everything in Namespace ${target.namespace}`;
  const { kind, namespace, name, sectionName } = target;
  const section = kind === 'Gateway' ? 'listener' : 'rule';
  return `${kind} ${namespace}/${name}${sectionName === '' ? '' : `, ${section} ${sectionName}`}`;
}
