// The gateway on one page: what is open, listeners, routes, backends, policies, identity providers and the configuration, from what is in force. Pure.
import type { TokenIssuer } from '../config/token-issuer.ts';
import { describeIssuedTokens, formatIssuedTokens } from './describe-issued-tokens.ts';
import { type AccessCount, formatOpen } from '../../base/access-count.ts';
import { findPolicyKind, policyKinds, policyTargetNames } from '../../ir/policy-kinds.ts';
import type { Configuration } from '../../ir/configuration.ts';
import type { Policy } from '../../ir/gen/config_pb.ts';
import type { PolicyKeyProblem } from '../authentication/key-problems.ts';
import type { KeySourceStatus } from '../authentication/token/key-source.ts';
import type { AppliedConfiguration } from '../config/compile/applied-configuration.ts';
import type { BackendConfig, RuntimeConfig } from '../config/runtime-config.ts';
import type { ServerConfig } from '../config/server-config.ts';
import type { EndpointState } from '../forward/upstream/endpoint-state.ts';
import type { FederationState } from '../mcp/federation/federation-state.ts';
import { formatBackendName } from '../request/backend-name.ts';
import { formatFlow } from './describe-authentications.ts';
import { describeFederations, type DescribedTarget } from './describe-federations.ts';
import { formatEndpointName } from './endpoint-name.ts';
import { describeRoutes, type ServedMatch, type ServedRoutes } from './describe-routes.ts';
import { type Badge, listBadges } from './protection-badges.ts';

/** What changes without a new configuration. */
export interface GatewayState {
  /** Undefined: no configuration was applied yet. */
  readonly applied: AppliedConfiguration | undefined;
  readonly endpoints: readonly EndpointState[];
  readonly federations: readonly FederationState[];
  readonly keyProblems: readonly PolicyKeyProblem[];
  /** What is wrong with the resources, whatever is in force of them. */
  readonly sourceProblems: readonly string[];
  /** Processes that serve. */
  readonly workers: number;
}

/** Everything that the page shows. */
export interface Overview {
  readonly version: number;
  readonly appliedAtMs: number | undefined;
  readonly workers: number;
  readonly problems: readonly string[];
  readonly listeners: readonly OverviewListener[];
  readonly routes: readonly OverviewRoute[];
  readonly backends: readonly OverviewBackend[];
  readonly policies: readonly OverviewPolicy[];
  readonly idps: readonly OverviewIdp[];
}

/** A listener of a Gateway. */
export interface OverviewListener {
  /** namespace/gateway/listener. */
  readonly name: string;
  /** "127.0.0.1:8080", "*:443". */
  readonly address: string;
  readonly protocol: string;
  /** Empty: any. */
  readonly hostname: string;
  readonly routes: number;
  /** Empty: it is served. */
  readonly problems: readonly string[];
}

/** A rule of an HTTPRoute, with where it is served; one that listeners protect differently is several of these. */
export interface OverviewRoute {
  /** namespace/name of the HTTPRoute. */
  readonly route: string;
  readonly rule: string;
  /** "POST mcp.example/mcp/*". */
  readonly places: readonly string[];
  readonly listeners: readonly string[];
  readonly backends: readonly string[];
  readonly filters: readonly string[];
  readonly badges: readonly Badge[];
  /** Anybody is served, by one of its backends at least. */
  readonly isOpen: boolean;
  /** A policy opens it on purpose. */
  readonly isPublic: boolean;
  /** It is closed because nothing protects it. */
  readonly isUnprotected: boolean;
  /** What it answers instead of being served; undefined: it is served. */
  readonly answers: string | undefined;
}

/** Where requests go. */
export interface OverviewBackend {
  readonly name: string;
  /** "MCP at /mcp, HTTP/1.1, TLS". */
  readonly protocol: string;
  /** Of a federation: those of all its servers. */
  readonly endpoints: readonly OverviewEndpoint[];
  /** Empty: it is no federation. */
  readonly targets: readonly OverviewTarget[];
}

/** A server of a federation. */
export interface OverviewTarget extends Omit<DescribedTarget, 'endpoints'> {
  readonly endpoints: readonly OverviewEndpoint[];
}

