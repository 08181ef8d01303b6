// HTTPRoutes: one Route message per rule, with what it matches, does and sends to, and a failure where it cannot be served.
import { create } from '@bufbuild/protobuf';
import type { HttpRoute, HttpRouteBackendRef, HttpRouteRule } from '../api/http-route.ts';
import {
  type Failure,
  type Route,
  type WeightedBackend,
  FailureSchema,
  RouteParentSchema,
  RouteSchema,
  WeightedBackendSchema,
} from '../ir/gen/config_pb.ts';
import { formatRouteKey } from '../ir/resource-keys.ts';
import type { AttachPoint } from './attach-points.ts';
import type { BackendProblem, Backends } from './backends.ts';
import type { HttpRouteStatus } from './conditions.ts';
import { hasRedirect, hasRewrite, translateFilters } from './filters.ts';
import { type Derived, type Memory, keepEqual } from './memory.ts';
import { listBackends } from './message-references.ts';
import { convertToMilliseconds } from './milliseconds.ts';
import type { Notice } from './notices.ts';
import { formatName, readCreatedAt } from './order.ts';
import { type Referrer, gatewayGroup } from './references.ts';
import type { ResourceIndex } from './resource-index.ts';
import { translateMatches } from './route-matches.ts';
import { type RouteParentResult, type RouteParents, attachRoute } from './route-parents.ts';
import { type RuleProblem, describeRoute, isAccepted } from './route-status.ts';

/** The backends of a route. */
export interface BackendUsage {
  /** namespace/name */
  readonly route: string;
  /** Keys, each once. */
  readonly backends: readonly string[];
}

/** The InferencePools that a route names, and from where. */
export interface PoolUsage {
  /** namespace/name */
  readonly route: string;
  /** namespace/name of those that it may refer to, there or not, each once. */
  readonly pools: readonly string[];
  /** Our Gateways that it names, each once; none when it names no pool. */
  readonly gateways: readonly { readonly gateway: string; readonly isAccepted: boolean }[];
}

/** What became of a route. */
export interface TranslatedRoute {
  /** namespace/name. */
  readonly name: string;
  /** One per rule; none when no listener that is served takes the route. */
  readonly messages: readonly Route[];
  /** Undefined when no parent is ours. */
  readonly status: HttpRouteStatus | undefined;
  /** Keys of the listeners that it counts for, each once. */
  readonly attachedListeners: readonly string[];
  /** namespace/name of the Gateways that it is attached to, each once. */
  readonly gateways: readonly string[];
  /** Of those, the Gateways that serve it. */
  readonly servingGateways: readonly string[];
  /** What its messages lead to. */
  readonly usage: BackendUsage;
  readonly poolUsage: PoolUsage;
  readonly notices: readonly Notice[];
}

/** Translates routes, by namespace/name; undefined for one that does not exist. */
export function prepareRoutes(
  memory: Memory,
  index: ResourceIndex,
  attachPoints: Derived<AttachPoint | undefined>,
  backends: Backends,
  controllerName: string,
): Derived<TranslatedRoute | undefined> {
  return memory.derive<TranslatedRoute | undefined>((name, previous) => {
    const route = index.httpRoutes.get(name);
    if (route === undefined) return undefined;
    return translateRoute(route, attachRoute(index, attachPoints, route), backends, controllerName, previous);
  });
}

