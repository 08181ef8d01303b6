// What `check` found, as data: the problems, and what would be served. The same tables decide here as in a running gateway.
import type { Resources } from '../api/resources.ts';
import { describeRoutes, type ServedMatch, type ServedRoutes } from '../gateway/admin/describe-routes.ts';
import type { AccessCount } from '../base/access-count.ts';
import { countAccess, groupRoutes } from '../gateway/admin/describe-overview.ts';
import { type DescribedAuthentication, describeAuthentications } from '../gateway/admin/describe-authentications.ts';
import {
  type DescribedJwtAuthentication,
  type DescribedJwtProvider,
  describeJwtAuthentications,
} from '../gateway/admin/describe-jwt-authentications.ts';
import type { DescribedProtection } from '../gateway/admin/describe-protection.ts';
import type { Compilation } from '../gateway/config/compile/compile.ts';
import type { PickerConfig } from '../gateway/config/server-config.ts';
import type { Configuration } from '../ir/configuration.ts';
import {
  McpTransport,
  TargetFailureMode,
  type Backend,
  type FederatedTarget,
  NamePrefix,
  type Upstream,
} from '../ir/gen/config_pb.ts';
import { formatListenerKey } from '../ir/resource-keys.ts';
import type { SourceProblem } from '../sources/resource-source.ts';
import type { Translation } from '../translate/translate.ts';
import { type CheckedPolicy, describePolicies } from './check-policies.ts';
import {
  type CheckProblem,
  describeCrosses,
  describeServerCrosses,
  describeUnusable,
  listProblems,
  type Locate,
} from './check-problems.ts';
import { describePicker } from './describe-picker.ts';
import type { ExplainedPicker } from './explain/explain-report.ts';
import { placeFindings } from './finding-causes.ts';
import { listIssuerWarnings } from './issuer-warnings.ts';
import type { OnlineReport, ServerReport } from './online/online-report.ts';
import { listStatusFindings, type StatusFinding } from './status-findings.ts';
import { listOverrideWarnings } from './override-warnings.ts';
import { listTestPolicies } from './test-policies.ts';
import { isAboutUnattached, openUnattached } from './unattached-policies.ts';

/** Everything `check` prints. The JSON form is this, and documented in the help text. */
export interface CheckReport {
  readonly problems: readonly CheckProblem[];
  readonly gateways: readonly CheckedGateway[];
  readonly backends: readonly CheckedBackend[];
  readonly policies: readonly CheckedPolicy[];
  readonly authentications: readonly CheckedAuthentication[];
  readonly jwtAuthentications: readonly CheckedJwtAuthentication[];
  /** Those that are not as they should be. */
  readonly conditions: readonly CheckedCondition[];
  /** What identity providers answered; null without --online. */
  readonly online: readonly OnlineReport[] | null;
  /** What MCP servers answered; null without --online. */
  readonly servers: readonly ServerReport[] | null;
  /** How many routes anybody may use, and how many are closed because nothing protects them. */
  readonly access: AccessCount;
  /** Policies that accept test tokens, those that miss a target where that is allowed, and those whose tokens can never have what rules need. */
  readonly warnings: readonly CheckWarning[];
}

/** Something that is valid, and that a person should know. */
export interface CheckWarning {
  /** namespace/name of the ProxyPolicy. */
  readonly policy: string;
  readonly message: string;
}

/** MCP authentication of a policy, as far as it can be known without asking anybody. */
export type CheckedAuthentication = Omit<DescribedAuthentication, 'keysLoaded' | 'issuedTokens'>;

/** JWT authentication of a policy, as far as it can be known without asking anybody. */
export interface CheckedJwtAuthentication extends Omit<DescribedJwtAuthentication, 'providers'> {
  readonly providers: readonly Omit<DescribedJwtProvider, 'keysLoaded' | 'keysProblem'>[];
}

/** A Gateway with its listeners. */
export interface CheckedGateway {
  readonly namespace: string;
  readonly name: string;
  readonly listeners: readonly CheckedListener[];
}

/** A listener, and its matches in the order in which they are tried. */
export interface CheckedListener {
  readonly name: string;
  /** Empty: every interface. */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly protocol: string;
  /** Empty: any. */
  readonly hostname: string;
  readonly served: boolean;
  readonly routes: readonly CheckedRoute[];
}

