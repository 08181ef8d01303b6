// Which rules serve requests without a token, and which are closed for that: what statuses of HTTPRoutes say about it. By the same judgement as in the gateway, over
// messages; a test compares the two.
import { findAnonymousOutcomes } from '../cel/anonymous-outcomes.ts';
import {
  type AuthenticationInForce,
  isOpenToAnonymous,
  needToken,
  orderByPrecedence,
  type RuleOutcomes,
} from '../ir/anonymous-access.ts';
import type { Configuration } from '../ir/configuration.ts';
import {
  AuthenticationMode,
  AuthorizationAction,
  type Listener,
  type Policy,
  type PolicyTarget,
  PolicyTargetKind,
  type Route,
} from '../ir/gen/config_pb.ts';
import { formatProxyBackendKey } from '../ir/resource-keys.ts';
import { createCondition, type Condition, type HttpRouteStatus } from './conditions.ts';
import type { Described } from './list-statuses.ts';
import type { ResolvedListener } from './listeners.ts';
import type { TranslatedRoute } from './routes.ts';

/** A rule that a request without a token can pass, where one listener serves it. */
export interface OpenRule {
  /** Of the message. */
  readonly route: string;
  readonly ruleIndex: number;
  readonly ruleName: string;
  /** Key of the listener. */
  readonly listener: string;
  /** A policy opens it on purpose. */
  readonly isPublic: boolean;
}

/** The policies of one target that matter here. Of two of a kind the first by key counts. */
interface TargetPolicies {
  isClosed?: true;
  authentication?: Policy;
  publicAccess?: Policy;
  rules?: Policy;
}

type PolicyIndex = ReadonlyMap<string, TargetPolicies>;

/** The statuses of routes, with what is to be said about their access. Those with nothing to say stay the same objects. */
export function describeAccess(
  routes: readonly TranslatedRoute[],
  listeners: readonly ResolvedListener[],
  policies: readonly Policy[],
): readonly Described<HttpRouteStatus>[] {
  const byKey = new Map(listeners.map((listener) => [listener.key, listener]));
  const messagesByKey = new Map(listeners.map(({ key, message }) => [key, message]));
  const index = indexPolicies(policies);
  return routes.map((route) => {
    const { name, status, messages } = route;
    const open = messages.flatMap((message) => listOpen(message, messagesByKey, index));
    return status === undefined || open.length === 0 ? route : { name, status: addAccess(name, status, open, byKey) };
  });
}

/** All rules that requests without a token can pass, closed or not. */
export function listOpenRules({ routes, listeners, policies }: Configuration): readonly OpenRule[] {
  const byKey = new Map(listeners.map((listener) => [listener.key, listener]));
  const index = indexPolicies(policies);
  return routes.flatMap((route) => listOpen(route, byKey, index));
}

function listOpen(route: Route, listeners: ReadonlyMap<string, Listener>, index: PolicyIndex): readonly OpenRule[] {
  const { key, ruleIndex, ruleName, parents, failure } = route;
  if (failure !== undefined) return [];
  return parents.flatMap(({ listener }): OpenRule[] => {
    const found = listeners.get(listener);
    if (found === undefined) return [];
    const access = judgeRule(route, found, index);
    return access.isOpen ? [{ route: key, ruleIndex, ruleName, listener, isPublic: access.isPublic }] : [];
  });
}

function judgeRule(
  { httpRoute, ruleName, filters, backends }: Route,
  { gateway, name }: Listener,
  index: PolicyIndex,
): { readonly isOpen: boolean; readonly isPublic: boolean } {
  const levels = [
    ...(ruleName === '' ? [] : [`HTTPRoute/${httpRoute}#${ruleName}`]),
    `HTTPRoute/${httpRoute}#`,
    `Gateway/${gateway}#${name}`,
    `Gateway/${gateway}#`,
    `Namespace/${readNamespace(httpRoute)}`,
    `Namespace/${readNamespace(gateway)}`,
  ].map((target) => index.get(target) ?? nothing);
  const publicAt = levels.findIndex(({ publicAccess }) => publicAccess !== undefined);
  const asksAt = levels.findIndex(({ authentication }) => authentication !== undefined);
  const asking = levels.flatMap(({ authentication }) => authentication ?? []);
  const [winner] = orderByPrecedence(asking, ({ isOverride }) => isOverride);
  const isPublic = publicAt !== -1 && (winner === undefined || (!winner.isOverride && publicAt < asksAt));
  const isOpen = isOpenToAnonymous({
    isClosed: levels.some(({ isClosed }) => isClosed === true),
    isRedirect: filters.some(({ filter }) => filter.case === 'requestRedirect'),
    authentication: isPublic ? undefined : readMode(winner),
    rulesNeedToken: needToken(levels.flatMap(({ rules }) => (rules === undefined ? [] : [readRules(rules)]))),
    backends: backends
      .filter(({ weight, failure }) => weight > 0 && failure === undefined)
      .map(({ backend }) => {
        const [kind, namespace = ''] = backend.split('/');
        if (kind !== 'ProxyBackend') return { isClosed: false, authentication: undefined };
        const own = index.get(backend);
        return {
          isClosed: own?.isClosed === true || index.get(`Namespace/${namespace}`)?.isClosed === true,
          authentication: readMode(own?.authentication),
        };
      }),
  });
  return { isOpen, isPublic };
}

