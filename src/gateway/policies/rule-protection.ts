// What protects a rule: the one judgement that the request path, `check`, the banner and the admin pages share. Pure.
import { findAnonymousOutcomes } from '../../cel/anonymous-outcomes.ts';
import { admitsAnonymous, isOpenToAnonymous, needToken, type RuleAccess } from '../../ir/anonymous-access.ts';
import { LoginFlow } from '../../ir/gen/config_pb.ts';
import {
  type AuthenticationKind,
  backendPolicyKinds,
  isAuthenticationKind,
  type PolicyKind,
  policyKinds,
  routePolicyKinds,
} from '../../ir/policy-kinds.ts';
import { describeMode } from '../authentication/authentication-mode.ts';
import { listRules } from '../authorization/decide-rules.ts';
import type { RuleSet } from '../config/rule-set.ts';
import type { PolicyConfigs, RouteConfig, WeightedBackendConfig } from '../config/runtime-config.ts';

/** The parts of a rule that decide. */
export type JudgedRule = Pick<RouteConfig, 'policies' | 'backends' | 'filters'>;

/** A policy that keeps somebody out. */
export interface Guard {
  readonly kind: PolicyKind;
  /** namespace/name of the ProxyPolicy. */
  readonly policy: string;
  /** Of a login where the gateway issues the tokens: "Issuer, GitHub". */
  readonly login?: string;
}

/** The protection of a rule. */
export interface RuleProtection {
  /**
   * protected: Strict authentication or rules, on the rule or on every backend. partly: on some of the backends. redirect: nothing protects it, and no
   * request gets to a backend. open: anybody is served.
   */
  readonly state: 'protected' | 'partly' | 'redirect' | 'open';
  /** Whether a request without a token can get to a backend: Strict authentication, or Optional authentication with rules that need a token, keeps it out. */
  readonly admitsAnonymous: boolean;
  /** Each once, in the order in which a request meets them; also those of only some backends. */
  readonly guards: readonly Guard[];
}

/** A kind that is set, and in which mode; empty: it has none. */
export interface SetKind {
  readonly kind: PolicyKind;
  readonly mode: '' | 'Strict' | 'Optional' | 'Permissive';
}

/** Judges a rule. A policy that cannot be enforced closes what it is on, which counts as protection. */
export function judgeProtection(rule: JudgedRule): RuleProtection {
  const ofRule = listSet(routePolicyKinds, rule.policies).filter(isGuarding);
  const reachable = listReachable(rule);
  const guarded = reachable.filter(
    ({ policies }) => policies.failure !== undefined || listSet(backendPolicyKinds, policies).some(isGuarding),
  );
  return {
    state: judgeState(rule, ofRule.length > 0, reachable, guarded),
    admitsAnonymous: isOpenToAnonymous(describeAccess(rule)),
    guards: listGuards(rule, ofRule, guarded),
  };
}

/** Whether a request without a token can get to a backend, and nobody said that it may. */
export function isOpenByMistake(rule: JudgedRule): boolean {
  return rule.policies['traffic.publicAccess'] === undefined && isOpenToAnonymous(describeAccess(rule));
}

/** Whether a request without a token can get to this backend of the rule, or could when it is not one of its backends any more. */
export function admitsAnonymousTo(rule: JudgedRule, backend: string): boolean {
  const { backends, ...access } = describeAccess(rule);
  const chosen = listReachable(rule).findIndex((each) => each.backend === backend);
  return admitsAnonymous(access, backends[chosen] ?? { isClosed: false, authentication: undefined });
}

function describeAccess(rule: JudgedRule): RuleAccess {
  const { policies, filters } = rule;
  return {
    isClosed: policies.failure !== undefined,
    isRedirect: filters.redirect !== undefined,
    authentication: findMode('traffic.jwtAuthentication', policies) || undefined,
    rulesNeedToken: doRulesNeedToken(policies['traffic.authorization']),
    backends: listReachable(rule).map((backend) => ({
      isClosed: backend.policies.failure !== undefined,
      authentication: findMode('backend.mcp.authentication', backend.policies) || undefined,
    })),
  };
}

