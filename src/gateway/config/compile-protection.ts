// What MCP authentication protects on each hostname of a listener, and the endpoints that exist there because of it. The operator writes no
// routes for them: they follow from the matches that lead to protected backends.
import { type EndpointPath, listOwnPaths, listRootPaths } from '../policies/mcp-authentication/endpoint-paths.ts';
import {
  findResourcePath,
  type McpAuthenticationConfig,
  type ProtectedResource,
} from '../policies/mcp-authentication/protected-resource.ts';
import { HostTable } from '../route/hostname.ts';
import { maxSubjectLength } from '../route/regular-expression.ts';
import type { PathCondition, RouteMatchEntry } from '../route/route-table.ts';
import type { ReportProblem } from './compile-problem.ts';
import type { MatchesByHostname, MatchList } from './compile-rules.ts';
import { arrangeMatches } from './match-tables.ts';
import type { HostProtection, OwnEndpoint, RouteConfig } from './runtime-config.ts';

type Entry = RouteMatchEntry<RouteConfig>;

/** What a hostname has, and from which lists that follows. */
interface ProtectionMemo {
  readonly pattern: string;
  readonly lists: readonly MatchList[];
  readonly protection: HostProtection;
  readonly problems: readonly (readonly [key: string, message: string])[];
}

/** By the hostname's own matches. */
const memos = new WeakMap<MatchList, ProtectionMemo>();
const protectedLists = new WeakMap<MatchList, boolean>();

/**
 * Arranges the protected resources of a listener, whose matches are given by hostname pattern. A path that two policies claim goes to the
 * first by precedence; the request path refuses what the other one protects. Every pattern has an entry when any has: a hostname must not
 * find the resources of a less specific one that its own routes hide.
 */
export function compileProtection(matches: MatchesByHostname, report: ReportProblem): HostTable<HostProtection> {
  const isProtected = [...matches.values()].some(leadsToProtected);
  if (!isProtected) return new HostTable<HostProtection>([]);
  const problems = new Map<string, readonly [key: string, message: string]>();
  const tables = [...matches.keys()].map((pattern): [string, HostProtection] => {
    const memo = compilePattern(pattern, matches);
    for (const problem of memo.problems) problems.set(JSON.stringify(problem), problem);
    return [pattern, memo.protection];
  });
  for (const [key, message] of problems.values()) report(key, message);
  return new HostTable(tables);
}

function leadsToProtected(list: MatchList): boolean {
  let answer = protectedLists.get(list);
  if (answer === undefined) {
    answer = list.some(({ route }) => listAuthentications(route).length > 0);
    protectedLists.set(list, answer);
  }
  return answer;
}

/** What its own matches and those of less specific patterns make of a pattern. */
function compilePattern(pattern: string, matches: MatchesByHostname): ProtectionMemo {
  const lists = listVisible(pattern, matches);
  const own = lists[0]!;
  const known = memos.get(own);
  if (known !== undefined && known.pattern === pattern && areSameLists(known.lists, lists)) return known;
  const problems: (readonly [string, string])[] = [];
  const entries = lists.flatMap((list) => arrangeMatches(list).entries);
  const protection = compileHost(entries, pattern, (key, message) => void problems.push([key, message]));
  const memo = { pattern, lists, protection, problems };
  memos.set(own, memo);
  return memo;
}

/** The matches that requests with a hostname of this pattern may meet, the most specific first. */
function listVisible(pattern: string, matches: MatchesByHostname): readonly MatchList[] {
  const lists = [matches.get(pattern)!];
  for (let at = pattern.indexOf('.'); at !== -1; at = pattern.indexOf('.', at + 1)) {
    const other = `*${pattern.slice(at)}`;
    const list = other === pattern ? undefined : matches.get(other);
    if (list !== undefined) lists.push(list);
  }
  const any = pattern === '' ? undefined : matches.get('');
  if (any !== undefined) lists.push(any);
  return lists;
}

function areSameLists(left: readonly MatchList[], right: readonly MatchList[]): boolean {
  return left.length === right.length && left.every((list, index) => list === right[index]);
}

