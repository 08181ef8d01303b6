// What the gateway serves, from the tables that the request path uses: every match in the order in which it is tried, for /routes.
import { isSecretName } from '../../base/redact.ts';
import type {
  BackendConfig,
  ListenerConfig,
  PortConfig,
  RouteConfig,
  RouteFilters,
  RuntimeConfig,
} from '../config/runtime-config.ts';
import { type DescribedProtection, describeProtection } from './describe-protection.ts';
import { formatEndpointName } from './endpoint-name.ts';
import type { FlowChoice } from '../config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../config/protected-resource.ts';
import type { RouteMatchEntry, ValueCondition } from '../route/table/route-table.ts';

export interface ServedRoutes {
  readonly version: number;
  readonly ports: readonly ServedPort[];
}

interface ServedPort {
  /** Empty: every interface. */
  readonly address: string;
  readonly port: number;
  readonly protocol: 'HTTP' | 'HTTPS';
  readonly listeners: readonly ServedListener[];
}

interface ServedListener {
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
  readonly protection: DescribedProtection;
  /** Set: the rule answers this instead of being served. */
  readonly answers: { readonly status: number; readonly reason: string; readonly message: string } | undefined;
}

interface ServedBackend {
  readonly backend: string;
  readonly weight: number;
  readonly endpoints: readonly string[];
  /** Its MCP authentication: the policy, its identity provider, and the flow in force; undefined: none. */
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
      .flatMap(([host, table]) => table.entries.map((entry) => describeMatch(host, entry, listener, runtime))),
  }));
  return { address: port.address, port: port.port, protocol: port.protocol, listeners };
}

function describeMatch(
  hostname: string,
  entry: RouteMatchEntry<RouteConfig>,
  listener: ListenerConfig,
  runtime: RuntimeConfig,
): ServedMatch {
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
    protection: describeProtection(route, runtime.policyConflicts, listener.clientAuthorities !== undefined),
    answers: describeFailure(
      route.failure ?? route.policies.failure?.failure ?? route.unprotected?.failure ?? route.closedByDefault?.failure,
    ),
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
  return route.backends.entries.map(({ backend, weight, failure, policies }) => ({
    backend,
    weight,
    endpoints: listEndpoints(runtime.backends.get(backend)),
    authentication: describeAuthentication(policies['backend.mcp.authentication']),
    answers: describeFailure(failure ?? policies.failure?.failure),
  }));
}

/** Those of a federation are its servers'. */
function listEndpoints(backend: BackendConfig | undefined): string[] {
  const servers = backend?.federation?.targets.map(({ backend: own }) => own) ?? [];
  return [...(backend?.endpoints ?? []), ...servers.flatMap(({ endpoints }) => endpoints)].map(formatEndpointName);
}

function describeAuthentication(config: McpAuthenticationConfig | undefined): ServedBackend['authentication'] {
  if (config === undefined) return undefined;
  const { source, message, idp } = config;
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

function describeFailure(
  failure: { readonly status: number; readonly reason: string; readonly message: string } | undefined,
): ServedMatch['answers'] {
  if (failure === undefined) return undefined;
  const { status, reason, message } = failure;
  return { status, reason, message };
}
