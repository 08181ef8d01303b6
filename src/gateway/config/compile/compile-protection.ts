// What MCP authentication protects on each hostname of a listener, and the endpoints that exist there because of it. The operator writes no
// routes for them: they follow from the matches that lead to protected backends.
import type { Listener } from '../../../ir/gen/config_pb.ts';
import { classifyResourceHost, needsNoHost } from '../../../ir/resource-host.ts';
import { type EndpointPath, listOwnPaths, listRootPaths } from '../../../ir/endpoint-paths.ts';
import {
  findResourcePath,
  type McpAuthenticationConfig,
  type ProtectedResource,
  type ResourceHost,
} from '../protected-resource.ts';
import { HostTable } from '../../route/table/hostname.ts';
import { maxSubjectLength } from '../../route/table/regular-expression.ts';
import type { PathCondition, RouteMatchEntry } from '../../route/table/route-table.ts';
import type { ReportProblem } from './compile-problem.ts';
import type { MatchesByHostname, MatchList } from './compile-rules.ts';
import { arrangeMatches } from './match-tables.ts';
import type { HostProtection, OwnEndpoint, RouteConfig } from '../runtime-config.ts';

type Entry = RouteMatchEntry<RouteConfig>;

/** The parts of a listener that determine the URLs of its resources. */
type ResourceListener = Pick<Listener, 'addresses' | 'port' | 'hostname'>;

/** A match, and the hostname pattern that serves it. */
interface HostedEntry {
  readonly entry: Entry;
  readonly pattern: string;
}

/** The protection of a hostname, and the lists that it was computed from. */
interface ProtectionMemo {
  readonly pattern: string;
  readonly listener: string;
  readonly lists: readonly MatchList[];
  readonly protection: HostProtection;
  readonly problems: readonly (readonly [key: string, message: string])[];
}

/** By the hostname's own matches. */
const memos = new WeakMap<MatchList, ProtectionMemo>();
const protectedLists = new WeakMap<MatchList, boolean>();

/**
 * Arranges the protected resources of a listener, whose matches are given by hostname pattern. When two policies claim a path, the policy
 * whose route serves that path wins over one whose resource URL only names it, then the first by precedence; the request path refuses what
 * the other one protects. Every pattern has an entry when any has one: a hostname must not find resources of a less specific pattern that
 * its own routes hide.
 */