function translateRoute(
  route: HttpRoute,
  { results, remarks }: RouteParents,
  backends: Backends,
  controllerName: string,
  previous: TranslatedRoute | undefined,
): TranslatedRoute {
  const { namespace, name, generation = 0 } = route.metadata;
  const from: Referrer = { group: gatewayGroup, kind: 'HTTPRoute', namespace };
  const rules = route.spec.rules.map((rule, ruleIndex) => translateRule(rule, ruleIndex, from, backends));
  const served = listServedParents(results);
  const common = { httpRoute: formatName(route), createdAt: readCreatedAt(route), parents: served };
  const messages =
    served.length === 0
      ? []
      : rules.map(({ content }, ruleIndex) => {
          const key = formatRouteKey(namespace, name, ruleIndex);
          return keepEqual(
            previous?.messages[ruleIndex],
            create(RouteSchema, { ...content, ...common, key, ruleIndex }),
          );
        });
  const findings = {
    generation,
    rules: rules.length,
    ruleProblems: rules.flatMap(({ problem }) => problem ?? []),
    referenceProblems: rules.flatMap(({ references }) => references),
  };
  const attached = results.filter(({ attachments }) => attachments.length > 0);
  const accepted = results.filter((parent) => isAccepted(findings, parent)).flatMap(({ attachments }) => attachments);
  return {
    name: formatName(route),
    messages,
    status: describeRoute(findings, results, controllerName),
    attachedListeners: keepEqual(previous?.attachedListeners, listUnique(accepted.map(({ listener }) => listener.key))),
    gateways: listUnique(attached.map(({ gateway }) => gateway)),
    servingGateways: listUnique(
      attached
        .filter(({ attachments }) => attachments.some(({ listener }) => listener.isServed))
        .map(({ gateway }) => gateway),
    ),
    usage: keepEqual(previous?.usage, {
      route: formatName(route),
      backends: listUnique(messages.flatMap(listBackends)),
    }),
    poolUsage: keepEqual(
      previous?.poolUsage,
      describePoolUsage(route, from, backends, results, (parent) => isAccepted(findings, parent)),
    ),
    notices: [
      ...remarks,
      // Rules without a usable backend: no condition reports them.
      ...(messages.length === 0 ? [] : rules.flatMap(({ remark }) => remark ?? [])),
    ].map((message) => ({ kind: 'HTTPRoute', namespace, name, message })),
  };
}

function describePoolUsage(
  route: HttpRoute,
  from: Referrer,
  backends: Backends,
  parents: readonly RouteParentResult[],
  isTaken: (parent: RouteParentResult) => boolean,
): PoolUsage {
  const name = formatName(route);
  const pools = listUnique(
    route.spec.rules.flatMap(({ backendRefs = [] }) =>
      backendRefs.flatMap((reference) => backends.findPool(from, reference) ?? []),
    ),
  );
  if (pools.length === 0) return { route: name, pools, gateways: [] };
  const gateways = Map.groupBy(parents, ({ gateway }) => gateway);
  return {
    route: name,
    pools,
    gateways: [...gateways].map(([gateway, own]) => ({ gateway, isAccepted: own.some(isTaken) })),
  };
}

function listUnique(values: readonly string[]): readonly string[] {
  return values.length < 2 ? values : [...new Set(values)];
}

type RuleContent = Pick<
  Route,
  'ruleName' | 'matches' | 'filters' | 'backends' | 'requestTimeoutMs' | 'backendRequestTimeoutMs'
> & {
  failure?: Failure;
};

interface TranslatedRule {
  readonly content: RuleContent;
  readonly problem: RuleProblem | undefined;
  readonly references: readonly BackendProblem[];
  readonly remark: string | undefined;
}

function translateRule(rule: HttpRouteRule, ruleIndex: number, from: Referrer, backends: Backends): TranslatedRule {
  const place = `rules[${ruleIndex}]`;
  const { matches, problems } = translateMatches(rule.matches);
  const filters = translateFilters(rule.filters ?? [], 'rule', `${place}.filters`, from, backends);
  const targets = (rule.backendRefs ?? []).map((reference, index) =>
    translateBackendRef(reference, `${place}.backendRefs[${index}]`, from, backends),
  );
  const problem = findRuleProblem(rule, ruleIndex, [
    ...problems.map((each) => `${place}.${each}`),
    ...filters.problems,
    ...targets.flatMap((target) => target.problems),
  ]);
  const failure = findFailure(rule, place, problem, filters.failure);
  return {
    problem,
    remark:
      failure?.reason === 'backend_invalid' ? `${failure.message}: its requests are answered with 500` : undefined,
    references: [...filters.references, ...targets.flatMap((target) => target.references)],
    content: {
      ruleName: rule.name ?? '',
      matches,
      requestTimeoutMs: convertToMilliseconds(rule.timeouts?.request),
      backendRequestTimeoutMs: convertToMilliseconds(rule.timeouts?.backendRequest),
      ...(failure === undefined
        ? { filters: filters.filters, backends: targets.map(({ target }) => target) }
        : { filters: [], backends: [], failure }),
    },
  };
}