interface Claim {
  readonly config: McpAuthenticationConfig;
  readonly backend: string;
  /** Paths by which routes lead to it. */
  readonly matchedPaths: Set<string>;
}

function compileHost(entries: readonly Entry[], pattern: string, refuse: ReportProblem): HostProtection {
  const claims = claimPaths(entries, pattern, refuse);
  const isOnlyOne = claims.size === 1;
  const isOnlyConfiguration = new Set([...claims.values()].map(({ config }) => config)).size === 1;
  const resources = new Map<string, ProtectedResource>();
  const endpoints = new Map<string, OwnEndpoint>();
  const add = ({ form, path, isRootForm }: EndpointPath, resource: ProtectedResource): void => {
    if (!endpoints.has(path)) endpoints.set(path, { form, resource, isRootForm });
  };
  for (const [path, { config, backend }] of claims) {
    const resource: ProtectedResource = { path, config, backend, isOnlyOne, isOnlyConfiguration };
    resources.set(path, resource);
    for (const each of listOwnPaths(path)) add(each, resource);
  }
  // What a resource has by its own name goes first. Then other names for it: a configured URL may differ from the path of the route.
  for (const [path, { matchedPaths }] of claims) {
    for (const other of matchedPaths)
      for (const each of claims.has(other) ? [] : listOwnPaths(other)) add(each, resources.get(path)!);
  }
  const [first] = resources.values();
  if (first !== undefined) {
    const isClaimed = (path: string): boolean => entries.some((entry) => leadsTo(entry.path, path));
    for (const each of listRootPaths(first, isClaimed)) add(each, first);
  }
  return { resources, endpoints };
}

function claimPaths(entries: readonly Entry[], pattern: string, refuse: ReportProblem): ReadonlyMap<string, Claim> {
  const claims = new Map<string, Claim>();
  const taken = new Set<string>();
  for (const { path, method, headers, queryParams, route } of entries) {
    const place = path.type === 'regularExpression' ? undefined : `${path.type} ${path.value}`;
    // Nothing behind a match without further conditions is ever reached by the same path.
    if (place !== undefined && taken.has(place)) continue;
    if (place !== undefined && method === '' && headers.length === 0 && queryParams.length === 0) taken.add(place);
    const matchedPath = path.type === 'regularExpression' ? undefined : path.value;
    for (const { config, backend } of listAuthentications(route)) {
      const resourcePath = findResourcePath(config, matchedPath);
      if (resourcePath === undefined) {
        refuse(
          route.key,
          `a match by regular expression leads to ${backend}, whose ProxyPolicy ${config.source} names no resource; its requests are refused`,
        );
        continue;
      }
      const claim = claims.get(resourcePath);
      if (claim !== undefined && claim.config !== config) {
        const host = pattern === '' ? 'any host' : pattern;
        refuse(
          route.key,
          `the path ${resourcePath === '' ? '/' : resourcePath} of ${host} is protected by ProxyPolicy ${claim.config.source} and by ${config.source}; requests to ${backend} are refused`,
        );
        continue;
      }
      const { matchedPaths } = claim ?? { matchedPaths: new Set<string>() };
      if (claim === undefined) claims.set(resourcePath, { config, backend, matchedPaths });
      if (matchedPath !== undefined) matchedPaths.add(matchedPath.replace(/\/$/, ''));
    }
  }
  return claims;
}

function listAuthentications(
  route: RouteConfig,
): readonly { readonly config: McpAuthenticationConfig; readonly backend: string }[] {
  return route.backends.entries.flatMap(({ authentication, backend, weight, policyFailure }) =>
    authentication === undefined || weight === 0 || policyFailure !== undefined
      ? []
      : [{ config: authentication, backend }],
  );
}

function leadsTo(condition: PathCondition, path: string): boolean {
  switch (condition.type) {
    case 'exact':
      return condition.value === path;
    case 'prefix':
      return path === condition.value || path.startsWith(`${condition.value}/`);
    case 'regularExpression':
      return path.length <= maxSubjectLength && condition.expression.matches(path);
  }
}
