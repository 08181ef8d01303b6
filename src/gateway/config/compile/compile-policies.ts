// Policy messages -> what applies to one rule on one listener, or to one backend. Levels: Gateway < listener < HTTPRoute < rule;
// the more specific policy wins per field, unless there is an Override: then the less specific Override wins. A policy that cannot be
// enforced wins at every level: its target fails closed.
import { orderByPrecedence } from '../../../ir/anonymous-access.ts';
import type { Policy } from '../../../ir/gen/config_pb.ts';
import {
  allPolicyKinds,
  type AuthenticationKind,
  authenticationKinds,
  backendPolicyKinds,
  exclusivePolicyKinds,
  findPolicyKind,
  type PolicyKind,
  type RoutePolicyKind,
  policyKinds,
  routePolicyKinds,
} from '../../../ir/policy-kinds.ts';
import type { JwtAuthenticationConfig } from '../jwt-authentication-config.ts';
import type { PolicyConflict, PolicyPlace, PolicyProvenance } from '../policy-level.ts';
import type { PolicySurroundings } from './compile-mcp-authentication.ts';
import { arrangeTrust } from '../../authorization/token-trust.ts';
import { collectRules } from './compile-authorization.ts';
import {
  type CompiledPolicy,
  describePlace,
  formatAnonymousTarget,
  isStillValid,
  type Placed,
  PolicyCompiler,
  readNamespace,
  type TargetSettings,
  unprotectedTarget,
} from './compile-policy.ts';
import type { ReportProblem } from './compile-problem.ts';
import { type KnownPolicies, type TakenPolicies, takeOverPolicies } from './take-over-policies.ts';
import type {
  BackendPolicies,
  ExclusivePolicies,
  KeyUser,
  PolicyConfigs,
  PolicyFailure,
  RoutePolicies,
} from '../runtime-config.ts';

/** All settings of one target. Of two policies of the same kind the first by key wins; translation refuses the other. */
type TargetPolicies = { readonly [Kind in keyof TargetSettings]?: Placed<TargetSettings[Kind]> };

/** The same during collection: each policy's kind determines the type of its value. */
type CollectedSettings = { -readonly [Kind in keyof TargetSettings]?: Placed<TargetSettings[keyof TargetSettings]> };

/** A rule and the listener that serves it, as a lookup key. */
export interface RuleOnListener {
  /** namespace/name */
  readonly gateway: string;
  readonly listenerName: string;
  /** namespace/name */
  readonly httpRoute: string;
  readonly ruleName: string;
}

/** The policies of a rule, and the lookup that found them. */
export interface FoundPolicies {
  /** The lookup keys of the levels, from the most specific to the least. */
  readonly targets: readonly string[];
  readonly levels: readonly (TargetPolicies | undefined)[];
  readonly policies: RoutePolicies;
  /** What the rule answers if nothing protects it; undefined: it is served then. */
  readonly ifUnprotected: PolicyFailure | undefined;
  /** What the rule answers if a request without a token can pass it; undefined: it is served then. */
  readonly ifAnonymous: PolicyFailure | undefined;
}

/** The index of all policies, given in the order of their keys. Returns the previous index when nothing changed. */
export function indexPolicies(
  policies: readonly Policy[],
  surroundings: PolicySurroundings,
  report: ReportProblem,
  before: PolicyIndex | undefined,
): PolicyIndex {
  const index =
    before?.holdsFor(policies, surroundings) === true ? before : new PolicyIndex(policies, surroundings, before);
  for (const [key, message] of index.problems) report(key, message);
  return index;
}

/** All policies of a configuration by their target. */
export class PolicyIndex {
  readonly #policies: readonly Policy[];
  /** One for each policy. */
  readonly #compiled: readonly CompiledPolicy[];
  readonly #sources: Pick<PolicySurroundings, 'acquireAuthentication' | 'acquireJwtAuthentication'>;
  readonly #targets: Map<string, TargetPolicies>;
  /** Acquired connections in use: they stay open as long as this index is the latest. */
  readonly #acquired = new Set<unknown>();
  /** Policies that depend on more than their own message. */
  readonly #dependent: CompiledPolicy[] = [];
  readonly #mcpAuthorizationKeys: string[] = [];
  /** Policies that cannot be enforced as they are. */
  readonly problems: (readonly [key: string, message: string])[] = [];
  /** Policies that lose against another policy at the same target. */
  readonly conflicts: readonly PolicyConflict[];

