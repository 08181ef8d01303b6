// Describes which policies protect a rule's backends, which ones are overridden, and why. For /routes and `check`.
import {
  allPolicyKinds,
  type BackendPolicyKind,
  backendPolicyKinds,
  type PolicyKind,
  policyKinds,
  type RoutePolicyKind,
  routePolicyKinds,
} from '../../ir/policy-kinds.ts';
import type { BackendPolicies, RouteConfig } from '../config/runtime-config.ts';
import { describeMode } from '../authentication/authentication-mode.ts';
import type { Rule, RuleAction } from '../config/rule-set.ts';
import { listRules } from '../authorization/decide-rules.ts';
import type { PolicyConflict, PolicyLevel, PolicyPlace } from '../config/policy-level.ts';
import {
  type Guard,
  judgeProtection,
  listReachable,
  listSet,
  type RuleProtection,
  type SetKind,
} from '../policies/rule-protection.ts';
import { formatBackendName } from '../request/backend-name.ts';

/** The protection of one rule where one listener serves it. */
export interface DescribedProtection {
  /**
   * closed: a policy cannot be enforced, or may be missing here. open: anybody is served. partly: the answer depends on the backend. redirect: no request
   * gets to a backend. protected: also by the client certificate alone.
   */
  readonly state: 'closed' | RuleProtection['state'];
  /** In few words: "token required, rules", "open: no policy". */
  readonly summary: string;
  /** namespace/name of the policy that closes the rule; for `unprotected` the flag or the GatewayParameters that want it closed. Null: nothing does. */
  readonly closedBy: string | null;
  /** invalid: that policy cannot be enforced. unattached: it misses a target, which may be this rule. unprotected: nothing protects the rule, which therefore is closed. */
  readonly closedBecause: 'invalid' | 'unattached' | 'unprotected' | null;
  /** The listener serves only clients whose certificate it validates. */
  readonly clientCertificate: boolean;
  /** The policies that keep somebody out, in the order in which a request meets them. */
  readonly guards: readonly Guard[];
  /** By field in the order in which they are asked, CORS last; of one field the most specific first. */
  readonly policies: readonly DescribedPolicy[];
}

/** One field of one policy on the way. What does not apply is null or empty. */
export interface DescribedPolicy extends PolicyPlace {
  readonly field: PolicyKind;
  /** False: another policy, or the rule itself, has the field instead. */
  readonly inForce: boolean;
  readonly mode: '' | 'Strict' | 'Optional' | 'Permissive';
  readonly issuers: readonly string[];
  readonly action: '' | RuleAction;
  readonly expressions: readonly string[];
  /** Scopes that some messages need. */
  readonly scopes: readonly string[];
  /** The policy that wins the field instead; an empty `policy` is a filter of the rule. */
  readonly overriddenBy: PolicyPlace | null;
  readonly because: string | null;
  /** A probable mistake of the configuration. */
  readonly remark: string | null;
}

/** Describes the protection of a rule, where the listener requires a client certificate or does not. */
export function describeProtection(
  route: RouteConfig,
  conflicts: readonly PolicyConflict[] = [],
  clientCertificate = false,
): DescribedProtection {
  const closing = route.policies.failure ?? route.unprotected ?? route.closedByDefault;
  const { state, guards } = judgeProtection(route);
  return {
    state: closing !== undefined ? 'closed' : clientCertificate && state !== 'redirect' ? 'protected' : state,
    summary: closing === undefined ? summarize(state, listWords(route), clientCertificate) : 'closed',
    closedBy: closing?.source ?? null,
    closedBecause: findClosingReason(route),
    clientCertificate,
    guards: closing === undefined ? guards : [],
    policies: addConflicts([...describeRoutePolicies(route), ...describeBackendPolicies(route)], conflicts).toSorted(
      (left, right) => fieldOrder.indexOf(left.field) - fieldOrder.indexOf(right.field),
    ),
  };
}

