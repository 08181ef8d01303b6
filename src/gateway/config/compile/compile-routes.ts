// Route messages -> matches by listener and hostname. A rule that cannot be compiled still matches and answers 500. Conditions that
// cannot be evaluated count as met, so that no other rule serves requests that were meant for this one.
import {
  type PathMatch,
  PathMatchType,
  type Route,
  type RouteMatch,
  type ValueMatch,
  ValueMatchType,
} from '../../../ir/gen/config_pb.ts';
import { readHostnamePattern } from '../../route/table/hostname.ts';
import type { MatchRank } from '../../route/table/precedence.ts';
import type { RegularExpression } from '../../route/table/regular-expression.ts';
import { readTarget } from '../../http/request-target.ts';
import { isOpenByMistake, isUnprotected } from '../../policies/rule-protection.ts';
import type { PathCondition, RouteMatchEntry, ValueCondition } from '../../route/table/route-table.ts';
import type { BackendView } from './backend-views.ts';
import { type CompiledFilters, compileFilters, type FindMirror, noFilters, replacesPrefix } from './compile-filters.ts';
import { type FoundPolicies, noBackendPolicies } from './compile-policies.ts';
import { createFailure } from './compile-policy.ts';
import { describeError } from './compile-problem.ts';
import type { Lookup } from './recorded-reads.ts';
import type {
  CompiledCors,
  RouteConfig,
  RoutePolicies,
  WeightedBackendConfig,
  WeightedBackends,
} from '../runtime-config.ts';

/** What the compilation of a rule may look up. */
interface RuleSurroundings {
  readonly backends: Lookup<BackendView>;
  /** Returns the compiled expression, or throws. */
  readonly getExpression: GetExpression;
}

type GetExpression = (source: string) => RegularExpression;

const noPrefixToReplace = 'the prefix of a path that is matched by a regular expression cannot be replaced';

/** A rule without the listener-specific part. */
export interface CompiledRule {
  readonly message: Route;
  readonly matches: readonly Omit<RouteMatchEntry<RouteConfig>, 'route'>[];
  readonly filters: CompiledFilters;
  readonly backends: WeightedBackends;
  readonly failure: RouteConfig['failure'];
  readonly problems: readonly string[];
}

/** Compiles one rule; never throws. */
export function compileRule(route: Route, { backends, getExpression }: RuleSurroundings): CompiledRule {
  const problems: string[] = [];
  const fatal: string[] = [];
  const matches = (route.matches.length === 0 ? [undefined] : route.matches).map((match, index) =>
    compileMatch(route, match, index, getExpression, (problem) => fatal.push(problem)),
  );
  const hasExpression = matches.some(({ path }) => path.type === 'regularExpression');
  const findMirror: FindMirror = (backend) => {
    const view = backends.get(backend);
    if (view?.state === 'usable') {
      return view.policies.failure === undefined ? view.policies : undefined;
    }
    if (view?.state !== 'broken') problems.push(`the mirror ${backend} does not exist; nothing is mirrored`);
    return undefined;
  };
  let filters: CompiledFilters = { filters: noFilters, cors: undefined };
  try {
    filters = compileFilters(route.filters, findMirror);
    if (replacesPrefix(filters.filters) && hasExpression) fatal.push(noPrefixToReplace);
  } catch (error) {
    fatal.push(describeError(error));
  }
  problems.push(...fatal);
  return {
    message: route,
    matches,
    filters,
    backends: compileWeightedBackends(route, hasExpression, findMirror, backends, problems),
    failure: route.failure ?? (fatal.length === 0 ? undefined : createFailure('RouteNotCompiled', fatal.join('; '))),
    problems,
  };
}

