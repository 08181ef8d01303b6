// What `check` found, as data: the problems, and what would be served. The same tables decide here as in a running gateway.
import type { Resources } from '../api/resources.ts';
import { formatFieldPath } from '../api/problem.ts';
import { describeRoutes } from '../gateway/admin/describe-routes.ts';
import type { ServedMatch, ServedRoutes } from '../gateway/admin/describe-routes.ts';
import { type DescribedAuthentication, describeAuthentications } from '../gateway/admin/describe-authentications.ts';
import type { Compilation } from '../gateway/config/compile.ts';
import type { Configuration } from '../ir/configuration.ts';
import { McpTransport, PolicyTargetKind } from '../ir/gen/config_pb.ts';
import type { Backend, Policy, Upstream } from '../ir/gen/config_pb.ts';
import { formatListenerKey } from '../ir/resource-keys.ts';
import type { ResourceIdentity, SourcePosition, SourceProblem } from '../sources/resource-source.ts';
import type { Translation } from '../translate/translate.ts';
import type { OnlineReport } from './online/online-report.ts';
import { listStatusFindings } from './status-findings.ts';
import type { StatusFinding } from './status-findings.ts';

/** Everything `check` prints. The JSON form is this, and documented in the help text. */
export interface CheckReport {
  readonly problems: readonly CheckProblem[];
  readonly gateways: readonly CheckedGateway[];
  readonly backends: readonly CheckedBackend[];
  readonly policies: readonly CheckedPolicy[];
  readonly authentications: readonly CheckedAuthentication[];
  /** Those that are not as they should be. */
  readonly conditions: readonly CheckedCondition[];
  /** What identity providers answered; null without --online. */
  readonly online: readonly OnlineReport[] | null;
}

/** MCP authentication of a policy, as far as it can be known without asking anybody. */
export type CheckedAuthentication = Omit<DescribedAuthentication, 'keysLoaded'>;

/** One problem. Members that do not apply are null, or empty for `path`. */
export interface CheckProblem {
  /** Absolute path. */
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly kind: string | null;
  readonly namespace: string | null;
  readonly name: string | null;
  readonly path: string;
  /** Of a resource or file: as in SourceProblemCode. `condition`, `not_served`, `unusable`: what became of a valid one. */
  readonly code: string;
  readonly message: string;
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
  readonly policies: readonly string[];
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
}

/** A policy, and where it is in force. */
export interface CheckedPolicy {
  readonly namespace: string;
  readonly name: string;
  readonly attachments: readonly { readonly field: string; readonly target: string; readonly closed: boolean }[];
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
  /** What identity providers answered; null when they were not asked. */
  readonly online: readonly OnlineReport[] | null;
  readonly locate: (identity: ResourceIdentity) => SourcePosition | undefined;
}

/** Builds the report. Pure. */
export function buildCheckReport(input: CheckInput): CheckReport {
  const { resources, translation, locate } = input;
  const { configuration } = translation;
  const { runtime, problems: unusable } = input.compilation;
  const invalid = new Set(resources.invalid.map(({ kind, namespace, name }) => `${kind} ${namespace} ${name}`));
  const findings = listStatusFindings(translation);
  // What is invalid was reported field by field.
  const ofValid = findings.filter(({ kind, namespace, name }) => !invalid.has(`${kind} ${namespace} ${name}`));
  return {
    problems: [
      ...input.problems.map(describeSourceProblem),
      ...ofValid.map((finding) => describeFinding(finding, locate)),
      ...unusable.map(({ key, message }) => ({ ...nowhere, code: 'unusable', message: `${key}: ${message}` })),
      ...(input.online ?? []).flatMap((report) => describeCrosses(report, locate)),
    ],
    gateways: describeGateways(resources, configuration, describeRoutes(runtime)),
    backends: configuration.backends.map(describeBackend),
    policies: describePolicies(resources, configuration),
    authentications: describeAuthentications(runtime).map(describeAuthentication),
    conditions: findings.flatMap(describeCondition),
    online: input.online,
  };
}

/** The report of files that could not be read at all. */
export function buildFailedReport(problems: readonly SourceProblem[]): CheckReport {
  return {
    problems: problems.map(describeSourceProblem),
    gateways: [],
    backends: [],
    policies: [],
    authentications: [],
    conditions: [],
    online: null,
  };
}

function describeAuthentication(described: DescribedAuthentication): CheckedAuthentication {
  const { policy, mode, issuer, flow, resources } = described;
  return { policy, mode, issuer, flow, resources };
}