function findRuleProblem(rule: HttpRouteRule, ruleIndex: number, values: readonly string[]): RuleProblem | undefined {
  const lists = [
    rule.filters,
    ...(rule.backendRefs ?? []).map(({ filters }) => [...(rule.filters ?? []), ...(filters ?? [])]),
  ];
  if (lists.some((filters) => hasRedirect(filters) && hasRewrite(filters))) {
    const message = `rules[${ruleIndex}]: RequestRedirect and URLRewrite exclude each other, on the rule and on its backendRefs`;
    return { ruleIndex, reason: 'IncompatibleFilters', message };
  }
  return values.length === 0 ? undefined : { ruleIndex, reason: 'UnsupportedValue', message: values.join('; ') };
}

// A rule that cannot be served answers with a failure: its requests must not fall through to another rule.
function findFailure(
  rule: HttpRouteRule,
  place: string,
  problem: RuleProblem | undefined,
  filter: string | undefined,
): Failure | undefined {
  if (problem !== undefined) return createFailure('route_invalid', problem.message);
  if (filter !== undefined) return createFailure('route_invalid', filter);
  if (hasRedirect(rule.filters)) return undefined;
  const backendRefs = rule.backendRefs ?? [];
  if (backendRefs.length === 0) return createFailure('backend_invalid', `${place} has no backendRefs`);
  if (backendRefs.every(({ weight }) => weight === 0))
    return createFailure('backend_invalid', `${place}: every backendRef has weight 0`);
  return undefined;
}

interface TranslatedBackendRef {
  readonly target: WeightedBackend;
  readonly problems: readonly string[];
  readonly references: readonly BackendProblem[];
}

function translateBackendRef(
  reference: HttpRouteBackendRef,
  place: string,
  from: Referrer,
  backends: Backends,
): TranslatedBackendRef {
  const resolution = backends.resolve(from, reference);
  const { filters, references, problems, failure } = translateFilters(
    reference.filters ?? [],
    'backendRef',
    `${place}.filters`,
    from,
    backends,
  );
  const { weight } = reference;
  if (!resolution.found) {
    const problem = { ...resolution.problem, message: `${place}: ${resolution.problem.message}` };
    const target = create(WeightedBackendSchema, {
      weight,
      failure: createFailure('backend_invalid', problem.message),
    });
    return { target, problems, references: [problem, ...references] };
  }
  const { key } = resolution;
  const target =
    failure === undefined
      ? create(WeightedBackendSchema, { backend: key, weight, filters })
      : create(WeightedBackendSchema, { weight, failure: createFailure('route_invalid', failure) });
  return { target, problems, references };
}

function listServedParents(parents: readonly RouteParentResult[]): Route['parents'] {
  const byListener = new Map<string, Route['parents'][number]>();
  for (const { attachments } of parents) {
    for (const { listener, hostnames } of attachments) {
      if (!listener.isServed || byListener.has(listener.key)) continue;
      byListener.set(listener.key, create(RouteParentSchema, { listener: listener.key, hostnames: [...hostnames] }));
    }
  }
  return [...byListener.values()];
}

function createFailure(reason: 'route_invalid' | 'backend_invalid', message: string): Failure {
  return create(FailureSchema, { status: 500, reason, message });
}
