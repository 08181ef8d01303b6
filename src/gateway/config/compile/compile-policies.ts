// Policy messages -> what applies to one rule on one listener, or to one backend. Levels: Gateway < listener < HTTPRoute < rule;
// the more specific policy wins per field. A policy that cannot be enforced wins at every level: its target fails closed.
import type { Policy } from '../../../ir/gen/config_pb.ts';
import type { MessageRules } from '../message-rules.ts';
import type { JwtAuthenticationConfig } from '../jwt-authentication-config.ts';
import type { McpAuthenticationConfig } from '../protected-resource.ts';
import type { PolicyConflict, PolicyFieldName, PolicyPlace, PolicyProvenance } from '../policy-level.ts';
import type { PolicySurroundings } from './compile-authentication.ts';
import { arrangeTrust } from '../../authorization/token-trust.ts';
import { collectRules } from './compile-authorization.ts';
import {
  type CompiledPolicy,
  describePlace,
  isStillTrue,
  type Placed,
  PolicyCompiler,
  type PolicyFailure,
  type PolicyFields,
  readNamespace,
} from './compile-policy.ts';
import type { ReportProblem } from './compile-problem.ts';
import { type KnownPolicies, type TakenPolicies, takeOverPolicies } from './take-over-policies.ts';
import type { KeyUser, RoutePolicies } from '../runtime-config.ts';

/** Everything that is set for one target. Of two policies for the same field the first by key stays; translation refuses the other. */
type TargetPolicies = { readonly [Field in keyof PolicyFields]?: Placed<PolicyFields[Field]> };

/** The same while it is put together: a policy says which field it is, so the value fits. */
type CollectedFields = { -readonly [Field in keyof PolicyFields]?: Placed<PolicyFields[keyof PolicyFields]> };

const allFields = [
  'failure',
  'cors',
  'jwt',
  'authorization',
  'authentication',
  'messageRules',
] as const satisfies readonly (keyof PolicyFields)[];

/** Fields that the most specific level decides alone. */
const exclusiveFields = [
  ['cors', 'traffic.cors'],
  ['jwt', 'traffic.jwtAuthentication'],
] as const;

/** The rule and the listener that serves it there, for a lookup. */
export interface RuleOnListener {
  /** namespace/name */
  readonly gateway: string;
  readonly listenerName: string;
  /** namespace/name */
  readonly httpRoute: string;
  readonly ruleName: string;
}

/** What applies to a rule, and what it was found by. */
export interface FoundPolicies {
  /** Under what the levels were looked up, from the most specific to the least. */
  readonly targets: readonly string[];
  readonly levels: readonly (TargetPolicies | undefined)[];
  readonly policies: RoutePolicies;
}