/** What has a cross is a problem of the policy. */
function describeCrosses({ policy, findings }: OnlineReport, locate: CheckInput['locate']): CheckProblem[] {
  const [namespace = '', name = ''] = policy.split('/');
  const identity = { kind: 'ProxyPolicy', namespace, name };
  return findings.flatMap(({ check, mark, text, advice }) =>
    mark === 'bad'
      ? [
          {
            ...nowhere,
            ...locate(identity),
            ...identity,
            code: 'identity_provider',
            message: `ProxyPolicy ${policy}: ${check}: ${text}${advice === null ? '' : ` ${advice}`}`,
          },
        ]
      : [],
  );
}

const nowhere = { file: null, line: null, column: null, kind: null, namespace: null, name: null, path: '' } as const;

function describeSourceProblem(problem: SourceProblem): CheckProblem {
  const {
    file,
    line = null,
    column = null,
    kind = null,
    namespace = null,
    name = null,
    code,
    message,
    consequence,
  } = problem;
  const text = consequence === undefined ? message : `${message} (${consequence})`;
  return { file, line, column, kind, namespace, name, path: formatFieldPath(problem.path), code, message: text };
}

function describeFinding(finding: StatusFinding, locate: CheckInput['locate']): CheckProblem {
  const { kind, namespace, name, condition, message } = finding;
  const state = condition === undefined ? '' : `${condition.type} is ${condition.status} (${condition.reason}): `;
  return {
    ...nowhere,
    ...locate(finding),
    kind,
    namespace,
    name,
    code: condition === undefined ? 'not_served' : 'condition',
    message: `${formatSubject(finding)}: ${state}${message}`,
  };
}

/** "Gateway default/public, listener http". */
export function formatSubject({
  kind,
  namespace,
  name,
  part,
}: Pick<StatusFinding, 'kind' | 'namespace' | 'name' | 'part'>): string {
  return `${kind} ${namespace === '' ? name : `${namespace}/${name}`}${part === '' ? '' : `, ${part}`}`;
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
  const { hostname, path, method, headers, queryParams, route, rule, filters, policies, answers } = match;
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
    policies,
    answers: answers ?? null,
  };
}

function describeBackend({ key, kind }: Backend): CheckedBackend {
  if (kind.case !== 'mcp') return { backend: key, transport: 'HTTP', endpoints: listEndpoints(kind.value, '') };
  const { targets } = kind.value;
  const transport = targets.some((target) => target.transport === McpTransport.SSE) ? 'SSE' : 'StreamableHTTP';
  return { backend: key, transport, endpoints: targets.flatMap(({ upstream, path }) => listEndpoints(upstream, path)) };
}

function listEndpoints(upstream: Upstream | undefined, path: string): string[] {
  const scheme = upstream?.tls === undefined ? 'http' : 'https';
  return (upstream?.endpoints ?? []).map(
    ({ host, port }) => `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}${path}`,
  );
}

function describePolicies(resources: Resources, configuration: Configuration): CheckedPolicy[] {
  const invalid = resources.invalid.filter(({ kind }) => kind === 'ProxyPolicy');
  const names = [...resources.proxyPolicies.map(({ metadata }) => metadata), ...invalid];
  const attached = Map.groupBy(configuration.policies, ({ source }) => source);
  return [...new Map(names.map(({ namespace, name }) => [`${namespace}/${name}`, { namespace, name }]))].map(
    ([source, identity]) => ({
      ...identity,
      attachments: (attached.get(source) ?? []).map((policy) => ({
        field: policy.spec.case ?? '',
        target: describeTarget(policy),
        closed: policy.spec.case === 'failure',
      })),
    }),
  );
}

const targetKinds: Readonly<Record<PolicyTargetKind, string>> = {
  [PolicyTargetKind.UNSPECIFIED]: 'nothing',
  [PolicyTargetKind.GATEWAY]: 'Gateway',
  [PolicyTargetKind.HTTP_ROUTE]: 'HTTPRoute',
  [PolicyTargetKind.PROXY_BACKEND]: 'ProxyBackend',
  [PolicyTargetKind.NAMESPACE]: 'Namespace',
};

function describeTarget({ target }: Policy): string {
  if (target === undefined) return '';
  const { kind, namespace, name, sectionName } = target;
  if (kind === PolicyTargetKind.NAMESPACE) return `everything in Namespace ${namespace}`;
  return `${targetKinds[kind]} ${namespace}/${name}${sectionName === '' ? '' : `, ${sectionName}`}`;
}
