// Matches of routes that lie at the gateway's own OAuth endpoints: the gateway answers there before it looks for a route, so the owner of the route is told. Which
// endpoints there are follows from the routes that lead to protected MCP servers, as in the gateway's compile-protection.ts.
import { listOwnPaths, listRootPaths } from '../ir/endpoint-paths.ts';
import { PathMatchType, type Policy, PolicyTargetKind, type Route } from '../ir/gen/config_pb.ts';
import { formatProxyBackendKey } from '../ir/resource-keys.ts';
import { type ConditionReason, createCondition, type HttpRouteStatus } from './conditions.ts';
import { compareText } from './order.ts';
import { createStatusMaker, findCondition, replaceCondition } from './replace-condition.ts';

/** A match that is never served, or not at its own path. */
interface ShadowedMatch {
  /** Key of the listener. */
  readonly listener: string;
  readonly ruleIndex: number;
  readonly message: string;
}

/** Shadowed matches by namespace/name of the HTTPRoute. */
export type ShadowedMatches = ReadonlyMap<string, readonly ShadowedMatch[]>;

/** A path that leads to a protected MCP server. */
interface ProtectedPath {
  /** Of the hostname; empty: any. */
  readonly pattern: string;
  readonly resourcePath: string;
  readonly matchedPath: string | undefined;
  /** namespace/name of the ProxyPolicy. */
  readonly source: string;
}

const nothing: ShadowedMatches = new Map();

/** Finds them. */
export function findShadowedMatches(routes: readonly Route[], policies: readonly Policy[]): ShadowedMatches {
  const suspects = routes.filter(({ matches }) => matches.some(({ path }) => mayBeShadowed(path?.value ?? '')));
  if (suspects.length === 0) return nothing;
  const byListener = listProtectedPaths(routes, policies);
  if (byListener.size === 0) return nothing;
  const endpoints = new Map<string, ReadonlyMap<string, string>>();
  const findEndpoints = (listener: string, pattern: string): ReadonlyMap<string, string> => {
    const key = `${listener} ${pattern}`;
    const known = endpoints.get(key) ?? listEndpoints(byListener.get(listener) ?? [], pattern);
    endpoints.set(key, known);
    return known;
  };
  const found = new Map<string, ShadowedMatch[]>();
  for (const { httpRoute, ruleIndex, matches, parents } of suspects) {
    for (const { listener, hostnames } of parents) {
      const patterns = hostnames.length === 0 ? [''] : hostnames;
      for (const [at, { path }] of matches.entries()) {
        const sources = patterns.flatMap(
          (pattern) => findEndpoints(listener, pattern).get(trim(path?.value ?? '')) ?? [],
        );
        if (sources.length === 0 || path === undefined) continue;
        const [source] = sources.toSorted(compareText);
        const message = describeMatch(`rules[${ruleIndex}].matches[${at}]`, path, source!);
        if (message === undefined) continue;
        const own = found.get(httpRoute) ?? [];
        found.set(httpRoute, own);
        own.push({ listener, ruleIndex, message });
      }
    }
  }
  return found;
}

/** Every path of an endpoint that takes precedence over routes has one of these. */
function mayBeShadowed(path: string): boolean {
  return path.includes('/.well-known/') || path.startsWith('/.oauth/');
}

function describeMatch(
  place: string,
  { type, value }: { readonly type: PathMatchType; readonly value: string },
  source: string,
): string | undefined {
  const why = `the gateway answers it itself, for the login of ProxyPolicy ${source}`;
  if (type === PathMatchType.EXACT) return `${place}: the path ${value} is never served: ${why}`;
  if (type === PathMatchType.PREFIX) return `${place}: of the prefix ${value}, the path itself is never served: ${why}`;
  return undefined;
}

