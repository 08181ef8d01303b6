// Why a request meets the rule that it meets: every match before it in the order of precedence is tried alone, by the code of the request path.
import { describeRoutes, type ServedMatch } from '../../gateway/admin/describe-routes.ts';
import type { ListenerConfig, RouteConfig, RuntimeConfig } from '../../gateway/config/runtime-config.ts';
import { HostTable } from '../../gateway/route/table/hostname.ts';
import {
  type MatchRequest,
  MatchSubject,
  type RouteMatchEntry,
  RouteTable,
} from '../../gateway/route/table/route-table.ts';
import type { ExplainedRoute, PassedOver } from './explain-report.ts';

type Entry = RouteMatchEntry<RouteConfig>;

/** The way to a rule. */
export interface TracedRoute {
  readonly match: string;
  readonly passedOver: readonly PassedOver[];
}

const maxPassedOver = 8;

/** Walks through the matches of a listener until the one that `route` was met by; without a route, through all of them. */
export function traceRoute(
  runtime: RuntimeConfig,
  listener: ListenerConfig,
  request: MatchRequest,
  route: RouteConfig | undefined,
): TracedRoute {
  const passedOver: PassedOver[] = [];
  for (const { entry, hostname, served } of listMatches(runtime, listener)) {
    const miss = findMiss(entry, hostname, request);
    if (miss === undefined) {
      if (route === undefined || entry.route === route) return { match: formatMatch(served), passedOver };
      continue;
    }
    // Of a request that no rule serves every match tells something; otherwise only those that nearly had it.
    if ((miss.isNear || route === undefined) && passedOver.length < maxPassedOver)
      passedOver.push({ httpRoute: served.route, rule: served.rule, match: formatMatch(served), why: miss.why });
  }
  return { match: '', passedOver };
}

/** The rule as the report names it. */
export function describeRoute({ httpRoute, ruleName, ruleIndex }: RouteConfig, match: string): ExplainedRoute {
  return { httpRoute, rule: ruleName === '' ? String(ruleIndex) : ruleName, match };
}

interface ListedMatch {
  readonly entry: Entry;
  readonly hostname: string;
  readonly served: ServedMatch;
}

/** All matches in the order in which they are tried, with the words of the admin pages for each. */
function listMatches(runtime: RuntimeConfig, listener: ListenerConfig): ListedMatch[] {
  const described = describeRoutes(runtime)
    .ports.flatMap(({ listeners }) => listeners)
    .find((served) => served.listener === listener.key);
  let index = 0;
  return listener.routes.entries().flatMap(([hostname, table]) =>
    table.entries.map((entry) => {
      const served = described!.matches[index]!;
      index += 1;
      return { entry, hostname, served };
    }),
  );
}

interface Miss {
  readonly why: string;
  /** Host and path are right. */
  readonly isNear: boolean;
}

/** What keeps one match from serving the request; undefined: nothing does. */
function findMiss(entry: Entry, hostname: string, request: MatchRequest): Miss | undefined {
  if (new HostTable([[hostname, true]]).find(request.hostname) === undefined)
    return { why: `the host is not ${hostname}`, isNear: false };
  const bare = { ...entry, method: '', headers: [], queryParams: [] };
  if (!matches(bare, request)) return { why: 'another path', isNear: false };
  if (!matches({ ...bare, method: entry.method }, request))
    return { why: `the method is ${request.method}`, isNear: true };
  const subject = new MatchSubject(request);
  const header = entry.headers.find((each) => !matches({ ...bare, headers: [each] }, request));
  if (header !== undefined)
    return { why: describeValue(`the header ${header.name}`, subject.getHeader(header.name)), isNear: true };
  const parameter = entry.queryParams.find((each) => !matches({ ...bare, queryParams: [each] }, request));
  if (parameter !== undefined) {
    const what = `the query parameter ${parameter.name}`;
    return { why: describeValue(what, subject.getQueryParam(parameter.name)), isNear: true };
  }
  return undefined;
}

/** The value itself may be a credential. */
function describeValue(what: string, value: string | undefined): string {
  return value === undefined ? `${what} is absent` : `${what} has another value`;
}

function matches(entry: Entry, request: MatchRequest): boolean {
  return new RouteTable([entry]).find(new MatchSubject(request)) !== undefined;
}

function formatMatch({ path, method, headers, queryParams, hostname }: ServedMatch): string {
  const shown = {
    exact: path.value,
    prefix: `${path.value === '/' ? '' : path.value}/*`,
    regularExpression: `~ ${path.value}`,
  }[path.type];
  return [
    method,
    shown,
    ...headers.map((header) => `header ${header}`),
    ...queryParams.map((parameter) => `query ${parameter}`),
    ...(hostname === '' ? [] : [`host ${hostname}`]),
  ]
    .filter((part) => part !== '')
    .join(' ');
}