/** The index of all policies, given in the order of their keys: the one before, when it would come out the same. */
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
  /** What came from outside and is in use: nobody closes it as long as this index is the latest. */
  readonly #acquired = new Set<unknown>();
  /** Policies that depend on more than their own message. */
  readonly #dependent: CompiledPolicy[] = [];
  readonly #messageRulesKeys: string[] = [];
  /** Policies that cannot be enforced as they are. */
  readonly problems: (readonly [key: string, message: string])[] = [];
  /** Policies that have no say somewhere. */
  readonly conflicts: readonly PolicyConflict[];

  /**
   * Takes policies in the order of their keys. One that cannot be compiled is a problem and closes its target. Of the index before it
   * everything is taken over that would come out the same.
   */
  constructor(policies: readonly Policy[], surroundings: PolicySurroundings, before?: PolicyIndex) {
    const { acquireAuthentication, acquireJwtAuthentication } = surroundings;
    this.#policies = policies;
    this.#sources = { acquireAuthentication, acquireJwtAuthentication };
    const compiler = new PolicyCompiler(surroundings);
    const known = before?.isFromTheSameSources(surroundings) === true ? before : undefined;
    if (known === undefined) {
      this.#compiled = policies.map((policy) => compiler.compile(policy));
      this.#targets = collectTargets(this.#compiled);
    } else {
      const taken = takeOverPolicies(policies, known.#describe(), surroundings, compiler);
      this.#compiled = taken.compiled;
      this.#targets = replaceTargets(known.#targets, taken);
    }
    this.#compiled.forEach((compiled, index) => this.#note(policies[index]!, compiled));
    for (const key of this.#messageRulesKeys) surroundings.messageRules?.keep(key);
    for (const { jwt, authentication } of this.#targets.values()) {
      if (jwt !== undefined) this.#acquired.add(jwt.value);
      if (authentication !== undefined) this.#acquired.add(authentication.value);
    }
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
    const { problems, secretReads, backendReads, messageRulesKey, isWorthAnotherTry } = compiled;
    for (const problem of problems) this.problems.push([policy.key, problem]);
    if (isWorthAnotherTry || secretReads.size > 0 || backendReads.size > 0) this.#dependent.push(compiled);
    if (messageRulesKey !== undefined) this.#messageRulesKeys.push(messageRulesKey);
  }

  /** Whether an index of these policies would be the same as this one. */
  holdsFor(policies: readonly Policy[], surroundings: PolicySurroundings): boolean {
    const holds =
      policies === this.#policies &&
      this.isFromTheSameSources(surroundings) &&
      this.#dependent.every((compiled) => isStillTrue(compiled, surroundings));
    if (holds) for (const key of this.#messageRulesKeys) surroundings.messageRules?.keep(key);
    return holds;
  }

  /** Whether what is acquired by this index and by one with these surroundings lives in the same place. */
  isFromTheSameSources({ acquireAuthentication, acquireJwtAuthentication }: PolicySurroundings): boolean {
    return (
      this.#sources.acquireAuthentication === acquireAuthentication &&
      this.#sources.acquireJwtAuthentication === acquireJwtAuthentication
    );
  }

  /** What applies to a rule where one listener serves it. */
  findForRule(rule: RuleOnListener): RoutePolicies {
    return this.lookUpRule(rule).policies;
  }

  /** The same, with what it takes to know later whether it still holds. */
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
    return { targets, levels, policies: mergeLevels(levels.filter((level) => level !== undefined)) };
  }

  /** Whether a lookup in an earlier index would find the very same in this one. */
  wouldFind({ targets, levels }: FoundPolicies): boolean {
    for (let index = 0; index < targets.length; index += 1)
      if (this.#targets.get(targets[index]!) !== levels[index]) return false;
    return true;
  }

  /** Why a backend must not be used, by its key. Only a ProxyBackend can be the target of a policy. */
  findForBackend(backend: string): PolicyFailure | undefined {
    const [kind, namespace = ''] = backend.split('/');
    if (kind !== 'ProxyBackend') return undefined;
    return (this.#targets.get(backend)?.failure ?? this.#targets.get(`Namespace/${namespace}`)?.failure)?.value;
  }

  /** Who protects a backend, by its key. */
  findAuthentication(backend: string): McpAuthenticationConfig | undefined {
    return this.#targets.get(backend)?.authentication?.value;
  }

  /** The rules over messages to a backend, by its key. */
  findMessageRules(backend: string): MessageRules | undefined {
    return this.#targets.get(backend)?.messageRules?.value;
  }

  /** All that protect something, each once. */
  listAuthentications(): readonly McpAuthenticationConfig[] {
    const found = new Set<McpAuthenticationConfig>();
    for (const { authentication } of this.#targets.values())
      if (authentication !== undefined) found.add(authentication.value);
    return [...found];
  }

  /** All that protect something, each once. */
  listJwtAuthentications(): readonly JwtAuthenticationConfig[] {
    const found = new Set<JwtAuthenticationConfig>();
    for (const { jwt } of this.#targets.values()) if (jwt !== undefined) found.add(jwt.value);
    return [...found];
  }

  /** The policies that need keys of an identity provider. */
  listKeyUsers(): readonly KeyUser[] {
    const users: KeyUser[] = [];
    for (const { jwt, authentication } of this.#targets.values()) {
      if (jwt !== undefined) users.push({ policy: jwt.key, kind: 'jwt', config: jwt.value });
      if (authentication !== undefined)
        users.push({ policy: authentication.key, kind: 'mcp', config: authentication.value });
    }
    return users;
  }
}

function collectTargets(compiled: Iterable<CompiledPolicy>): Map<string, TargetPolicies> {
  const targets = new Map<string, CollectedFields>();
  for (const { target, field, placed } of compiled) {
    const fields = targets.get(target);
    if (fields === undefined) targets.set(target, { [field]: placed });
    // The first stays.
    else fields[field] ??= placed;
  }
  return targets as Map<string, TargetPolicies>;
}

/** Only what is affected; and of that, what came out the same is the same object. */
function replaceTargets(
  before: ReadonlyMap<string, TargetPolicies>,
  { compiled, affected }: TakenPolicies,
): Map<string, TargetPolicies> {
  const targets = new Map(before);
  const collected = collectTargets(compiled.filter(({ target }) => affected.has(target)));
  for (const target of affected) {
    const previous = before.get(target);
    const fields = collected.get(target);
    if (fields === undefined) targets.delete(target);
    else if (previous === undefined || !areSameFields(previous, fields)) targets.set(target, fields);
  }
  return targets;
}

function areSameFields(left: TargetPolicies, right: TargetPolicies): boolean {
  for (const field of allFields) if (left[field] !== right[field]) return false;
  return true;
}

function mergeLevels(levels: readonly TargetPolicies[]): RoutePolicies {
  if (levels.length === 0) return noPolicies;
  const jwt = levels.flatMap((level) => level.jwt?.value ?? []);
  return {
    failure: levels.find(({ failure }) => failure !== undefined)?.failure?.value,
    cors: levels.find(({ cors }) => cors !== undefined)?.cors?.value,
    jwt: jwt[0],
    identityHeaders: listIdentityHeaders(jwt),
    // Rules of all levels have a say; the most specific ones are asked first.
    authorization: collectRules(levels.flatMap(({ authorization }) => authorization?.value ?? [])),
    trust: arrangeTrust(levels.map(({ jwt: own, authorization }) => ({ jwt: own?.value, rule: authorization?.value }))),
    provenance: listProvenance(levels),
  };
}

const fieldNames: Readonly<Partial<Record<NonNullable<Policy['spec']['case']>, PolicyFieldName>>> = {
  cors: 'traffic.cors',
  jwtAuthentication: 'traffic.jwtAuthentication',
  authorization: 'traffic.authorization',
  mcpAuthentication: 'backend.mcp.authentication',
  mcpAuthorization: 'backend.mcp.authorization',
};

/** Of a policy that closes its target nobody needs to know whom it outranks. */
function listConflicts(policy: Policy): readonly PolicyConflict[] {
  const field = policy.spec.case === undefined ? undefined : fieldNames[policy.spec.case];
  if (field === undefined) return [];
  const owner = describePlace(policy);
  return policy.rivals.map(({ source, isYounger }) => ({
    policy: source,
    field,
    owner,
    because: isYounger ? 'is older' : 'comes first by name',
  }));
}

/** Of a rule that no policy is for. */
export const noPolicies: RoutePolicies = {
  failure: undefined,
  cors: undefined,
  jwt: undefined,
  identityHeaders: undefined,
  authorization: undefined,
  trust: undefined,
  provenance: [],
};

/** The backend may trust a header because a policy above names it, also where that policy has no say. */
function listIdentityHeaders(levels: readonly JwtAuthenticationConfig[]): ReadonlySet<string> | undefined {
  const [winner, ...overridden] = levels;
  if (winner === undefined) return undefined;
  const names = overridden.flatMap(({ claimHeaders }) => [...claimHeaders]);
  return names.every((name) => winner.claimHeaders.has(name)) ? undefined : new Set([...winner.claimHeaders, ...names]);
}

/** From the most specific level to the least: who has each field, and who would have it if it were not for that one. */
function listProvenance(levels: readonly TargetPolicies[]): readonly PolicyProvenance[] {
  const found: PolicyProvenance[] = [];
  for (const [name, field] of exclusiveFields) {
    let winner: PolicyPlace | undefined;
    for (const level of levels) {
      const place = level[name]?.place;
      if (place === undefined) continue;
      found.push({ ...place, field, overriddenBy: winner });
      winner ??= place;
    }
  }
  for (const { authorization } of levels)
    if (authorization !== undefined)
      found.push({ ...authorization.place, field: 'traffic.authorization', overriddenBy: undefined });
  return found;
}