export function compileProtection(
  listener: ResourceListener,
  matches: MatchesByHostname,
  report: ReportProblem,
): HostTable<HostProtection> {
  const isProtected = [...matches.values()].some(leadsToProtected);
  if (!isProtected) return new HostTable<HostProtection>([]);
  const problems = new Map<string, readonly [key: string, message: string]>();
  const tables = [...matches.keys()].map((pattern): [string, HostProtection] => {
    const memo = compilePattern(listener, pattern, matches);
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

/** Computes the protection of a pattern from its own matches and those of less specific patterns. */
function compilePattern(listener: ResourceListener, pattern: string, matches: MatchesByHostname): ProtectionMemo {
  const patterns = listVisible(pattern, matches);
  const lists = patterns.map((each) => matches.get(each)!);
  const own = lists[0]!;
  const place = JSON.stringify([listener.addresses, listener.port, listener.hostname]);
  const known = memos.get(own);
  if (known?.pattern === pattern && known.listener === place && areSameLists(known.lists, lists)) return known;
  const problems: (readonly [string, string])[] = [];
  const entries = patterns.flatMap((each) =>
    arrangeMatches(matches.get(each)!).entries.map((entry) => ({ entry, pattern: each })),
  );
  const protection = compileHost(listener, entries, pattern, (key, message) => void problems.push([key, message]));
  const memo = { pattern, listener: place, lists, protection, problems };
  memos.set(own, memo);
  return memo;
}

/** The patterns whose matches apply to hostnames of this pattern, the most specific first. */
function listVisible(pattern: string, matches: MatchesByHostname): readonly string[] {
  const patterns = [pattern];
  for (let at = pattern.indexOf('.'); at !== -1; at = pattern.indexOf('.', at + 1)) {
    const other = `*${pattern.slice(at)}`;
    if (other !== pattern && matches.has(other)) patterns.push(other);
  }
  if (pattern !== '' && matches.has('')) patterns.push('');
  return patterns;
}

function areSameLists(left: readonly MatchList[], right: readonly MatchList[]): boolean {
  return left.length === right.length && left.every((list, index) => list === right[index]);
}

interface Claim {
  readonly host: ResourceHost;
  readonly config: McpAuthenticationConfig;
  readonly backend: string;
  readonly messageScopes: Set<string>;
  /** Paths by which routes lead to it. */
  readonly matchedPaths: Set<string>;
}

function compileHost(
  listener: ResourceListener,
  entries: readonly HostedEntry[],
  pattern: string,
  refuse: ReportProblem,
): HostProtection {
  const claims = claimPaths(listener, entries, pattern, refuse);
  const isOnlyOne = claims.size === 1;
  const isOnlyConfiguration = new Set([...claims.values()].map(({ config }) => config)).size === 1;
  const resources = new Map<string, ProtectedResource>();
  const endpoints = new Map<string, OwnEndpoint>();
  const add = ({ form, path, isRootForm }: EndpointPath, resource: ProtectedResource): void => {
    if (!endpoints.has(path)) endpoints.set(path, { form, resource, isRootForm });
  };
  for (const [path, { host, config, backend, messageScopes }] of claims) {
    const resource: ProtectedResource = {
      host,
      path,
      config,
      backend,
      messageScopes: [...messageScopes],
      isOnlyOne,
      isOnlyConfiguration,
    };
    resources.set(path, resource);
    for (const each of listOwnPaths(path)) add(each, resource);
  }
  // Endpoints under a resource's own path come first, then aliases: a configured URL may differ from the path of the route.
  for (const [path, { matchedPaths }] of claims) {
    for (const other of matchedPaths)
      for (const each of claims.has(other) ? [] : listOwnPaths(other)) add(each, resources.get(path)!);
  }
  const [first] = resources.values();
  if (first !== undefined) {
    const isClaimed = (path: string): boolean => entries.some(({ entry }) => leadsTo(entry.path, path));
    for (const each of listRootPaths(first, isClaimed)) add(each, first);
  }
  return { resources, endpoints };
}

function claimPaths(
  listener: ResourceListener,
  entries: readonly HostedEntry[],
  pattern: string,
  refuse: ReportProblem,
): ReadonlyMap<string, Claim> {
  const claims = new Map<string, Claim>();
  const taken = new Set<string>();
  const asked: ClaimCandidate[] = [];
  for (const { entry, pattern: served } of entries) {
    const { path, method, headers, queryParams, route } = entry;
    const place = path.type === 'regularExpression' ? undefined : `${path.type} ${path.value}`;
    // A match without further conditions shadows all later matches of the same path.
    if (place !== undefined && taken.has(place)) continue;
    if (place !== undefined && method === '' && headers.length === 0 && queryParams.length === 0) taken.add(place);
    const matchedPath = path.type === 'regularExpression' ? undefined : path.value.replace(/\/$/, '');
    for (const { config, backend, scopes } of listAuthentications(route)) {
      const resourcePath = findResourcePath(config, matchedPath);
      if (resourcePath === undefined) {
        refuse(
          route.key,
          `a match by regular expression leads to ${backend}, but ProxyPolicy ${config.source} names no resource; these requests are refused`,
        );
        continue;
      }
      const host = findResourceHost(listener, served, config);
      if (host === undefined) {
        refuse(
          route.key,
          `${served === '' ? 'any host' : served} leads to ${backend}, but ProxyPolicy ${config.source} names no resource; these requests are refused`,
        );
        continue;
      }
      asked.push({ routeKey: route.key, resourcePath, matchedPath, host, config, backend, scopes });
    }
  }
  // A route that serves the path goes first: a policy must not take over another server's path by naming it as its resource.
  const isAtPath = ({ resourcePath, matchedPath }: ClaimCandidate): boolean => resourcePath === matchedPath;
  for (const claim of [...asked.filter(isAtPath), ...asked.filter((each) => !isAtPath(each))]) {
    const { routeKey, resourcePath, matchedPath, host, config, backend, scopes } = claim;
    const known = claims.get(resourcePath);
    if (known !== undefined && known.config !== config) {
      const where = pattern === '' ? 'any host' : pattern;
      refuse(
        routeKey,
        `the path ${resourcePath === '' ? '/' : resourcePath} of ${where} is protected by ProxyPolicy ${known.config.source} and by ${config.source}; requests to ${backend} are refused`,
      );
      continue;
    }
    const { matchedPaths, messageScopes } = known ?? { matchedPaths: new Set(), messageScopes: new Set() };
    if (known === undefined) claims.set(resourcePath, { host, config, backend, matchedPaths, messageScopes });
    for (const scope of scopes) messageScopes.add(scope);
    if (matchedPath !== undefined) matchedPaths.add(matchedPath);
  }
  return claims;
}

/** A match that leads to a protected backend, and the resource that it belongs to. */
interface ClaimCandidate extends Omit<Claim, 'matchedPaths' | 'messageScopes'> {
  readonly scopes: readonly string[];
  readonly routeKey: string;
  readonly resourcePath: string;
  /** Undefined: the match has no path of its own. */
  readonly matchedPath: string | undefined;
}

/** The host of a resource. Undefined: only the request could tell. */
function findResourceHost(
  listener: ResourceListener,
  pattern: string,
  { message }: McpAuthenticationConfig,
): ResourceHost | undefined {
  const configured = URL.parse(message.resource);
  if (configured !== null) return { kind: 'configured', origin: configured.origin };
  const hostname = pattern === '' ? listener.hostname.toLowerCase() : pattern;
  const { port } = listener;
  switch (classifyResourceHost(listener, hostname)) {
    case 'exact':
      return { kind: 'exact', hostname, port };
    case 'loopback':
      return { kind: 'loopback', port };
    case 'open':
      return needsNoHost(message) ? { kind: 'asked' } : undefined;
  }
}

interface Authentication {
  readonly config: McpAuthenticationConfig;
  readonly backend: string;
  readonly scopes: readonly string[];
}

function listAuthentications(route: RouteConfig): readonly Authentication[] {
  return route.backends.entries.flatMap(({ backend, weight, policies }) => {
    const config = policies['backend.mcp.authentication'];
    if (config === undefined || weight === 0 || policies.failure !== undefined) return [];
    return [
      { config, backend, scopes: policies['backend.mcp.authorization']?.scopes.flatMap(({ scopes }) => scopes) ?? [] },
    ];
  });
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
