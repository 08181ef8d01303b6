// What stands between clients and a rule's backends: which policies have a say there, which do not, and why. For /routes and `check`.
import type { RouteConfig, WeightedBackendConfig } from '../config/runtime-config.ts';
import { describeMode } from '../authentication/authentication-mode.ts';
import type { Rule, RuleAction, RuleSet } from '../config/rule-set.ts';
import type { PolicyConflict, PolicyFieldName, PolicyLevel, PolicyPlace } from '../config/policy-level.ts';
import { formatBackendName } from '../request/backend-name.ts';

/** The protection of one rule where one listener serves it. */
export interface DescribedProtection {
  /** closed: a policy cannot be enforced. open: anybody is served. partly: the answer depends on the backend. */
  readonly state: 'closed' | 'protected' | 'partly' | 'open';
  /** In few words: "token required, rules", "open: no policy". */
  readonly summary: string;
  /** namespace/name of the policy that closes the rule; null when none does. */
  readonly closedBy: string | null;
  /** By field in the order in which they are asked, CORS last; of one field the most specific first. */
  readonly policies: readonly DescribedPolicy[];
}

/** One field of one policy on the way. What does not apply is null or empty. */
export interface DescribedPolicy extends PolicyPlace {
  readonly field: PolicyFieldName;
  /** False: another policy, or the rule itself, has the field instead. */
  readonly inForce: boolean;
  readonly mode: '' | 'Strict' | 'Optional' | 'Permissive';
  readonly issuers: readonly string[];
  readonly action: '' | RuleAction;
  readonly expressions: readonly string[];
  /** Scopes that some messages need. */
  readonly scopes: readonly string[];
  /** Who has the field instead; an empty `policy` is a filter of the rule. */
  readonly overriddenBy: PolicyPlace | null;
  readonly because: string | null;
  /** Something that is probably not meant. */
  readonly remark: string | null;
}

/** Describes the protection of a rule. */
export function describeProtection(route: RouteConfig, conflicts: readonly PolicyConflict[] = []): DescribedProtection {
  const state = judgeState(route);
  const words = listWords(route);
  const opening = { open: 'open: ', partly: 'open for some backends: ', protected: '', closed: '' }[state];
  return {
    state,
    summary: state === 'closed' ? 'closed' : `${opening}${words.length === 0 ? 'no policy' : words.join(', ')}`,
    closedBy: route.policies.failure?.source ?? null,
    policies: addConflicts([...describeRoutePolicies(route), ...describeBackendPolicies(route)], conflicts).toSorted(
      (left, right) => fieldOrder.indexOf(left.field) - fieldOrder.indexOf(right.field),
    ),
  };
}

/** What decides about callers first. */
const fieldOrder: readonly PolicyFieldName[] = [
  'traffic.jwtAuthentication',
  'backend.mcp.authentication',
  'traffic.authorization',
  'backend.mcp.authorization',
  'traffic.cors',
];

/** With the policies that would have a say if another one of the same place did not go first. */
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

/** A policy whose settings are not looked at, because it has no say. */
function describeOverridden(
  place: PolicyPlace,
  field: PolicyFieldName,
  overriddenBy: PolicyPlace,
  because: string,
): DescribedPolicy {
  const { policy, level, target } = place;
  return { policy, level, target, field, inForce: false, ...nothing, overriddenBy, because };
}

function describeRoutePolicies(route: RouteConfig): DescribedPolicy[] {
  const { jwt, authorization, provenance } = route.policies;
  return provenance.map(({ policy, level, target, field, overriddenBy }): DescribedPolicy => {
    const place = { policy, level, target };
    if (overriddenBy !== undefined) return describeOverridden(place, field, overriddenBy, 'a more specific level wins');
    const described = { ...place, field, inForce: true, ...nothing };
    if (field === 'traffic.jwtAuthentication' && jwt !== undefined) {
      const issuers = jwt.message.providers.map(({ issuer }) => issuer);
      return { ...described, mode: describeMode(jwt.message.mode), issuers };
    }
    if (field !== 'traffic.authorization') return described;
    const rule = listRules(authorization).find((each) => isSamePlace(each, place));
    const words = describeRule(rule === undefined ? [] : [rule], findTokenless(route));
    return { ...described, ...words, remark: words.remark ?? describeTrust(route, rule) };
  });
}