  /**
   * Takes policies in the order of their keys. A policy that cannot be compiled is a problem and closes its target. Unchanged parts are
   * reused from the previous index.
   */
  constructor(policies: readonly Policy[], surroundings: PolicySurroundings, before?: PolicyIndex) {
    const { acquireAuthentication, acquireJwtAuthentication } = surroundings;
    this.#policies = policies;
    this.#sources = { acquireAuthentication, acquireJwtAuthentication };
    const compiler = new PolicyCompiler(surroundings);
    const known = before?.usesSameSources(surroundings) === true ? before : undefined;
    if (known === undefined) {
      this.#compiled = policies.map((policy) => compiler.compile(policy));
      this.#targets = collectTargets(this.#compiled);
    } else {
      const taken = takeOverPolicies(policies, known.#describe(), surroundings, compiler);
      this.#compiled = taken.compiled;
      this.#targets = replaceTargets(known.#targets, taken);
    }
    this.#compiled.forEach((compiled, index) => this.#note(policies[index]!, compiled));
    for (const key of this.#mcpAuthorizationKeys) surroundings.mcpAuthorizations?.keep(key);
    for (const kind of authenticationKinds) for (const { value } of this.#listPlaced(kind)) this.#acquired.add(value);
    this.conflicts = policies.filter(({ rivals }) => rivals.length > 0).flatMap(listConflicts);
  }

  #describe(): KnownPolicies {
    return {
      policies: this.#policies,
      compiled: this.#compiled,
      dependent: this.#dependent,
      acquired: this.#acquired,
    };
  }

  #note(policy: Policy, compiled: CompiledPolicy): void {
    const { problems, secretReads, backendReads, mcpAuthorizationKey, shouldRetry } = compiled;
    for (const problem of problems) this.problems.push([policy.key, problem]);
    if (shouldRetry || secretReads.size > 0 || backendReads.size > 0) this.#dependent.push(compiled);
    if (mcpAuthorizationKey !== undefined) this.#mcpAuthorizationKeys.push(mcpAuthorizationKey);
  }

  /** Whether an index of these policies would be the same as this one. */
  holdsFor(policies: readonly Policy[], surroundings: PolicySurroundings): boolean {
    const holds =
      policies === this.#policies &&
      this.usesSameSources(surroundings) &&
      this.#dependent.every((compiled) => isStillValid(compiled, surroundings));
    if (holds) for (const key of this.#mcpAuthorizationKeys) surroundings.mcpAuthorizations?.keep(key);
    return holds;
  }

  /** Whether this index and one with these surroundings acquire connections from the same sources. */
  usesSameSources({ acquireAuthentication, acquireJwtAuthentication }: PolicySurroundings): boolean {
    return (
      this.#sources.acquireAuthentication === acquireAuthentication &&
      this.#sources.acquireJwtAuthentication === acquireJwtAuthentication
    );
  }

  /** What applies to a rule where one listener serves it. */
  findForRule(rule: RuleOnListener): RoutePolicies {
    return this.lookUpRule(rule).policies;
  }

  /** The same, with the data that `wouldFind` needs later. */
  lookUpRule(rule: RuleOnListener): FoundPolicies {
    const targets = [
      ...(rule.ruleName === '' ? [] : [`HTTPRoute/${rule.httpRoute}#${rule.ruleName}`]),
      `HTTPRoute/${rule.httpRoute}#`,
      `Gateway/${rule.gateway}#${rule.listenerName}`,
      `Gateway/${rule.gateway}#`,
      `Namespace/${readNamespace(rule.httpRoute)}`,
      `Namespace/${readNamespace(rule.gateway)}`,
    ];
    const levels = targets.map((target) => this.#targets.get(target));
    const closing = [unprotectedTarget, formatAnonymousTarget(''), formatAnonymousTarget(rule.gateway)];
    const [unprotected, anonymous, ofGateway] = closing.map((target) => this.#targets.get(target));
    return {
      targets: [...targets, ...closing],
      levels: [...levels, unprotected, anonymous, ofGateway],
      policies: mergeLevels(levels.filter((level) => level !== undefined)),
      ifUnprotected: unprotected?.failure?.value,
      ifAnonymous: (anonymous ?? ofGateway)?.failure?.value,
    };
  }

  /** Whether a lookup from an earlier index would have the same result in this one. */
  wouldFind({ targets, levels }: FoundPolicies): boolean {
    for (let index = 0; index < targets.length; index += 1)
      if (this.#targets.get(targets[index]!) !== levels[index]) return false;
    return true;
  }

  /** What applies to a backend, by its key. Only a ProxyBackend can be the target of a policy. */
  findForBackend(backend: string): BackendPolicies {
    const [kind, namespace = ''] = backend.split('/');
    if (kind !== 'ProxyBackend') return noBackendPolicies;
    const own = this.#targets.get(backend);
    const failure = own?.failure ?? this.#targets.get(`Namespace/${namespace}`)?.failure;
    return own === undefined && failure === undefined ? noBackendPolicies : createBackendPolicies(own, failure?.value);
  }

  /** All of a kind that apply to something, each once. */
  list<Kind extends PolicyKind>(kind: Kind): readonly PolicyConfigs[Kind][] {
    return [...new Set(this.#listPlaced(kind).map(({ value }) => value))];
  }

  /** The policies that need keys of an identity provider. */
  listKeyUsers(): readonly KeyUser[] {
    return authenticationKinds.flatMap((kind) => this.#listKeyUsers(kind));
  }

  #listKeyUsers(kind: AuthenticationKind): readonly KeyUser[] {
    return this.#listPlaced(kind).map(({ key, value }) => ({ policy: key, kind, config: value }) as KeyUser);
  }

  #listPlaced<Kind extends PolicyKind>(kind: Kind): readonly Placed<PolicyConfigs[Kind]>[] {
    const placed: Placed<PolicyConfigs[Kind]>[] = [];
    for (const target of this.#targets.values()) {
      const each: Placed<PolicyConfigs[Kind]> | undefined = target[kind];
      if (each !== undefined) placed.push(each);
    }
    return placed;
  }
}

function collectTargets(compiled: Iterable<CompiledPolicy>): Map<string, TargetPolicies> {
  const targets = new Map<string, CollectedSettings>();
  for (const { target, kind, placed } of compiled) {
    const settings = targets.get(target);
    if (settings === undefined) targets.set(target, { [kind]: placed });
    // The first stays.
    else settings[kind] ??= placed;
  }
  return targets as Map<string, TargetPolicies>;
}

/** Replaces affected targets only; a target with an equal result keeps its object. */
function replaceTargets(
  before: ReadonlyMap<string, TargetPolicies>,
  { compiled, affected }: TakenPolicies,
): Map<string, TargetPolicies> {
  const targets = new Map(before);
  const collected = collectTargets(compiled.filter(({ target }) => affected.has(target)));
  for (const target of affected) {
    const previous = before.get(target);
    const settings = collected.get(target);
    if (settings === undefined) targets.delete(target);
    else if (previous === undefined || !areSame(previous, settings, allPolicyKinds)) targets.set(target, settings);
  }
  return targets;
}

/** Whether two backends, or one backend before and after a change, have the same policies. */
export function arePoliciesSame(left: BackendPolicies, right: BackendPolicies): boolean {
  return left === right || areSame(left, right, backendPolicyKinds);
}

type Settings<Kind extends PolicyKind> = { readonly [Each in Kind | 'failure']?: unknown };

function areSame<Kind extends PolicyKind>(
  left: Settings<Kind>,
  right: Settings<Kind>,
  kinds: readonly Kind[],
): boolean {
  if (left.failure !== right.failure) return false;
  for (const kind of kinds) if (left[kind] !== right[kind]) return false;
  return true;
}

function mergeLevels(levels: readonly TargetPolicies[]): RoutePolicies {
  if (levels.length === 0) return noPolicies;
  const exclusive = takeWinners(levels);
  const authentications = listByPrecedence(levels, 'traffic.jwtAuthentication').map(({ value }) => value);
  return {
    failure: levels.find(({ failure }) => failure !== undefined)?.failure?.value,
    ...exclusive,
    identityHeaders: listIdentityHeaders(authentications, exclusive['traffic.jwtAuthentication']),
    // Rules of all levels apply; the most specific ones are evaluated first.
    'traffic.authorization': collectRules(levels.flatMap((level) => level['traffic.authorization']?.value ?? [])),
    trust: arrangeTrust(
      levels.map((level) => ({
        jwt: level['traffic.jwtAuthentication']?.value,
        rule: level['traffic.authorization']?.value,
      })),
      // Where public access takes its place, rules still trust no other tokens than before.
      exclusive['traffic.jwtAuthentication'] ?? authentications[0],
    ),
    provenance: listProvenance(levels),
  };
}

function takeWinners(levels: readonly TargetPolicies[]): ExclusivePolicies {
  const { loser } = contestAccess(levels);
  const entries = exclusivePolicyKinds.map(
    (kind) => [kind, kind === loser?.kind ? undefined : listByPrecedence(levels, kind)[0]?.value] as const,
  );
  return Object.fromEntries(entries) as unknown as ExclusivePolicies;
}

interface AccessContest {
  /** The kind that has no effect, and the place of the policy of the other kind; undefined: there are not both. */
  readonly loser:
    | { readonly kind: 'traffic.publicAccess' | 'traffic.jwtAuthentication'; readonly to: PolicyPlace }
    | undefined;
}

/**
 * A rule asks for a token or is public: of the two the more specific one wins. An Override of authentication wins anyway, and so does authentication of the same
 * level.
 */
function contestAccess(levels: readonly TargetPolicies[]): AccessContest {
  const publicAt = levels.findIndex((level) => level['traffic.publicAccess'] !== undefined);
  const [authentication] = listByPrecedence(levels, 'traffic.jwtAuthentication');
  if (publicAt === -1 || authentication === undefined) return { loser: undefined };
  const asksAt = levels.findIndex((level) => level['traffic.jwtAuthentication'] !== undefined);
  const isPublic = authentication.place.isOverride !== true && publicAt < asksAt;
  return {
    loser: isPublic
      ? { kind: 'traffic.jwtAuthentication', to: levels[publicAt]!['traffic.publicAccess']!.place }
      : { kind: 'traffic.publicAccess', to: authentication.place },
  };
}

/** The settings of a kind: Overrides from the least specific level to the most, then the others from the most specific to the least (GEP-713). */
function listByPrecedence<Kind extends RoutePolicyKind>(
  levels: readonly TargetPolicies[],
  kind: Kind,
): readonly Placed<PolicyConfigs[Kind]>[] {
  const placed = levels.flatMap((level): readonly Placed<PolicyConfigs[Kind]>[] => {
    const each: Placed<PolicyConfigs[Kind]> | undefined = level[kind];
    return each === undefined ? [] : [each];
  });
  return orderByPrecedence(placed, ({ place }) => place.isOverride === true);
}

function createBackendPolicies(own: TargetPolicies | undefined, failure: BackendPolicies['failure']): BackendPolicies {
  const settings = Object.fromEntries(backendPolicyKinds.map((kind) => [kind, own?.[kind]?.value]));
  return { failure, ...settings } as unknown as BackendPolicies;
}

/** A policy that closes its target reports no conflicts. */
function listConflicts(policy: Policy): readonly PolicyConflict[] {
  const field = findPolicyKind(policy);
  if (field === undefined) return [];
  const owner = describePlace(policy);
  return policy.rivals.map(({ source, isYounger, isDefault }) => ({
    policy: source,
    field,
    owner,
    because: isDefault ? 'is an Override' : isYounger ? 'is older' : 'comes first by name',
  }));
}

/** The policies of a rule without any. */
export const noPolicies: RoutePolicies = {
  failure: undefined,
  ...takeWinners([]),
  identityHeaders: undefined,
  'traffic.authorization': undefined,
  trust: undefined,
  provenance: [],
};

/** The policies of a backend without any. */
export const noBackendPolicies: BackendPolicies = createBackendPolicies(undefined, undefined);

/** A backend may trust a header that a policy of a higher level names, even where that policy is overridden. */
function listIdentityHeaders(
  levels: readonly JwtAuthenticationConfig[],
  winner: JwtAuthenticationConfig | undefined,
): ReadonlySet<string> | undefined {
  const names = levels.filter((level) => level !== winner).flatMap(({ claimHeaders }) => [...claimHeaders]);
  if (names.every((name) => winner?.claimHeaders.has(name) === true)) return undefined;
  return new Set([...(winner?.claimHeaders ?? []), ...names]);
}

/** By precedence: the policy that sets each field, and the policies that it overrides. */
function listProvenance(levels: readonly TargetPolicies[]): readonly PolicyProvenance[] {
  const { loser } = contestAccess(levels);
  return routePolicyKinds.flatMap((field) => {
    const places = listByPrecedence(levels, field).map(({ place }) => place);
    const isExclusive = policyKinds[field].levels === 'most-specific';
    return places.map((place, index): PolicyProvenance => {
      const winner = field === loser?.kind ? loser.to : isExclusive && index > 0 ? places[0] : undefined;
      return { ...place, field, overriddenBy: winner };
    });
  });
}