/** One of its endpoints. */
export interface OverviewEndpoint {
  readonly name: string;
  readonly isEjected: boolean;
  readonly outstanding: number;
  readonly lastFailure: EndpointState['lastFailure'];
}

/** One field of a ProxyPolicy at one target. */
export interface OverviewPolicy {
  /** namespace/name. */
  readonly policy: string;
  readonly field: string;
  readonly title: string;
  readonly target: string;
  /** closed: its target is closed, because it cannot be enforced. failing: it refuses what it cannot judge now. silent: another policy has its place. */
  readonly state: 'in force' | 'closed' | 'failing' | 'silent';
  readonly problems: readonly string[];
}

/** An issuer whose tokens are accepted, with its keys. */
export interface OverviewIdp {
  readonly issuer: string;
  /** namespace/name of the ProxyPolicies that use it. */
  readonly policies: readonly string[];
  /** The login flow and why; undefined: clients do not log in through the gateway. */
  readonly flow: string | undefined;
  /** Tokens of the gateway's own, in one line; undefined: it issues none. */
  readonly issuedTokens: string | undefined;
  readonly hasKeys: boolean;
  readonly keys: KeySourceStatus | undefined;
}

/** Describes what is in force. */
export function describeOverview(configuration: Configuration, runtime: RuntimeConfig, state: GatewayState): Overview {
  const served = describeRoutes(runtime);
  const { applied } = state;
  return {
    version: runtime.version,
    appliedAtMs: applied?.atMs,
    workers: state.workers,
    problems: [
      ...new Set([
        ...state.sourceProblems,
        ...(applied?.problems ?? []).map(({ key, message }) => `${key}: ${message}`),
        ...(applied?.bindProblems ?? []).map(({ message }) => message),
      ]),
    ],
    listeners: describeListeners(configuration, served, applied),
    routes: groupRoutes(served),
    backends: describeBackends(runtime, state),
    // What closes unprotected routes is a setting, not a policy.
    policies: describePolicies(
      configuration.policies.filter(({ needsAuthentication }) => !needsAuthentication),
      runtime,
      state,
    ),
    idps: describeIdps(runtime),
  };
}

/** Counts routes. */
export function countAccess(routes: readonly OverviewRoute[]): AccessCount {
  const open = routes.filter(({ isOpen }) => isOpen);
  return {
    routes: routes.length,
    open: open.length,
    publicAccess: open.filter(({ isPublic }) => isPublic).length,
    closed: routes.filter(({ isUnprotected }) => isUnprotected).length,
  };
}

/** How many routes anybody may use: "2 of 7 routes are OPEN". */
export function formatOpenCount(routes: readonly OverviewRoute[]): string {
  return formatOpen(countAccess(routes));
}

function describeListeners(
  { listeners }: Configuration,
  { ports }: ServedRoutes,
  applied: AppliedConfiguration | undefined,
): OverviewListener[] {
  return listeners.flatMap(({ key, addresses, port, protocol, hostname }) =>
    (addresses.length === 0 ? [''] : addresses).map((address): OverviewListener => {
      const bound = ports.find((each) => each.port === port && each.address === address);
      const served = bound?.listeners.find(({ listener }) => listener === key);
      const problems = [
        ...(applied?.problems ?? []).filter((each) => each.list === 'listeners' && each.key === key),
        ...(applied?.bindProblems ?? []).filter(({ bindKey }) => bindKey === `${address}|${port}`),
      ].map(({ message }) => message);
      return {
        name: key,
        address: formatAddress(address, port),
        protocol: protocolNames[protocol] ?? 'unknown',
        hostname,
        routes: new Set((served?.matches ?? []).map(({ route, rule }) => `${route} ${rule}`)).size,
        problems: served === undefined && problems.length === 0 ? ['It is not served.'] : [...new Set(problems)],
      };
    }),
  );
}

const protocolNames: Readonly<Record<number, string>> = { 1: 'HTTP', 2: 'HTTPS' };

function formatAddress(address: string, port: number): string {
  return `${address === '' ? '*' : address.includes(':') ? `[${address}]` : address}:${port}`;
}

