// What the gateway serves, from the tables that the request path uses: every match in the order in which it is tried, for /routes.
import { isSecretName } from '../../base/redact.ts';
import type { PortConfig, RouteConfig, RouteFilters, RuntimeConfig } from '../config/runtime-config.ts';
import { type DescribedAuthentication, formatFlow } from './describe-authentications.ts';
import type { FlowChoice } from '../policies/mcp-authentication/idp-connection.ts';
import type { McpAuthenticationConfig } from '../policies/mcp-authentication/protected-resource.ts';
import type { RouteMatchEntry, ValueCondition } from '../route/route-table.ts';

export interface ServedRoutes {
  readonly version: number;
  readonly ports: readonly ServedPort[];
}

export interface ServedPort {
  /** Empty: every interface. */
  readonly address: string;
  readonly port: number;
  readonly protocol: 'HTTP' | 'HTTPS';
  readonly listeners: readonly ServedListener[];
}

export interface ServedListener {
  readonly listener: string;
  /** Empty: any. */
  readonly hostname: string;
  /** The first that fits is served: by hostname, then in this order. */
  readonly matches: readonly ServedMatch[];
}

export interface ServedMatch {
  /** Empty: any. */
  readonly hostname: string;
  readonly path: { readonly type: 'exact' | 'prefix' | 'regularExpression'; readonly value: string };
  /** Empty: any. */
  readonly method: string;
  readonly headers: readonly string[];
  readonly queryParams: readonly string[];
  /** namespace/name of the HTTPRoute. */
  readonly route: string;
  /** The rule's name, or its index. */
  readonly rule: string;
  readonly backends: readonly ServedBackend[];
  readonly filters: readonly string[];
  readonly policies: readonly string[];
  /** Set: the rule answers this instead of being served. */
  readonly answers: { readonly status: number; readonly reason: string; readonly message: string } | undefined;
}

export interface ServedBackend {
  readonly backend: string;
  readonly weight: number;
  readonly endpoints: readonly string[];
  /** Who protects it: the policy, its identity provider, and the flow in force; undefined: nobody. */
  readonly authentication:
    | { readonly policy: string; readonly issuer: string; readonly flow: FlowChoice | null }
    | undefined;
  readonly answers: { readonly status: number; readonly reason: string; readonly message: string } | undefined;
}

/** Describes the configuration in force. */
export function describeRoutes(runtime: RuntimeConfig): ServedRoutes {
  const ports = [...runtime.ports.values()].map((port) => describePort(port, runtime));
  ports.sort((left, right) => left.port - right.port || left.address.localeCompare(right.address));
  return { version: runtime.version, ports };
}

function describePort(port: PortConfig, runtime: RuntimeConfig): ServedPort {
  const listeners = port.listeners.entries().map(([hostname, listener]) => ({
    listener: listener.key,
    hostname,
    matches: listener.routes
      .entries()
      .flatMap(([host, table]) => table.entries.map((entry) => describeMatch(host, entry, runtime))),
  }));
  return { address: port.address, port: port.port, protocol: port.protocol, listeners };
}

function describeMatch(hostname: string, entry: RouteMatchEntry<RouteConfig>, runtime: RuntimeConfig): ServedMatch {
  const { route } = entry;
  return {
    hostname,
    path: describePath(entry),
    method: entry.method,
    headers: entry.headers.map(describeCondition),
    queryParams: entry.queryParams.map(describeCondition),
    route: route.httpRoute,
    rule: route.ruleName === '' ? String(route.ruleIndex) : route.ruleName,
    backends: describeBackends(route, runtime),
    filters: describeFilters(route.filters),
    policies: describePolicies(route),
    answers: describeFailure(route.failure ?? route.policies.failure?.failure),
  };
}

function describePath(entry: RouteMatchEntry<RouteConfig>): ServedMatch['path'] {
  const { path } = entry;
  if (path.type === 'regularExpression') return { type: path.type, value: path.expression.source };
  return { type: path.type, value: path.value === '' ? '/' : path.value };
}

function describeCondition(condition: ValueCondition): string {
  const { name, expected } = condition;
  if (isSecretName(name)) return `${name}=[redacted]`;
  return typeof expected === 'string' ? `${name}=${expected}` : `${name}~${expected.source}`;
}

function describeBackends(route: RouteConfig, runtime: RuntimeConfig): ServedBackend[] {
  return route.backends.entries.map(({ backend, weight, failure, policyFailure, authentication }) => ({
    backend,
    weight,
    endpoints: (runtime.backends.get(backend)?.endpoints ?? []).map(({ host, port }) =>
      host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
    ),
    authentication: authentication === undefined ? undefined : describeAuthentication(authentication),
    answers: describeFailure(failure ?? policyFailure?.failure),
  }));
}

