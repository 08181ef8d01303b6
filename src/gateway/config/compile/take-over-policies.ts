// Compiles policies incrementally: the result equals a full compilation, but only changed policies are compiled.
import type { Policy } from '../../../ir/gen/config_pb.ts';
import { isAuthenticationKind } from '../../../ir/policy-kinds.ts';
import type { PolicySurroundings } from './compile-mcp-authentication.ts';
import { type CompiledPolicy, isStillValid, type PolicyCompiler } from './compile-policy.ts';
import { findSameEnds } from './list-difference.ts';

/** Results of the previous compilation. */
export interface KnownPolicies {
  readonly policies: readonly Policy[];
  /** One for each of them. */
  readonly compiled: readonly CompiledPolicy[];
  /** Those that depend on more than their own message. */
  readonly dependent: readonly CompiledPolicy[];
  /** Acquired connections in use. Others may have been closed. */
  readonly acquired: ReadonlySet<unknown>;
}

export interface TakenPolicies {
  readonly compiled: readonly CompiledPolicy[];
  /** The targets whose policies are not all the same as before. */
  readonly affected: ReadonlySet<string>;
}

/** Compiles policies that changed or refer to something that changed. Both lists are in the order of their keys. */
export function takeOverPolicies(
  policies: readonly Policy[],
  known: KnownPolicies,
  surroundings: PolicySurroundings,
  compiler: PolicyCompiler,
): TakenPolicies {
  const stale = new Set(known.dependent.filter((each) => !isStillValid(each, surroundings)));
  const { start, end } = findSameEnds(policies, known.policies);
  const affected = new Set<string>();
  const fresh = new Set<CompiledPolicy>();
  const between = new Map<Policy, CompiledPolicy>();
  for (let index = start; index < known.policies.length - end; index += 1)
    between.set(known.policies[index]!, known.compiled[index]!);

  const compiled = policies.map((policy, index) => {
    const isBetween = index >= start && index < policies.length - end;
    const before = isBetween
      ? between.get(policy)
      : known.compiled[index < start ? index : index - policies.length + known.policies.length]!;
    if (before !== undefined && !stale.has(before)) {
      between.delete(policy);
      return before;
    }
    const made = compiler.compile(policy);
    fresh.add(made);
    affected.add(made.target);
    return made;
  });
  // The rest was removed or replaced by another object.
  for (const { target } of between.values()) affected.add(target);

  // Connections of overridden policies may have been closed. A policy that may now apply has to acquire its connection again.
  const usable = compiled.map((each, index) => {
    const { kind, placed, target } = each;
    if (kind === 'failure' || !isAuthenticationKind(kind)) return each;
    if (!affected.has(target) || fresh.has(each) || known.acquired.has(placed.value)) return each;
    return compiler.compile(policies[index]!);
  });
  return { compiled: usable, affected };
}