/** Rules in the order in which they are tried, each once. */
export function groupRoutes({ ports }: ServedRoutes): OverviewRoute[] {
  const groups = new Map<string, { readonly match: ServedMatch; places: Set<string>; listeners: Set<string> }>();
  for (const { listener, matches } of ports.flatMap(({ listeners }) => listeners)) {
    for (const match of matches) {
      const key = JSON.stringify([match.route, match.rule, match.protection, match.answers ?? null]);
      const group = groups.get(key) ?? { match, places: new Set(), listeners: new Set() };
      group.places.add(formatPlace(match));
      group.listeners.add(listener);
      groups.set(key, group);
    }
  }
  return [...groups.values()].map(({ match, places, listeners }) => describeRoute(match, [...places], [...listeners]));
}

/** One match as a row; `places` and `listeners` say where it is served. */
export function describeRoute(
  match: ServedMatch,
  places: readonly string[],
  listeners: readonly string[],
): OverviewRoute {
  const { route, rule, backends, filters, protection, answers } = match;
  // A rule that only answers an error, or redirects, serves nobody anything.
  const serves =
    answers === undefined &&
    backends.some(({ answers: failure }) => failure === undefined) &&
    !filters.some((filter) => filter.startsWith('redirect'));
  const isOpen = serves && (protection.state === 'open' || protection.state === 'partly');
  return {
    route,
    rule,
    places,
    listeners,
    backends: backends.map(({ backend, weight, answers: failure }) => {
      const name = failure === undefined ? formatBackendName(backend) : `${failure.status} ${failure.reason}`;
      return backends.length > 1 ? `${name}, weight ${weight}` : name;
    }),
    filters,
    badges: serves || protection.state === 'closed' || protection.policies.length > 0 ? listBadges(protection) : [],
    isOpen,
    isPublic: protection.policies.some(({ field, inForce }) => field === 'traffic.publicAccess' && inForce),
    isUnprotected: protection.closedBecause === 'unprotected',
    answers: answers === undefined ? undefined : `${answers.status} ${answers.reason}: ${answers.message}`,
  };
}