const judgedRules = new WeakMap<RuleSet, boolean>();

function doRulesNeedToken(rules: RuleSet | undefined): boolean {
  if (rules === undefined) return false;
  let verdict = judgedRules.get(rules);
  if (verdict === undefined) {
    verdict = needToken(
      listRules(rules).map(({ action, isOverride = false, expressions }) => ({
        action,
        isOverride,
        outcomes: expressions.map(({ source, scope }) => findAnonymousOutcomes(source, scope)),
      })),
    );
    judgedRules.set(rules, verdict);
  }
  return verdict;
}

/** Whether anybody can reach a backend of the rule without being asked. */
export function isUnprotected(rule: JudgedRule): boolean {
  const { state } = judgeProtection(rule);
  return state === 'open' || state === 'partly';
}

function judgeState(
  { filters, policies }: JudgedRule,
  isGuarded: boolean,
  reachable: readonly WeightedBackendConfig[],
  guarded: readonly WeightedBackendConfig[],
): RuleProtection['state'] {
  if (isGuarded || policies.failure !== undefined) return 'protected';
  if (filters.redirect !== undefined) return 'redirect';
  if (guarded.length === 0) return 'open';
  return guarded.length === reachable.length ? 'protected' : 'partly';
}

function listGuards(
  { policies, filters }: JudgedRule,
  ofRule: readonly SetKind[],
  guarded: readonly WeightedBackendConfig[],
): readonly Guard[] {
  const names = new Map<string, Guard>();
  const add = (kind: PolicyKind, policy: string, login?: string): void =>
    void names.set(`${kind} ${policy}`, { kind, policy, ...(login !== undefined && { login }) });
  for (const { kind } of ofRule)
    for (const { policy, field, overriddenBy } of policies.provenance)
      if (field === kind && overriddenBy === undefined) add(kind, policy);
  // A redirect never gets to a backend.
  for (const backend of filters.redirect === undefined ? guarded : [])
    for (const kind of backendPolicyKinds) {
      const config = backend.policies[kind];
      if (config !== undefined && isGuarding({ kind, mode: findMode(kind, backend.policies) }))
        add(kind, config.source, kind === 'backend.mcp.authentication' ? describeLogin(backend) : undefined);
    }
  const order = Object.keys(policyKinds);
  return [...names.values()].toSorted((left, right) => order.indexOf(left.kind) - order.indexOf(right.kind));
}

function describeLogin({ policies }: WeightedBackendConfig): string | undefined {
  const message = policies['backend.mcp.authentication']?.message;
  if (message?.flow !== LoginFlow.ISSUER) return undefined;
  return message.provider === '' ? 'Issuer' : `Issuer, ${message.provider}`;
}

/** The backends that requests can get to. */
export function listReachable({ backends }: Pick<RouteConfig, 'backends'>): readonly WeightedBackendConfig[] {
  return backends.entries.filter(({ weight, failure }) => weight > 0 && failure === undefined);
}

type Authentications = { readonly [Kind in AuthenticationKind]?: PolicyConfigs[Kind] | undefined };

/** The kinds that are set, with their modes. */
export function listSet<Kind extends PolicyKind>(
  kinds: readonly Kind[],
  policies: Readonly<Record<Kind, object | undefined>> & Authentications,
): readonly SetKind[] {
  return kinds.filter((kind) => policies[kind] !== undefined).map((kind) => ({ kind, mode: findMode(kind, policies) }));
}

function findMode(kind: PolicyKind, policies: Authentications): SetKind['mode'] {
  const config = isAuthenticationKind(kind) ? policies[kind] : undefined;
  return config === undefined ? '' : describeMode(config.message.mode);
}

function isGuarding({ kind, mode }: SetKind): boolean {
  return policyKinds[kind].isGuard && (mode === '' || mode === 'Strict');
}