function findClosingReason(route: RouteConfig): DescribedProtection['closedBecause'] {
  if (route.policies.failure !== undefined) return 'invalid';
  if (route.unprotected !== undefined) return 'unattached';
  return route.closedByDefault === undefined ? null : 'unprotected';
}

const openings = { open: 'open: ', partly: 'open for some backends: ', redirect: 'redirect: ', protected: '' };

function summarize(state: RuleProtection['state'], words: readonly string[], clientCertificate: boolean): string {
  if (!clientCertificate) return `${openings[state]}${words.length === 0 ? 'no policy' : words.join(', ')}`;
  const opening = state === 'redirect' ? openings.redirect : '';
  return `${opening}${['client certificate required', ...words].join(', ')}${state === 'partly' ? ' for some backends' : ''}`;
}

/** What decides about callers first. */
const fieldOrder = [
  ...allPolicyKinds.filter((kind) => policyKinds[kind].isGuard),
  ...allPolicyKinds.filter((kind) => !policyKinds[kind].isGuard),
];

/** Includes the policies that lose to another one on the same target. */
function addConflicts(
  policies: readonly DescribedPolicy[],
  conflicts: readonly PolicyConflict[],
): readonly DescribedPolicy[] {
  const inForce = policies.filter((policy) => policy.inForce);
  const silent = inForce.flatMap(({ policy, level, target, field }) =>
    conflicts
      .filter(({ owner, field: lost }) => lost === field && owner.policy === policy && owner.target === target)
      .map(({ policy: loser, because }) => {
        const reason = `ProxyPolicy ${policy} ${because}`;
        return describeOverridden({ policy: loser, level, target }, field, { policy, level, target }, reason);
      }),
  );
  return [...policies, ...silent];
}

const nothing = {
  mode: '',
  issuers: [],
  action: '',
  expressions: [],
  scopes: [],
  overriddenBy: null,
  because: null,
  remark: null,
} as const;

/** An overridden policy, without its settings. */
function describeOverridden(
  place: PolicyPlace,
  field: PolicyKind,
  overriddenBy: PolicyPlace,
  because: string,
): DescribedPolicy {
  const { policy, level, target } = place;
  return { policy, level, target, field, inForce: false, ...nothing, overriddenBy, because };
}

function describeRoutePolicies(route: RouteConfig): DescribedPolicy[] {
  return route.policies.provenance.map(({ policy, level, target, field, overriddenBy }): DescribedPolicy => {
    const place = { policy, level, target };
    if (overriddenBy !== undefined)
      return describeOverridden(
        place,
        field,
        overriddenBy,
        overriddenBy.isOverride === true ? 'it is an Override' : 'a more specific level wins',
      );
    return { ...place, field, inForce: true, ...nothing, ...routeDetails[field](route, place) };
  });
}

type Details = Partial<DescribedPolicy>;

/** The details of a policy for routes. */
const routeDetails: Readonly<Record<RoutePolicyKind, (route: RouteConfig, place: PolicyPlace) => Details>> = {
  'traffic.cors': () => ({}),
  'traffic.publicAccess': () => ({}),
  'traffic.jwtAuthentication': ({ policies: { 'traffic.jwtAuthentication': config } }) =>
    config === undefined
      ? {}
      : {
          mode: describeMode(config.message.mode),
          issuers: config.message.providers.map(({ issuer }) => issuer),
        },
  'traffic.authorization': (route, place) => {
    const rule = listRules(route.policies['traffic.authorization']).find((each) => isSamePlace(each, place));
    const words = describeRule(rule === undefined ? [] : [rule], findTokenless(route));
    return { ...words, remark: words.remark ?? describeTrust(route, rule) };
  },
};

/** A remark if another level accepts other tokens than the settings of this rule suggest. */
function describeTrust({ policies: { trust } }: RouteConfig, rule: Rule | undefined): string | null {
  const anchored = trust?.ofRoute.find((each) => each.rule === rule);
  if (anchored === undefined || !readsClaims(anchored.rule)) return null;
  const issuers = anchored.anchors.flatMap(({ message }) => message.providers.map(({ issuer }) => issuer));
  return `sees claims only in tokens of ${[...new Set(issuers)].join(', ')}: what the route lets in beside those is not believed here`;
}

