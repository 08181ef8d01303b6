// Why rules denied something, in one sentence for the operator's log.
import { cutText } from '../../base/cut-text.ts';
import type { Rule, RuleDecision, RuleOutcome, RuleReference, RuleSet } from '../config/rule-set.ts';

const maxSourceLength = 160;
const maxProblemLength = 200;
const maxPolicies = 8;

/**
 * Names the expression that decided and its outcome. When no Allow rule matched: names the policies with Allow rules, and the first of
 * their expressions that failed, which is often the cause.
 */
export function describeDenial(
  rules: RuleSet,
  { decidedBy, problem, unmatchedOverride }: RuleDecision,
  outcomes: readonly RuleOutcome[] = [],
): string {
  if (decidedBy !== undefined) return describeExpression(decidedBy, problem);
  const unmatched = unmatchedOverride === undefined ? rules.allow : [unmatchedOverride];
  const failed = outcomes.find(
    ({ action, value, policy }) =>
      action === 'Allow' && value === 'error' && unmatched.some((rule) => rule.policy === policy),
  );
  const broken = failed === undefined ? '' : `; ${describeExpression(failed, failed.problem)}`;
  const whose = unmatchedOverride === undefined ? '' : ' of an Override';
  return `no Allow rule${whose} matches: ${listPolicies(unmatched)}${broken}`;
}

/** "policy default/tickets, Deny, matchExpressions[0] matches: ..." */
function describeExpression({ policy, action, index, source }: RuleReference, problem: string | undefined): string {
  const outcome =
    problem !== undefined
      ? `cannot be evaluated (${cutText(problem, maxProblemLength)})`
      : action === 'Deny'
        ? 'matches'
        : 'does not hold';
  return `policy ${policy}, ${action}, matchExpressions[${index}] ${outcome}: ${shortenSource(source)}`;
}

function listPolicies(rules: readonly Rule[]): string {
  const policies = [...new Set(rules.map(({ policy }) => policy))];
  const named = policies.slice(0, maxPolicies).join(', ');
  const more = policies.length > maxPolicies ? ` and ${policies.length - maxPolicies} more` : '';
  return `${policies.length === 1 ? 'policy' : 'policies'} ${named}${more}`;
}

/** On one line. */
function shortenSource(source: string): string {
  return cutText(source.replaceAll(/\s+/g, ' ').trim(), maxSourceLength);
}
