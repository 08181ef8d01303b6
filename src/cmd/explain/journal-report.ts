// A request that happened, from the journal of a gateway, in the form of a report.
import { formatBackendName } from '../../gateway/request/backend-name.ts';
import type { JournaledDecision, JournaledRequest, JournaledRule } from '../../gateway/observe/journaled-request.ts';
import type { PolicyKind } from '../../ir/policy-kinds.ts';
import type { ExplainedPolicy, ExplainedRule, ExplainReport } from './explain-report.ts';
import { isRefusal, judgePolicy } from './judge-policy.ts';

/** What the journal does not have is null: it keeps neither headers nor bodies. */
export function buildJournalReport(request: JournaledRequest): ExplainReport {
  const { caller, listener, route, decisions, reason, detail, status, refused } = request;
  const [namespace, gateway, name] = listener?.split('/') ?? [];
  const refusal = decisions.find(isRefusal);
  const isAnswered = decisions.some(({ outcome }) => outcome === 'respond');
  const isForwarded = request.endpoint !== null;
  return {
    request: {
      id: request.id,
      time: request.time,
      method: request.method,
      url: `${request.host}${request.path}`,
      source: '',
      message: describeMessage(request.message),
    },
    token: caller === null ? null : { from: 'request', subject: caller.subject, issuer: caller.issuer, signatures: [] },
    listener:
      name === undefined ? null : { gateway: `${namespace}/${gateway}`, name, protocol: '', port: null, hostname: '' },
    route:
      route === null
        ? null
        : {
            httpRoute: route.httpRoute,
            rule: route.ruleName === '' ? String(route.ruleIndex) : route.ruleName,
            match: '',
          },
    ownEndpoint: null,
    passedOver: [],
    policies: decisions.flatMap((decision) =>
      describeDecision(decision, request.message !== null && request.message.item !== null),
    ),
    verdict: {
      outcome:
        refused || refusal !== undefined
          ? 'denied'
          : isForwarded
            ? 'forwarded'
            : isAnswered || status < 400
              ? 'answered'
              : 'denied',
      reason: reason ?? refusal?.reason ?? null,
      detail: detail ?? refusal?.detail ?? null,
    },
    answer: status === 0 ? null : { status, headers: [], body: null },
    forward:
      request.backend === null || !isForwarded
        ? null
        : {
            backend: formatBackendName(request.backend),
            choices: [],
            endpoints: request.endpoint === null ? [] : [request.endpoint],
            picker: null,
            federation: null,
            method: request.method,
            target: '',
            host: '',
            addedHeaders: [],
            removedHeaders: [],
            ownHeaders: [],
            filtersAnswer: false,
            mirrors: [],
          },
    items: null,
    notes: listNotes(request),
  };
}

function describeMessage(message: JournaledRequest['message']): ExplainReport['request']['message'] {
  if (message === null) return null;
  const { method, kind, item, count } = message;
  return {
    method,
    tool: kind === 'tool' ? item : null,
    prompt: kind === 'prompt' ? item : null,
    resource: kind === 'resource' ? item : null,
    protocolVersion: '',
    count,
    assumed: false,
  };
}

/** One entry per policy that has expressions in the decision, or one for the policy that decided. */
function describeDecision(decision: JournaledDecision, usesItem: boolean): ExplainedPolicy[] {
  const { step, policy, mode, reason, detail, decidedBy, rules } = decision;
  const outcome = isRefusal(decision) ? 'deny' : decision.outcome;
  const places = new Map<string, JournaledRule>();
  for (const rule of decidedBy === null ? rules : [decidedBy, ...rules])
    places.set(`${rule.policy} ${rule.target}`, rule);
  const common = { field: step as PolicyKind, overriddenBy: null, mode: mode ?? '' };
  if (places.size === 0) {
    const { level, target } = decision;
    return [{ ...common, policy, level, target: target ?? '', outcome, reason, detail, rules: [] }];
  }
  return [...places.values()].map((place): ExplainedPolicy => {
    const own = rules.filter((rule) => isSame(rule, place));
    const said = judgePolicy({ ...decision, isCut: decision.omittedRules > 0 }, place, usesItem);
    const isOwn = said === 'deny' || said === decision.outcome;
    return {
      ...common,
      policy: place.policy,
      level: place.level,
      target: place.target,
      outcome: said,
      reason: isOwn ? reason : null,
      detail: isOwn ? detail : null,
      rules: own.map((rule): ExplainedRule => ({
        action: rule.action,
        index: rule.index,
        expression: rule.expression,
        value: rule.value,
        problem: rule.problem,
        decided: decidedBy !== null && isSame(decidedBy, rule) && decidedBy.index === rule.index,
        saw: rule.saw,
      })),
    };
  });
}

function isSame(left: JournaledRule, right: JournaledRule): boolean {
  return left.policy === right.policy && left.target === right.target;
}

function listNotes({ omittedDecisions, decisions, refused }: JournaledRequest): string[] {
  const notes: string[] = [];
  const omittedRules = decisions.reduce((sum, decision) => sum + decision.omittedRules, 0);
  if (omittedDecisions > 0) notes.push(`${omittedDecisions} more decisions were not kept.`);
  if (omittedRules > 0) notes.push(`What ${omittedRules} more expressions saw was not kept.`);
  if (!refused) notes.push('What expressions saw is kept of requests that were refused only.');
  return notes;
}