const nothing: TargetPolicies = {};

function indexPolicies(policies: readonly Policy[]): PolicyIndex {
  const index = new Map<string, TargetPolicies>();
  for (const policy of policies) {
    const { target, spec } = policy;
    const key = target === undefined ? undefined : nameTarget(target);
    if (key === undefined) continue;
    const own = index.get(key) ?? {};
    index.set(key, own);
    if (spec.case === 'failure') own.isClosed = true;
    else if (spec.case === 'jwtAuthentication' || spec.case === 'mcpAuthentication') own.authentication ??= policy;
    else if (spec.case === 'publicAccess') own.publicAccess ??= policy;
    else if (spec.case === 'authorization') own.rules ??= policy;
  }
  return index;
}

function nameTarget({ kind, namespace, name, sectionName }: PolicyTarget): string | undefined {
  switch (kind) {
    case PolicyTargetKind.GATEWAY:
      return `Gateway/${namespace}/${name}#${sectionName}`;
    case PolicyTargetKind.HTTP_ROUTE:
      return `HTTPRoute/${namespace}/${name}#${sectionName}`;
    case PolicyTargetKind.PROXY_BACKEND:
      return formatProxyBackendKey(namespace, name);
    case PolicyTargetKind.NAMESPACE:
      return `Namespace/${namespace}`;
    default:
      return undefined;
  }
}

function readMode(policy: Policy | undefined): AuthenticationInForce {
  const { spec } = policy ?? {};
  if (spec?.case !== 'jwtAuthentication' && spec?.case !== 'mcpAuthentication') return undefined;
  if (spec.value.mode === AuthenticationMode.OPTIONAL) return 'Optional';
  return spec.value.mode === AuthenticationMode.PERMISSIVE ? 'Permissive' : 'Strict';
}

const actions = new Map<AuthorizationAction, RuleOutcomes['action']>([
  [AuthorizationAction.ALLOW, 'Allow'],
  [AuthorizationAction.DENY, 'Deny'],
  [AuthorizationAction.REQUIRE, 'Require'],
]);

const readOnce = new WeakMap<Policy, RuleOutcomes>();

function readRules(policy: Policy): RuleOutcomes {
  let rules = readOnce.get(policy);
  if (rules === undefined) {
    const { action, expressions } =
      policy.spec.case === 'authorization'
        ? policy.spec.value
        : { action: AuthorizationAction.UNSPECIFIED, expressions: [] };
    rules = {
      action: actions.get(action) ?? 'Allow',
      isOverride: policy.isOverride,
      outcomes: expressions.map((source) => findAnonymousOutcomes(source, 'request')),
    };
    readOnce.set(policy, rules);
  }
  return rules;
}

/** Adds conditions to the parents where rules are open or closed. */
function addAccess(
  route: string,
  status: HttpRouteStatus,
  open: readonly OpenRule[],
  listeners: ReadonlyMap<string, ResolvedListener>,
): HttpRouteStatus {
  return {
    parents: status.parents.map((parent) => {
      const { parentRef, conditions } = parent;
      const gateway = `${parentRef.namespace ?? readNamespace(route)}/${parentRef.name}`;
      const own = open.filter(({ listener }) => {
        const found = listeners.get(listener);
        return (
          found?.gateway.name === gateway &&
          (parentRef.sectionName === undefined || parentRef.sectionName === found.spec.name) &&
          (parentRef.port === undefined || parentRef.port === found.spec.port)
        );
      });
      const [first] = own;
      const generation = conditions[0]?.observedGeneration ?? 0;
      if (first === undefined) return parent;
      const denied = listeners.get(first.listener)?.gateway.deniedRoutes;
      return { ...parent, conditions: [...conditions, ...describeOpen(own, denied?.because, generation)] };
    }),
  };
}

function describeOpen(open: readonly OpenRule[], because: string | undefined, generation: number): Condition[] {
  const onPurpose = open.filter(({ isPublic }) => isPublic);
  const others = open.filter(({ isPublic }) => !isPublic);
  const conditions: Condition[] = [];
  if (because !== undefined && others.length > 0) {
    const message = `Nothing keeps requests without a token out of ${nameRules(others)}, and ${because}; requests that match are answered with 403 (route_unprotected).`;
    conditions.push(createCondition('routeParent', 'Protected', 'False', 'Unprotected', message, generation));
  }
  const served = because === undefined ? others : [];
  const said = [
    ...(served.length === 0 ? [] : [`Nothing keeps requests without a token out of ${nameRules(served)}.`]),
    ...(onPurpose.length === 0
      ? []
      : [`A ProxyPolicy opens ${nameRules(onPurpose)} on purpose (traffic.publicAccess).`]),
  ];
  if (said.length > 0)
    conditions.push(
      createCondition(
        'routeParent',
        'Open',
        'True',
        served.length === 0 ? 'PublicAccess' : 'Unprotected',
        said.join(' '),
        generation,
      ),
    );
  return conditions;
}

/** "rules[0], rules[2] (mcp)": each once, however many listeners there are. */
function nameRules(rules: readonly OpenRule[]): string {
  const names = rules.map(({ ruleIndex, ruleName }) => `rules[${ruleIndex}]${ruleName === '' ? '' : ` (${ruleName})`}`);
  return [...new Set(names)].join(', ');
}

function readNamespace(name: string): string {
  return name.slice(0, name.indexOf('/'));
}