/** "POST mcp.example/mcp/* header x=1". */
export function formatPlace({ hostname, path, method, headers, queryParams }: ServedMatch): string {
  const value = path.type === 'prefix' ? `${path.value === '/' ? '' : path.value}/*` : path.value;
  return [
    method,
    `${hostname}${path.type === 'regularExpression' ? '~' : ''}${value}`,
    ...headers.map((each) => `header ${each}`),
    ...queryParams.map((each) => `query ${each}`),
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function describeBackends(runtime: RuntimeConfig, { endpoints, federations }: GatewayState): OverviewBackend[] {
  const states = Map.groupBy(endpoints, ({ backend }) => backend);
  const described = new Map(describeFederations(runtime, federations).map((each) => [each.backend, each.targets]));
  return Array.from(runtime.backends.values(), (backend): OverviewBackend => {
    const { key, federation } = backend;
    if (federation === undefined) return { ...describeServer(key, backend, states), targets: [] };
    const configured = new Map(federation.targets.map((target) => [target.name, target.backend]));
    const targets = (described.get(key) ?? []).map((target): OverviewTarget => {
      const own = configured.get(target.name);
      return { ...target, endpoints: own === undefined ? [] : listEndpoints(own, states) };
    });
    return {
      name: formatBackendName(key),
      protocol: `MCP, ${targets.length} ${targets.length === 1 ? 'server' : 'servers'} as one`,
      endpoints: targets.flatMap((target) => target.endpoints),
      targets,
    };
  });
}

type States = ReadonlyMap<string, readonly EndpointState[]>;

function describeServer(
  key: string,
  server: BackendConfig,
  states: States,
): Pick<OverviewBackend, 'name' | 'protocol' | 'endpoints'> {
  const { tls, protocol, mcp } = server;
  return {
    name: formatBackendName(key),
    protocol: [
      ...(mcp === undefined ? [] : [`MCP${mcp.transport === 'sse' ? ' (SSE)' : ''} at ${mcp.path}`]),
      protocol === 'h2c' ? 'HTTP/2' : 'HTTP/1.1',
      ...(tls === undefined ? [] : [tls.insecureSkipVerify ? 'TLS, not verified' : 'TLS']),
    ].join(', '),
    endpoints: listEndpoints(server, states),
  };
}

function listEndpoints({ key, endpoints }: ServerConfig, states: States): OverviewEndpoint[] {
  const known = new Map((states.get(key) ?? []).map((state) => [state.endpoint, state]));
  return endpoints.map((endpoint) => {
    const name = formatEndpointName(endpoint);
    const { isEjected = false, outstanding = 0, lastFailure = null } = known.get(name) ?? {};
    return { name, isEjected, outstanding, lastFailure };
  });
}

function describePolicies(
  policies: readonly Policy[],
  { policyConflicts }: RuntimeConfig,
  { applied, keyProblems }: GatewayState,
): OverviewPolicy[] {
  const all = policies.map((policy): OverviewPolicy => {
    const kind = findPolicyKind(policy);
    const failure = policy.spec.case === 'failure' ? [policy.spec.value.message] : [];
    const compile = (applied?.problems ?? [])
      .filter(({ list, key }) => list === 'policies' && key === policy.key)
      .map(({ message }) => message);
    const keys = keyProblems.filter((problem) => problem.policy === policy.key);
    const closes = failure.length > 0 || compile.length > 0;
    return {
      policy: policy.source,
      field: kind ?? '',
      title: kind === undefined ? 'cannot be enforced' : policyKinds[kind].title,
      target: `${formatTarget(policy)}${policy.isOverride ? ' (Override)' : ''}`,
      state: closes ? 'closed' : keys.some(({ hasNone }) => hasNone) ? 'failing' : 'in force',
      problems: [...failure, ...compile, ...keys.map(describeKeyProblem)],
    };
  });
  const silent = policyConflicts.map(({ policy, field, owner, because }): OverviewPolicy => ({
    policy,
    field,
    title: policyKinds[field].title,
    target: owner.target,
    state: 'silent',
    problems: [`ProxyPolicy ${owner.policy} has the field here instead, because it ${because}`],
  }));
  return [...all, ...silent].toSorted((left, right) => compareText(left.policy, right.policy));
}

/** Why is told once, with the identity provider. */
function describeKeyProblem({ issuer, hasNone }: PolicyKeyProblem): string {
  return hasNone ? `The keys of ${issuer} are missing.` : `The keys of ${issuer} cannot be refreshed.`;
}

function formatTarget({ target }: Policy): string {
  if (target === undefined) return 'nothing';
  const kind = policyTargetNames.get(target.kind) ?? 'unknown';
  if (kind === 'Namespace') return `everything in namespace ${target.namespace}`;
  if (target.name === '') return 'every route that nothing protects';
  const section =
    target.sectionName === '' ? '' : `, ${kind === 'Gateway' ? 'listener' : 'rule'} ${target.sectionName}`;
  return `${kind} ${target.namespace}/${target.name}${section}`;
}

function describeIdps({ authentications, jwtAuthentications }: RuntimeConfig): OverviewIdp[] {
  const all: OverviewIdp[] = [
    ...authentications.map(({ source, message, idp, tokens, issuer }) => ({
      issuer: message.issuer,
      policies: [source],
      flow: formatFlow(idp.getFlow() ?? null),
      issuedTokens: formatIssued(issuer),
      hasKeys: tokens.hasKeys,
      keys: idp.describeKeys?.(),
    })),
    ...jwtAuthentications.flatMap(({ source, providers }) =>
      [...providers.values()].map(({ message, hasKeys, describeKeys }) => ({
        issuer: message.issuer,
        policies: [source],
        flow: undefined,
        issuedTokens: undefined,
        hasKeys,
        keys: describeKeys(),
      })),
    ),
  ];
  const merged = new Map<string, OverviewIdp>();
  for (const idp of all) {
    const { policies, ...facts } = idp;
    const key = JSON.stringify(facts);
    const known = merged.get(key)?.policies ?? [];
    merged.set(key, { ...facts, policies: [...new Set([...known, ...policies])] });
  }
  return [...merged.values()].toSorted((left, right) => compareText(left.issuer, right.issuer));
}

function formatIssued(issuer: TokenIssuer | undefined): string | undefined {
  const tokens = describeIssuedTokens(issuer);
  return tokens === null ? undefined : formatIssuedTokens(tokens);
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