function listProtectedPaths(
  routes: readonly Route[],
  policies: readonly Policy[],
): ReadonlyMap<string, readonly ProtectedPath[]> {
  const logins = new Map<string, { readonly source: string; readonly resourcePath: string | undefined }>();
  for (const { source, spec, target } of policies) {
    if (spec.case !== 'mcpAuthentication' || target?.kind !== PolicyTargetKind.PROXY_BACKEND) continue;
    const url = URL.parse(spec.value.resource);
    const resourcePath = url === null ? undefined : trim(url.pathname);
    logins.set(formatProxyBackendKey(target.namespace, target.name), { source, resourcePath });
  }
  const byListener = new Map<string, ProtectedPath[]>();
  if (logins.size === 0) return byListener;
  for (const { backends, matches, parents } of routes) {
    const own = backends.flatMap(({ backend, weight }) => (weight > 0 ? (logins.get(backend) ?? []) : []));
    if (own.length === 0) continue;
    for (const { listener, hostnames } of parents) {
      const list = byListener.get(listener) ?? [];
      byListener.set(listener, list);
      for (const pattern of hostnames.length === 0 ? [''] : hostnames)
        for (const { path } of matches)
          for (const { source, resourcePath } of own) {
            const isPlain = path?.type === PathMatchType.EXACT || path?.type === PathMatchType.PREFIX;
            const matchedPath = isPlain ? trim(path.value) : undefined;
            const resource = resourcePath ?? matchedPath;
            if (resource !== undefined) list.push({ pattern, resourcePath: resource, matchedPath, source });
          }
    }
  }
  return byListener;
}

/** The policies whose endpoints take precedence over routes of a hostname, by path without a slash at its end. */
function listEndpoints(paths: readonly ProtectedPath[], pattern: string): ReadonlyMap<string, string> {
  const visible = paths.filter((each) => covers(each.pattern, pattern));
  const endpoints = new Map<string, string>();
  const add = (list: readonly { readonly path: string }[], source: string): void => {
    for (const { path } of list) if (!endpoints.has(trim(path))) endpoints.set(trim(path), source);
  };
  for (const { resourcePath, source } of visible) add(listOwnPaths(resourcePath), source);
  for (const { matchedPath, source } of visible) if (matchedPath !== undefined) add(listOwnPaths(matchedPath), source);
  const [first] = visible;
  if (first !== undefined) {
    const isOnlyOne = new Set(visible.map(({ resourcePath }) => resourcePath)).size === 1;
    const isOnlyConfiguration = new Set(visible.map(({ source }) => source)).size === 1;
    // Routes take precedence over the paths that clients only guess.
    add(
      listRootPaths({ path: first.resourcePath, isOnlyOne, isOnlyConfiguration }, () => true),
      first.source,
    );
  }
  return endpoints;
}

/** Whether the routes of a hostname pattern are also seen by hostnames of another one. */
function covers(wider: string, pattern: string): boolean {
  if (wider === '' || wider === pattern) return true;
  return wider.startsWith('*.') && pattern.endsWith(wider.slice(1));
}

function trim(path: string): string {
  return path.replace(/\/$/, '');
}

/** The statuses of routes, with what is shadowed of them. Unchanged ones are the same objects. */
export function describeShadowedMatches(
  statuses: Readonly<Record<string, HttpRouteStatus>>,
  shadowed: ShadowedMatches,
): Readonly<Record<string, HttpRouteStatus>> {
  if (shadowed.size === 0) return statuses;
  const changed: Record<string, HttpRouteStatus> = {};
  for (const [name, matches] of shadowed) {
    const status = statuses[name];
    if (status !== undefined)
      changed[name] = makeStatus(status, { namespace: name.slice(0, name.indexOf('/')), matches });
  }
  return { ...statuses, ...changed };
}

interface Difference {
  readonly namespace: string;
  readonly matches: readonly ShadowedMatch[];
}

const makeStatus = createStatusMaker(
  (original: HttpRouteStatus, { namespace, matches }: Difference): HttpRouteStatus => ({
    parents: original.parents.map((parent) => {
      const { parentRef, conditions } = parent;
      const gateway = `${parentRef.namespace ?? namespace}/${parentRef.name}/`;
      const own = matches.filter(({ listener }) =>
        parentRef.sectionName === undefined
          ? listener.startsWith(gateway)
          : listener === `${gateway}${parentRef.sectionName}`,
      );
      const accepted = findCondition(conditions, 'Accepted');
      if (own.length === 0 || accepted?.status !== 'True') return parent;
      // Several listeners say the same.
      const rules = [...new Set(own.map(({ ruleIndex }) => ruleIndex))].toSorted((left, right) => left - right);
      const details = [...new Set(own.map(({ message }) => message))];
      const text = `Dropped Rule ${rules.join(', ')}, in part or as a whole: ${details.join('; ')}`;
      const known = findCondition(conditions, 'PartiallyInvalid');
      const condition = createCondition(
        'routeParent',
        'PartiallyInvalid',
        'True',
        known === undefined ? 'Shadowed' : (known.reason as ConditionReason<'routeParent', 'PartiallyInvalid'>),
        known === undefined ? text : `${known.message}; ${text}`,
        accepted.observedGeneration,
      );
      return { ...parent, conditions: replaceCondition(conditions, condition) };
    }),
  }),
);