function describeBackendPolicies(route: RouteConfig): DescribedPolicy[] {
  const described = new Map<string, DescribedPolicy>();
  for (const { backend, policies } of listReachable(route)) {
    for (const field of backendPolicyKinds) {
      const config = policies[field];
      if (config === undefined) continue;
      described.set(`${backend} ${field}`, {
        policy: config.source,
        level: 'ProxyBackend' satisfies PolicyLevel,
        target: formatBackendName(backend),
        field,
        inForce: true,
        ...nothing,
        ...backendDetails[field](policies, route),
      });
    }
  }
  return [...described.values()];
}

/** The same for backends. */
const backendDetails: Readonly<Record<BackendPolicyKind, (policies: BackendPolicies, route: RouteConfig) => Details>> =
  {
    'backend.mcp.authentication': ({ 'backend.mcp.authentication': config }) =>
      config === undefined ? {} : { mode: describeMode(config.message.mode), issuers: [config.message.issuer] },
    'backend.mcp.authorization': (policies, route) => {
      const config = policies['backend.mcp.authorization'];
      if (config === undefined) return {};
      const isKnown =
        policies['backend.mcp.authentication'] !== undefined ||
        route.policies['traffic.jwtAuthentication'] !== undefined;
      const scopes = [...new Set(config.scopes.flatMap((entry) => entry.scopes))];
      const rules = describeRule(listRules(config.rules), isKnown ? null : tokenless);
      return { ...rules, scopes, remark: scopes.length > 0 && !isKnown ? tokenless : rules.remark };
    },
  };

const tokenless = 'no policy here reads a token: no request has claims or scopes';
const partlyTokenless = 'not every backend here has a login: requests to the others have no claims';

function describeRule(
  rules: readonly Rule[],
  remark: string | null,
): Pick<DescribedPolicy, 'action' | 'expressions' | 'remark'> {
  const expressions = rules.flatMap((rule) => rule.expressions);
  return {
    action: rules[0]?.action ?? '',
    expressions: expressions.map(({ source }) => source),
    remark: rules.some(readsClaims) ? remark : null,
  };
}

function readsClaims({ expressions }: Rule): boolean {
  return expressions.some(({ reads }) => reads.some(([variable]) => variable === 'jwt'));
}

function isSamePlace(left: PolicyPlace, right: PolicyPlace): boolean {
  return left.policy === right.policy && left.target === right.target;
}

/** What to say about rules over claims: null when every request can have some. */
function findTokenless(route: RouteConfig): string | null {
  if (route.policies['traffic.jwtAuthentication'] !== undefined) return null;
  const reachable = listReachable(route);
  const authenticated = reachable.filter(({ policies }) => policies['backend.mcp.authentication'] !== undefined);
  if (authenticated.length === 0) return tokenless;
  return authenticated.length === reachable.length ? null : partlyTokenless;
}

const modeWords = { '': '', Strict: ' required', Optional: ' optional', Permissive: ' never required' };

function listWords(route: RouteConfig): string[] {
  const describe = ({ kind, mode }: SetKind): string => `${policyKinds[kind].word}${modeWords[mode]}`;
  const ofRoute = listSet(routePolicyKinds, route.policies);
  const ofBackends = listReachable(route).flatMap(({ policies }) => [
    ...(policies.failure === undefined ? [] : ['backend closed']),
    ...listSet(backendPolicyKinds, policies).map(describe),
  ]);
  return [
    ...new Set([
      ...ofRoute.filter(({ kind }) => policyKinds[kind].isGuard).map(describe),
      ...ofBackends,
      ...ofRoute.filter(({ kind }) => !policyKinds[kind].isGuard).map(describe),
    ]),
  ];
}