/** The rule as one listener serves it, under the policies that apply to it there. */
export function attachRule(
  rule: CompiledRule,
  { policies: found, ifUnprotected, ifAnonymous }: Pick<FoundPolicies, 'policies' | 'ifUnprotected' | 'ifAnonymous'>,
): RouteConfig {
  const { message } = rule;
  const judged = { policies: found, filters: rule.filters.filters, backends: rule.backends };
  return {
    key: message.key,
    httpRoute: message.httpRoute,
    ruleName: message.ruleName,
    ruleIndex: message.ruleIndex,
    failure: rule.failure,
    unprotected: ifUnprotected !== undefined && isUnprotected(judged) ? ifUnprotected : undefined,
    closedByDefault: ifAnonymous !== undefined && isOpenByMistake(judged) ? ifAnonymous : undefined,
    // The filter is part of the rule itself, so it is the most specific setting.
    policies:
      rule.filters.cors === undefined || isCorsEnforced(found)
        ? found
        : overrideCors(found, rule.filters.cors, message.httpRoute),
    filters: rule.filters.filters,
    backends: rule.backends,
    requestTimeoutMs: message.requestTimeoutMs,
    backendRequestTimeoutMs: message.backendRequestTimeoutMs,
  };
}

function isCorsEnforced({ provenance }: RoutePolicies): boolean {
  return provenance.some(({ field, isOverride }) => field === 'traffic.cors' && isOverride === true);
}

function overrideCors(found: RoutePolicies, cors: CompiledCors, httpRoute: string): RoutePolicies {
  const filter = { policy: '', level: 'rule', target: `HTTPRoute ${httpRoute}, the CORS filter of the rule` } as const;
  const provenance = found.provenance.map((each) =>
    each.field === 'traffic.cors' && each.overriddenBy === undefined ? { ...each, overriddenBy: filter } : each,
  );
  return { ...found, 'traffic.cors': cors, provenance };
}

/** Hostnames of a rule on one listener, as table patterns. */
export function readRuleHostnames(
  hostnames: readonly string[],
  addProblem: (problem: string) => void,
): ReadonlySet<string> {
  const patterns = new Set<string>();
  for (const hostname of hostnames.length === 0 ? [''] : hostnames) {
    const pattern = readHostnamePattern(hostname);
    if (pattern === undefined) addProblem(`${JSON.stringify(hostname)} is not a hostname; no request can match it`);
    else patterns.add(pattern);
  }
  return patterns;
}

function compileMatch(
  route: Route,
  match: RouteMatch | undefined,
  matchIndex: number,
  getExpression: GetExpression,
  addProblem: (problem: string) => void,
): Omit<RouteMatchEntry<RouteConfig>, 'route'> {
  const path = compilePath(match?.path, getExpression, addProblem);
  const headerMatches = takeFirstOfEachName(match?.headers ?? [], (name) => name.toLowerCase());
  const queryMatches = takeFirstOfEachName(match?.queryParams ?? [], (name) => name);
  const rank: MatchRank = {
    pathType: path.type,
    pathLength: path.type === 'regularExpression' ? path.expression.source.length : path.value.length,
    hasMethod: match !== undefined && match.method !== '',
    headerCount: headerMatches.size,
    queryParamCount: queryMatches.size,
    createdAt: route.createdAt,
    httpRoute: route.httpRoute,
    ruleIndex: route.ruleIndex,
    matchIndex,
  };
  return {
    rank,
    path,
    method: match?.method ?? '',
    headers: compileValues(headerMatches, getExpression, addProblem),
    queryParams: compileValues(queryMatches, getExpression, addProblem),
  };
}

function compilePath(
  path: PathMatch | undefined,
  getExpression: GetExpression,
  addProblem: (problem: string) => void,
): PathCondition {
  if (path === undefined) return { type: 'prefix', value: '' };
  try {
    switch (path.type) {
      case PathMatchType.EXACT:
        return { type: 'exact', value: readPath(path.value) };
      case PathMatchType.PREFIX:
        return { type: 'prefix', value: readPath(path.value).replace(/\/$/, '') };
      case PathMatchType.REGULAR_EXPRESSION:
        return { type: 'regularExpression', expression: getExpression(path.value) };
      default:
        throw new RouteError('this gateway does not support the type of the path match');
    }
  } catch (error) {
    addProblem(describeError(error));
    const literal = path.type === PathMatchType.REGULAR_EXPRESSION ? readLiteralStart(path.value) : '';
    return {
      type: 'regularExpression',
      expression: { source: path.value, matches: (text) => text.startsWith(literal) },
    };
  }
}

