// HTTPRoutes: one Route message per rule, with what it matches, does and sends to, and a failure where it cannot be served.
import { create } from '@bufbuild/protobuf';
import type { HttpRoute, HttpRouteBackendRef, HttpRouteRule } from '../api/http-route.ts';
import type { Failure, Route, WeightedBackend } from '../ir/gen/config_pb.ts';
import { FailureSchema, RouteParentSchema, RouteSchema, WeightedBackendSchema } from '../ir/gen/config_pb.ts';
import { formatRouteKey } from '../ir/resource-keys.ts';
import type { BackendProblem, Backends } from './backends.ts';
import { hasRedirect, hasRewrite, translateFilters } from './filters.ts';
import { convertToMilliseconds } from './milliseconds.ts';
import { formatName, readCreatedAt } from './order.ts';
import type { Referrer } from './references.ts';
import { gatewayGroup } from './references.ts';
import { translateMatches } from './route-matches.ts';
import type { RouteParentResult } from './route-parents.ts';

/** Why a rule is invalid. */
export interface RuleProblem {
  readonly ruleIndex: number;
  readonly reason: 'UnsupportedValue' | 'IncompatibleFilters';
  readonly message: string;
}

/** A route with its attachments and its messages. */
export interface TranslatedRoute {
  /** namespace/name. */
  readonly name: string;
  readonly route: HttpRoute;
  readonly parents: readonly RouteParentResult[];
  /** One per rule; none when no listener that is served takes the route. */
  readonly messages: readonly Route[];
  readonly ruleProblems: readonly RuleProblem[];
  readonly referenceProblems: readonly BackendProblem[];
  /** What no condition says: rules that have nowhere to send requests. */
  readonly remarks: readonly string[];
}

/** Translates the rules of a route. */
export function translateRoute(
  route: HttpRoute,
  parents: readonly RouteParentResult[],
  backends: Backends,
): TranslatedRoute {
  const { namespace, name } = route.metadata;
  const from: Referrer = { group: gatewayGroup, kind: 'HTTPRoute', namespace };
  const rules = route.spec.rules.map((rule, ruleIndex) => translateRule(rule, ruleIndex, from, backends));
  const served = listServedParents(parents);
  const common = { httpRoute: formatName(route), createdAt: readCreatedAt(route), parents: served };
  return {
    name: formatName(route),
    route,
    parents,
    messages:
      served.length === 0
        ? []
        : rules.map(({ content }, ruleIndex) =>
            create(RouteSchema, { ...content, ...common, key: formatRouteKey(namespace, name, ruleIndex), ruleIndex }),
          ),
    ruleProblems: rules.flatMap(({ problem }) => (problem === undefined ? [] : [problem])),
    referenceProblems: rules.flatMap(({ references }) => references),
    remarks: rules.flatMap(({ remark }) => (remark === undefined ? [] : [remark])),
  };
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

// Whatever keeps a rule from being served answers for it: its requests must not fall through to a rule that was not meant for them.
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
  const { key } = resolution.backend;
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