/** Another level lets other tokens in than this rule believes. */
function describeTrust({ policies: { trust } }: RouteConfig, rule: Rule | undefined): string | null {
  const anchored = trust?.ofRoute.find((each) => each.rule === rule);
  if (anchored === undefined || !readsClaims(anchored.rule)) return null;
  const issuers = anchored.anchors.flatMap(({ message }) => message.providers.map(({ issuer }) => issuer));
  return `sees claims only in tokens of ${[...new Set(issuers)].join(', ')}: what the route lets in beside those is not believed here`;
}

function describeBackendPolicies(route: RouteConfig): DescribedPolicy[] {
  const described = new Map<string, DescribedPolicy>();
  for (const { backend, authentication, messageRules } of listReachable(route)) {
    const place = { level: 'ProxyBackend' satisfies PolicyLevel, target: formatBackendName(backend) } as const;
    if (authentication !== undefined)
      described.set(`${backend} authentication`, {
        ...place,
        policy: authentication.source,
        field: 'backend.mcp.authentication',
        inForce: true,
        ...nothing,
        mode: describeMode(authentication.message.mode),
        issuers: [authentication.message.issuer],
      });
    if (messageRules !== undefined) {
      const isKnown = authentication !== undefined || route.policies.jwt !== undefined;
      const scopes = [...new Set(messageRules.scopes.flatMap((entry) => entry.scopes))];
      const rules = describeRule(listRules(messageRules.rules), isKnown ? null : tokenless);
      described.set(`${backend} authorization`, {
        ...place,
        policy: messageRules.source,
        field: 'backend.mcp.authorization',
        inForce: true,
        ...nothing,
        ...rules,
        scopes,
        remark: scopes.length > 0 && !isKnown ? tokenless : rules.remark,
      });
    }
  }
  return [...described.values()];
}

const tokenless = 'no policy here reads a token: nobody has claims or scopes';
const partlyTokenless = 'not every backend here has a login: without one nobody has claims';

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

function listRules(rules: RuleSet | undefined): readonly Rule[] {
  return rules === undefined ? [] : [...rules.deny, ...rules.require, ...rules.allow];
}

function isSamePlace(left: PolicyPlace, right: PolicyPlace): boolean {
  return left.policy === right.policy && left.target === right.target;
}

/** What to say about rules over claims: null when every request can have some. */
function findTokenless(route: RouteConfig): string | null {
  if (route.policies.jwt !== undefined) return null;
  const reachable = listReachable(route);
  const authenticated = reachable.filter(({ authentication }) => authentication !== undefined);
  if (authenticated.length === 0) return tokenless;
  return authenticated.length === reachable.length ? null : partlyTokenless;
}

function listReachable({ backends }: RouteConfig): readonly WeightedBackendConfig[] {
  return backends.entries.filter(({ weight, failure }) => weight > 0 && failure === undefined);
}

function judgeState(route: RouteConfig): DescribedProtection['state'] {
  const { failure, jwt, authorization } = route.policies;
  if (failure !== undefined) return 'closed';
  const isGuarded = authorization !== undefined || (jwt !== undefined && describeMode(jwt.message.mode) === 'Strict');
  if (isGuarded) return 'protected';
  const reachable = listReachable(route);
  const guarded = reachable.filter(isGuardedBackend);
  if (guarded.length === 0) return 'open';
  return guarded.length === reachable.length ? 'protected' : 'partly';
}

function isGuardedBackend({ policyFailure, authentication, messageRules }: WeightedBackendConfig): boolean {
  if (policyFailure !== undefined || messageRules !== undefined) return true;
  return authentication !== undefined && describeMode(authentication.message.mode) === 'Strict';
}

const modeWords = { Strict: 'required', Optional: 'optional', Permissive: 'never required' };

function listWords(route: RouteConfig): string[] {
  const { jwt, authorization, cors } = route.policies;
  const words: string[] = [];
  if (jwt !== undefined) words.push(`token ${modeWords[describeMode(jwt.message.mode)]}`);
  if (authorization !== undefined) words.push('rules');
  for (const { policyFailure, authentication, messageRules } of listReachable(route)) {
    if (policyFailure !== undefined) words.push('backend closed');
    if (authentication !== undefined) words.push(`login ${modeWords[describeMode(authentication.message.mode)]}`);
    if (messageRules !== undefined) words.push('message rules');
  }
  if (cors !== undefined) words.push('CORS');
  return [...new Set(words)];
}