function describeAuthentication({ source, message, idp }: McpAuthenticationConfig): ServedBackend['authentication'] {
  return { policy: source, issuer: message.issuer, flow: idp.getFlow() ?? null };
}

function describeFilters(filters: RouteFilters): string[] {
  const names: string[] = [];
  if (filters.requestHeaders.length > 0) names.push('request headers');
  if (filters.responseHeaders.length > 0) names.push('response headers');
  if (filters.redirect !== undefined) names.push(`redirect ${filters.redirect.statusCode}`);
  if (filters.rewrite !== undefined) names.push('rewrite');
  for (const mirror of filters.mirrors) names.push(`mirror to ${mirror.backend}`);
  return names;
}

function describePolicies(route: RouteConfig): string[] {
  const names: string[] = [];
  if (route.policies.failure !== undefined) names.push(`${route.policies.failure.source} (closed)`);
  if (route.policies.cors !== undefined) names.push('cors');
  for (const authentication of listAuthentications(route)) names.push(`authentication ${authentication.source}`);
  return names;
}

/** Those of its backends, each once. */
function listAuthentications({ backends }: RouteConfig): Set<McpAuthenticationConfig> {
  return new Set(backends.entries.flatMap(({ authentication }) => authentication ?? []));
}

function describeFailure(
  failure: { readonly status: number; readonly reason: string; readonly message: string } | undefined,
): ServedMatch['answers'] {
  if (failure === undefined) return undefined;
  const { status, reason, message } = failure;
  return { status, reason, message };
}

/** The same as a table for a terminal. */
export function formatRoutes(served: ServedRoutes, authentications: readonly DescribedAuthentication[] = []): string {
  if (served.ports.length === 0) return 'Nothing is served: the configuration has no usable listener.\n';
  const lines: string[] = [];
  for (const port of served.ports) {
    lines.push(`${port.address === '' ? '*' : port.address}:${port.port} ${port.protocol}`);
    for (const listener of port.listeners) {
      lines.push(`  listener ${listener.listener}, host ${listener.hostname === '' ? 'any' : listener.hostname}`);
      if (listener.matches.length === 0) lines.push('    no routes: every request is answered 404');
      else lines.push(...formatTable(listener.matches.map(formatMatch)).map((line) => `    ${line}`));
    }
    lines.push('');
  }
  for (const { policy, mode, issuer, flow, keysLoaded, resources } of authentications) {
    lines.push(`authentication ${policy} (${mode}), issuer ${issuer}`);
    lines.push(`  flow ${formatFlow(flow)}`);
    if (!keysLoaded) lines.push('  keys not loaded: every request is answered 503');
    for (const { url, metadataUrls } of resources) lines.push(`  ${url}`, ...metadataUrls.map((each) => `    ${each}`));
    lines.push('');
  }
  return lines.join('\n');
}

function formatMatch(match: ServedMatch): string[] {
  const conditions = [
    `${match.path.type === 'regularExpression' ? 'regex' : match.path.type} ${match.path.value}`,
    ...match.headers.map((header) => `header ${header}`),
    ...match.queryParams.map((parameter) => `query ${parameter}`),
  ];
  const notes = [...match.policies, ...match.filters];
  return [
    match.hostname === '' ? '*' : match.hostname,
    match.method === '' ? 'any' : match.method,
    conditions.join(', '),
    `${match.route} rule ${match.rule}`,
    match.answers === undefined
      ? formatBackends(match)
      : `answers ${match.answers.status} ${match.answers.reason}: ${match.answers.message}`,
    notes.length === 0 ? '-' : notes.join(', '),
  ];
}

function formatBackends(match: ServedMatch): string {
  if (match.backends.length === 0) return '-';
  return match.backends
    .map(({ backend, weight, endpoints, answers }) => {
      const share = match.backends.length > 1 ? ` weight ${weight}` : '';
      if (answers !== undefined) return `${backend}${share} answers ${answers.status} ${answers.reason}`;
      return `${backend}${share} (${endpoints.length === 0 ? 'no endpoints' : endpoints.join(' ')})`;
    })
    .join(', ');
}

const tableHead = ['HOST', 'METHOD', 'MATCH', 'ROUTE', 'BACKENDS', 'POLICIES, FILTERS'];

function formatTable(rows: readonly (readonly string[])[]): string[] {
  const all = [tableHead, ...rows];
  const widths = tableHead.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}