/** The rule cannot be served as it is configured. */
class RouteError extends Error {
  readonly code = 'invalid_route';
}

/** Normalizes configured paths like requested ones; otherwise they would never match. */
function readPath(path: string): string {
  const target = readTarget(path);
  if (!target.ok) throw new RouteError(`no request can have the path ${JSON.stringify(path)}: ${target.detail}`);
  if (target.query !== '') throw new RouteError(`no request can have the path ${JSON.stringify(path)}: it has a query`);
  return target.path;
}

/** The literal prefix of everything that a (broken) expression may have been meant to match. Short when in doubt. */
function readLiteralStart(source: string): string {
  if (source.includes('|')) return '';
  const literal = /^\^?([\w\-~/]*)/.exec(source)![1]!;
  // A quantifier may follow and make the last character optional.
  return literal.slice(0, -1);
}

function takeFirstOfEachName(
  matches: readonly ValueMatch[],
  normalize: (name: string) => string,
): Map<string, ValueMatch> {
  const first = new Map<string, ValueMatch>();
  for (const match of matches) {
    const name = normalize(match.name);
    if (!first.has(name)) first.set(name, match);
  }
  return first;
}

function compileValues(
  matches: ReadonlyMap<string, ValueMatch>,
  getExpression: GetExpression,
  addProblem: (problem: string) => void,
): ValueCondition[] {
  const conditions: ValueCondition[] = [];
  for (const [name, match] of matches) {
    if (match.type === ValueMatchType.EXACT) {
      conditions.push({ name, expected: match.value });
    } else if (match.type === ValueMatchType.REGULAR_EXPRESSION) {
      try {
        conditions.push({ name, expected: getExpression(match.value) });
      } catch (error) {
        addProblem(describeError(error));
      }
    } else {
      addProblem(`this gateway does not support the type of the match of ${JSON.stringify(name)}`);
    }
  }
  return conditions;
}

function compileWeightedBackends(
  route: Route,
  hasExpression: boolean,
  findMirror: FindMirror,
  backends: Lookup<BackendView>,
  problems: string[],
): WeightedBackends {
  let totalWeight = 0;
  const entries = route.backends.map((message): WeightedBackendConfig => {
    totalWeight += message.weight;
    const view = backends.get(message.backend);
    let { failure } = message;
    let filters = noFilters;
    if (failure === undefined && view?.state !== 'usable') {
      failure = createFailure('BackendNotCompiled', `the backend ${message.backend} cannot be used`);
      if (view?.state !== 'broken') problems.push(`the backend ${message.backend} does not exist`);
    }
    try {
      const compiled = compileFilters(message.filters, findMirror);
      if (compiled.cors !== undefined) {
        throw new RouteError('move CORS to the rule: preflights are answered before a backend is chosen');
      }
      if (compiled.filters.redirect !== undefined) {
        throw new RouteError('a redirect belongs on the rule: it needs no backend');
      }
      if (replacesPrefix(compiled.filters) && hasExpression) throw new RouteError(noPrefixToReplace);
      ({ filters } = compiled);
    } catch (error) {
      problems.push(`a filter of the backend ${message.backend} cannot be applied: ${describeError(error)}`);
      failure ??= createFailure('FilterNotCompiled', describeError(error));
    }
    return {
      backend: message.backend,
      weight: message.weight,
      failure,
      policies: view?.policies ?? noBackendPolicies,
      filters,
    };
  });
  return { entries, totalWeight };
}
