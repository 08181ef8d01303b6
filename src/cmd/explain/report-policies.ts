// The policies on the way of a request, in the order in which they are asked, each with what it decided.
import { allPolicyKinds, isAuthenticationKind, isBackendKind, type PolicyKind } from '../../ir/policy-kinds.ts';
import { formatBackendName } from '../../gateway/request/backend-name.ts';
import type { RouteConfig, WeightedBackendConfig } from '../../gateway/config/runtime-config.ts';
import type { Decision } from '../../gateway/request/decision.ts';
import { describeMode } from '../../gateway/authentication/authentication-mode.ts';
import type { RuleOutcome, RuleReference } from '../../gateway/config/rule-set.ts';
import type { PolicyConflict, PolicyPlace } from '../../gateway/config/policy-level.ts';
import type { ExplainedPolicy, ExplainedRule } from './explain-report.ts';
import { judgePolicy, outcomeOrder } from './judge-policy.ts';

/** What policies there were, and what became of the request. */
interface PolicyInput {
  readonly route: RouteConfig | undefined;
  /** The backend that was chosen, or would have been. */
  readonly choice: WeightedBackendConfig | undefined;
  readonly decisions: readonly Decision[];
  /** Policies that have no say because another one at the same place takes precedence for the field. */
  readonly conflicts: readonly PolicyConflict[];
  /** The message uses a tool, prompt or resource. */
  readonly usesItem: boolean;
  /** The request came to a backend. */
  readonly isForwarded: boolean;
  /** What CORS settings did: they make no note of it. */
  readonly cors: 'allow' | 'deny' | 'respond';
}

/** Lists them. */
export function listPolicies(input: PolicyInput): ExplainedPolicy[] {
  const { route, choice, decisions, conflicts, isForwarded, cors } = input;
  if (route === undefined) return [];
  const failure = route.policies.failure ?? choice?.policies.failure;
  const closed = failure === undefined ? [] : [describeClosed(failure)];
  const last = findLastStep(decisions, isForwarded, failure !== undefined);
  const attached = allPolicyKinds.flatMap((field, index): ExplainedPolicy[] => {
    const decided = decisions.filter(({ step }) => step === field);
    return listPlaces(field, route, choice).flatMap(({ overriddenBy, ...place }): ExplainedPolicy[] => {
      const { policy, level, target } = place;
      const common = { field, policy, level, target, mode: findMode(field, route, choice, policy) };
      if (overriddenBy !== undefined) return [{ ...common, ...silent, overriddenBy, outcome: 'overridden' }];
      const rivals = listRivals(conflicts, field, place);
      if (field === 'traffic.cors' && failure === undefined)
        return [{ ...common, ...silent, outcome: cors }, ...rivals];
      if (decided.length === 0)
        return [{ ...common, ...silent, outcome: index <= last ? 'not_asked' : 'not_reached' }, ...rivals];
      return [{ ...common, ...silent, ...describeDecisions(decided, place, input.usesItem) }, ...rivals];
    });
  });
  return [...closed, ...attached];
}

const silent = { overriddenBy: null, reason: null, detail: null, rules: [] } as const;

/** The policy that would have the field at this place without the one that takes precedence. */
function listRivals(
  conflicts: readonly PolicyConflict[],
  field: PolicyKind,
  { policy, level, target }: PolicyPlace,
): ExplainedPolicy[] {
  return conflicts
    .filter(({ owner, field: lost }) => lost === field && owner.policy === policy && owner.target === target)
    .map(({ policy: loser, because }) => ({
      ...silent,
      field,
      policy: loser,
      level,
      target,
      overriddenBy: { policy, target },
      outcome: 'no_say',
      mode: '',
      detail: `ProxyPolicy ${policy} ${because}`,
    }));
}

interface AttachedPlace extends PolicyPlace {
  readonly overriddenBy: { readonly policy: string; readonly target: string } | undefined;
}

function listPlaces(
  field: PolicyKind,
  route: RouteConfig,
  choice: WeightedBackendConfig | undefined,
): readonly AttachedPlace[] {
  const ofRoute = route.policies.provenance
    .filter((entry) => entry.field === field)
    .map(({ policy, level, target, overriddenBy }) => ({
      policy,
      level,
      target,
      overriddenBy: overriddenBy && { policy: overriddenBy.policy, target: overriddenBy.target },
    }));
  if (choice === undefined || !isBackendKind(field)) return ofRoute;
  const source = choice.policies[field]?.source;
  if (source === undefined) return ofRoute;
  const target = formatBackendName(choice.backend);
  return [...ofRoute, { policy: source, level: 'ProxyBackend', target, overriddenBy: undefined }];
}

function findMode(
  field: PolicyKind,
  route: RouteConfig,
  choice: WeightedBackendConfig | undefined,
  policy: string,
): string {
  if (!isAuthenticationKind(field)) return '';
  const config = isBackendKind(field) ? choice?.policies[field] : route.policies[field];
  return config?.source === policy ? describeMode(config.message.mode) : '';
}

/** Of several policies of one field, each has its own expressions; the decision is of all together. */
function describeDecisions(
  decided: readonly Decision[],
  place: PolicyPlace,
  usesItem: boolean,
): Pick<ExplainedPolicy, 'outcome' | 'reason' | 'detail' | 'rules'> {
  const rules = decided.flatMap(({ rules: outcomes, decidedBy }) =>
    outcomes.filter((rule) => isSame(rule, place)).map((rule) => describeRule(rule, decidedBy)),
  );
  const said = decided
    .map((decision) => ({ decision, outcome: judgePolicy({ ...decision, isCut: false }, place, usesItem) }))
    .toSorted((left, right) => outcomeOrder.indexOf(left.outcome) - outcomeOrder.indexOf(right.outcome));
  const { decision, outcome } = said[0]!;
  // The reason is that of the policy which decided; what Optional passed over is its own as well.
  const isOwn = outcome === 'deny' || outcome === decision.outcome;
  return {
    outcome,
    reason: isOwn ? (decision.reason ?? null) : null,
    detail: isOwn ? (decision.detail ?? null) : null,
    rules,
  };
}

function isSame(left: PolicyPlace, right: PolicyPlace): boolean {
  return left.policy === right.policy && left.target === right.target;
}

function describeRule(outcome: RuleOutcome, decidedBy: RuleReference | undefined): ExplainedRule {
  const { action, index, source, value, problem = null, saw } = outcome;
  const decided = decidedBy !== undefined && isSame(outcome, decidedBy) && decidedBy.index === index;
  return { action, index, expression: source, value, problem, decided, saw };
}

function describeClosed({ source, failure }: NonNullable<RouteConfig['policies']['failure']>): ExplainedPolicy {
  return {
    ...silent,
    field: 'closed',
    policy: source,
    level: null,
    target: '',
    outcome: 'deny',
    mode: '',
    reason: 'policy_invalid',
    detail: `${failure.reason}: ${failure.message}`,
  };
}

/** Index of the last kind that was asked. */
function findLastStep(decisions: readonly Decision[], isForwarded: boolean, isClosed: boolean): number {
  if (isForwarded) return allPolicyKinds.length - 1;
  if (isClosed) return -1;
  return Math.max(-1, ...decisions.map(({ step }) => allPolicyKinds.indexOf(step)));
}