/** One match. The first that fits serves the request: by hostname, then in this order. */
export interface CheckedRoute {
  readonly hostname: string;
  readonly path: ServedMatch['path'];
  readonly method: string;
  readonly headers: readonly string[];
  readonly queryParams: readonly string[];
  readonly httpRoute: string;
  readonly rule: string;
  readonly backends: readonly {
    readonly backend: string;
    readonly weight: number;
    readonly answers: CheckedAnswer | null;
  }[];
  readonly filters: readonly string[];
  readonly protection: DescribedProtection;
  readonly answers: CheckedAnswer | null;
}

/** What is answered instead of being served. */
export interface CheckedAnswer {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

/** A backend that some route leads to. */
export interface CheckedBackend {
  readonly backend: string;
  readonly transport: 'HTTP' | 'StreamableHTTP' | 'SSE';
  readonly endpoints: readonly string[];
  /** The endpoint picker of an InferencePool; null for other backends. */
  readonly picker: ExplainedPicker | null;
  /** The servers of a federation, in the order of lists; null for other backends. */
  readonly targets: readonly CheckedTarget[] | null;
}

/** One server of a federation. */
export interface CheckedTarget {
  readonly name: string;
  /** What clients see: names begin with it and `_`, URIs with it and `+`; null: they are those of the servers. */
  readonly prefix: string | null;
  readonly transport: 'StreamableHTTP' | 'SSE';
  readonly endpoints: readonly string[];
  readonly failureMode: 'FailOpen' | 'FailClosed';
  /** Why it cannot be used; null: it can. */
  readonly problem: string | null;
}

/** A condition that is not as it should be. */
export interface CheckedCondition {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Which part of the resource; empty for all of it. */
  readonly part: string;
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** What a report is made of. */
export interface CheckInput {
  readonly resources: Resources;
  readonly translation: Translation;
  /** Of the translation's configuration. */
  readonly compilation: Compilation;
  readonly problems: readonly SourceProblem[];
  /** Policies may miss their targets. */
  readonly allowUnattached: boolean;
  /** What identity providers answered; null when they were not asked. */
  readonly online: readonly OnlineReport[] | null;
  /** What MCP servers answered; null when they were not asked. */
  readonly servers: readonly ServerReport[] | null;
  readonly locate: Locate;
}

/** Builds the report. Pure. */
export function buildCheckReport(input: CheckInput): CheckReport {
  const { resources, translation, locate } = input;
  const { configuration } = translation;
  const { runtime, problems: unusable } = input.compilation;
  const invalid = new Set(resources.invalid.map(({ kind, namespace, name }) => `${kind} ${namespace} ${name}`));
  const served = describeRoutes(runtime);
  const findings = listStatusFindings(translation);
  const allowed = input.allowUnattached ? translation.unattached : [];
  // What is invalid was reported field by field.
  const ofValid = findings.filter(({ kind, namespace, name }) => !invalid.has(`${kind} ${namespace} ${name}`));
  const placed = placeFindings(ofValid, resources).filter((finding) => !isAboutUnattached(finding, allowed));
  return {
    problems: [
      ...listProblems(input.problems, placed, locate, translation.unattached),
      ...unusable.map(describeUnusable),
      ...(input.online ?? []).flatMap((report) => describeCrosses(report, locate)),
      ...(input.servers ?? []).flatMap((report) => describeServerCrosses(report, locate)),
    ],
    gateways: describeGateways(resources, configuration, served),
    access: countAccess(groupRoutes(served)),
    backends: configuration.backends.map((backend) =>
      describeBackend(backend, runtime.backends.get(backend.key)?.picker),
    ),
    policies: describePolicies(resources, translation),
    authentications: describeAuthentications(runtime).map(describeAuthentication),
    jwtAuthentications: describeJwtAuthentications(runtime).map(describeJwtAuthentication),
    conditions: findings.flatMap(describeCondition),
    online: input.online,
    servers: input.servers,
    warnings: [
      ...allowed.map(({ policy, message }) => ({
        policy,
        message: `protects less than it should: ${message} ${openUnattached}`,
      })),
      ...listTestPolicies(configuration),
      ...listOverrideWarnings(configuration),
      ...listIssuerWarnings(configuration, served),
    ],
  };
}

/** The report of files that could not be read at all. */
export function buildFailedReport(problems: readonly SourceProblem[]): CheckReport {
  return {
    problems: listProblems(problems, [], () => undefined),
    gateways: [],
    access: countAccess([]),
    backends: [],
    policies: [],
    authentications: [],
    jwtAuthentications: [],
    conditions: [],
    online: null,
    servers: null,
    warnings: [],
  };
}

/** The report of files that hold no resource at all, by their absolute paths. */
export function buildEmptyReport(files: readonly string[]): CheckReport {
  const message = '0 resources: nothing is served';
  return buildFailedReport(files.map((file) => ({ file, path: [], code: 'no_resources', message })));
}

function describeAuthentication(described: DescribedAuthentication): CheckedAuthentication {
  const { policy, mode, issuer, flow, whoGetsIn, resources } = described;
  return { policy, mode, issuer, flow, whoGetsIn, resources };
}

function describeJwtAuthentication({ providers, ...rest }: DescribedJwtAuthentication): CheckedJwtAuthentication {
  return {
    ...rest,
    providers: providers.map(({ name, issuer, audiences, keys }) => ({ name, issuer, audiences, keys })),
  };
}

function describeCondition({ kind, namespace, name, part, condition }: StatusFinding): CheckedCondition[] {
  if (condition === undefined) return [];
  const { type, status, reason, message } = condition;
  return [{ kind, namespace, name, part, type, status, reason, message }];
}

function describeGateways(resources: Resources, configuration: Configuration, served: ServedRoutes): CheckedGateway[] {
  const messages = new Map(configuration.listeners.map((listener) => [listener.key, listener]));
  // A listener on two addresses has the same routes on both.
  const tables = new Map(
    served.ports.flatMap(({ listeners }) => listeners).map((table) => [table.listener, table.matches]),
  );
  return resources.gateways.map(({ metadata, spec }) => ({
    namespace: metadata.namespace,
    name: metadata.name,
    listeners: spec.listeners.map((listener): CheckedListener => {
      const key = formatListenerKey(metadata.namespace, metadata.name, listener.name);
      const asked = (spec.addresses ?? []).flatMap(({ value }) => value ?? []);
      return {
        name: listener.name,
        addresses: messages.get(key)?.addresses ?? asked,
        port: listener.port,
        protocol: listener.protocol,
        hostname: listener.hostname ?? '',
        served: tables.has(key),
        routes: (tables.get(key) ?? []).map(describeMatch),
      };
    }),
  }));
}

function describeMatch(match: ServedMatch): CheckedRoute {
  const { hostname, path, method, headers, queryParams, route, rule, filters, protection, answers } = match;
  const backends = match.backends.map(({ backend, weight, answers: own }) => ({
    backend,
    weight,
    answers: own ?? null,
  }));
  return {
    hostname,
    path,
    method,
    headers,
    queryParams,
    httpRoute: route,
    rule,
    backends,
    filters,
    protection,
    answers: answers ?? null,
  };
}

function describeBackend({ key, kind }: Backend, picker: PickerConfig | undefined): CheckedBackend {
  switch (kind.case) {
    case 'mcp': {
      const { targets } = kind.value;
      const transport = targets.some((target) => target.transport === McpTransport.SSE) ? 'SSE' : 'StreamableHTTP';
      const endpoints = targets.flatMap(({ upstream, path }) => listEndpoints(upstream, path));
      return { backend: key, transport, endpoints, picker: null, targets: null };
    }
    case 'federation': {
      const { namePrefix } = kind.value;
      const targets = kind.value.targets.map((target) => describeTarget(target, namePrefix));
      // The gateway itself speaks Streamable HTTP for all of them.
      const endpoints = targets.flatMap((target) => target.endpoints);
      return { backend: key, transport: 'StreamableHTTP', endpoints, picker: null, targets };
    }
    case 'inference': {
      const described = picker === undefined ? null : describePicker(picker);
      return {
        backend: key,
        transport: 'HTTP',
        endpoints: listEndpoints(kind.value.upstream, ''),
        picker: described,
        targets: null,
      };
    }
    case 'http':
    case undefined:
      return { backend: key, transport: 'HTTP', endpoints: listEndpoints(kind.value, ''), picker: null, targets: null };
  }
}

function describeTarget(
  { server, prefix, failureMode, failure }: FederatedTarget,
  namePrefix: NamePrefix,
): CheckedTarget {
  return {
    name: server?.name ?? '',
    prefix: namePrefix === NamePrefix.NEVER ? null : prefix,
    transport: server?.transport === McpTransport.SSE ? 'SSE' : 'StreamableHTTP',
    endpoints: listEndpoints(server?.upstream, server?.path ?? ''),
    failureMode: failureMode === TargetFailureMode.FAIL_CLOSED ? 'FailClosed' : 'FailOpen',
    problem: failure?.message ?? null,
  };
}

function listEndpoints(upstream: Upstream | undefined, path: string): string[] {
  const scheme = upstream?.tls === undefined ? 'http' : 'https';
  return (upstream?.endpoints ?? []).map(
    ({ host, port }) => `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}${path}`,
  );
}
