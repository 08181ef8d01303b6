// The request journal at the admin port: what policies decided about the last requests, as JSON, and as a page that needs no script.
import { isPolicyKind, policyKinds } from '../../ir/policy-kinds.ts';
import type {
  JournaledDecision,
  JournaledRequest,
  JournaledRule,
  JournaledRuleOutcome,
} from '../observe/journaled-request.ts';
import { type ReasonDefinition, reasons } from '../http/reasons.ts';
import type { RequestJournal } from '../observe/request-journal.ts';
import { escapeHtml } from '../../base/escape-html.ts';
import { answerPage } from './page-frame.ts';
import { answerError, answerJson, type PlainAnswer, type PlainRequest } from './plain-server.ts';

const outcomes: readonly string[] = ['passed', 'refused'];
const maxShown = 1_000;
const defaultShown = 100;

/**
 * Answers GET /requests: `format` json or html (a browser gets html), `q` a text to look for, `outcome` passed or refused, `limit` how many
 * of the latest.
 */
export function answerRequests(request: PlainRequest, journal: Pick<RequestJournal, 'list'>): PlainAnswer {
  const format = readFormat(request);
  const wanted = (request.query.get('q') ?? '').trim();
  const outcome = request.query.get('outcome') ?? '';
  const limit = Number(request.query.get('limit') ?? defaultShown);
  if (outcome !== '' && !outcomes.includes(outcome)) {
    return answerError(400, 'invalid_outcome', `outcome must be one of ${outcomes.join(', ')}.`);
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > maxShown) {
    return answerError(400, 'invalid_limit', `limit must be a number from 1 to ${maxShown}.`);
  }
  const all = journal.list();
  const fitting = all.filter(
    (each) => (outcome === '' || each.refused === (outcome === 'refused')) && mentions(each, wanted.toLowerCase()),
  );
  const requests = fitting.slice(0, limit);
  const counts = { total: all.length, fitting: fitting.length };
  if (format === 'json') return answerJson({ requests, ...counts });
  if (format === 'html') return answerRequestsPage(requests, { ...counts, wanted, outcome });
  return answerError(400, 'invalid_format', 'format must be json or html.');
}

/** Answers GET /requests/ID: one of them, by the request id that the client saw. */
export function answerRequest(request: PlainRequest, journal: Pick<RequestJournal, 'find'>): PlainAnswer {
  const format = readFormat(request);
  const id = request.path.slice('/requests/'.length);
  const found = journal.find(id);
  if (found === undefined) {
    return answerError(
      404,
      'unknown_request',
      'This gateway knows no such request: the id is of another gateway, no policy had a say in the request, or it was forgotten already, because only the last ones are kept. The access log has more.',
    );
  }
  if (format === 'json') return answerJson(found);
  if (format === 'html') {
    return answerPage(
      `Request ${id} - mcp-gatehouse admin`,
      `<h1>Request <code>${escapeHtml(id)}</code></h1>
<p class="soft">${introduction} <a href="?format=json">As JSON</a></p>
${formatRequest(found, true)}`,
      { current: '/requests', wide: true },
    );
  }
  return answerError(400, 'invalid_format', 'format must be json or html.');
}

const introduction =
  'No token is kept here, and no body; of headers and queries only what a rule read, and no credential among it.';

function readFormat({ query, accept }: PlainRequest): string {
  return query.get('format') ?? (/\btext\/html\b/.test(accept) ? 'html' : 'json');
}

/** Looks for the text in everything that the page shows: a request id from a client's error, a subject, a policy, a reason. */
function mentions(request: JournaledRequest, wanted: string): boolean {
  return wanted === '' || JSON.stringify(request).toLowerCase().includes(wanted);
}

interface Shown {
  readonly total: number;
  readonly fitting: number;
  readonly wanted: string;
  readonly outcome: string;
}

function answerRequestsPage(requests: readonly JournaledRequest[], shown: Shown): PlainAnswer {
  const { total, fitting, wanted, outcome } = shown;
  const isFiltered = wanted !== '' || outcome !== '';
  const options = ['', ...outcomes].map(
    (name) =>
      `<option value="${name}"${name === outcome ? ' selected' : ''}>${name === '' ? 'any outcome' : name}</option>`,
  );
  // A search result is shown expanded; otherwise the latest.
  const list = requests.map((request, index) => formatRequest(request, isFiltered ? fitting <= 5 : index === 0));
  return answerPage(
    'Requests - mcp-gatehouse admin',
    `<h1>Requests that policies judged</h1>
<p class="soft">${total === 0 ? 'No policy has judged a request since this gateway started.' : `${describeCount(requests.length, fitting, total)}, the latest first. ${introduction}`}
<a href="/requests?format=json">As JSON</a></p>
<form method="get" action="/requests">
<label for="q">Look for</label>
<input id="q" name="q" type="search" value="${escapeHtml(wanted)}" placeholder="request id, subject, policy, reason...">
<label for="outcome">Outcome</label>
<select id="outcome" name="outcome">${options.join('')}</select>
<button>Show</button>
</form>
${isFiltered && fitting === 0 ? '<p>No request matches this filter. <a href="/requests">Show all</a></p>' : ''}
${list.join('\n')}`,
    { current: '/requests', wide: true },
  );
}

function describeCount(shown: number, fitting: number, total: number): string {
  if (fitting === total) return shown === total ? `The last ${total}` : `${shown} of the last ${total}`;
  return shown === fitting ? `${fitting} of the last ${total}` : `${shown} of ${fitting} among the last ${total}`;
}

function formatRequest(request: JournaledRequest, open: boolean): string {
  const { caller, route, refused } = request;
  const facts: (readonly [string, string | null])[] = [
    ['Request id', request.id],
    ['Caller', caller === null ? 'unknown: no verified token' : (caller.subject ?? 'a token without a subject')],
    ['Message', formatMessage(request.message)],
    ['Issuer', caller === null ? null : caller.issuer],
    ['OAuth client', caller === null ? null : caller.clientId],
    ['Listener', request.listener],
    [
      'Route',
      route === null ? null : `${route.httpRoute}, rule ${route.ruleName === '' ? route.ruleIndex : route.ruleName}`,
    ],
    [
      'Backend',
      request.backend === null
        ? null
        : [request.backend, request.endpoint].filter((text) => text !== null).join(' at '),
    ],
    ['Took', `${request.milliseconds} ms`],
  ];
  const rows = facts.flatMap(([name, value]) =>
    value === null ? [] : [`<div><dt>${name}</dt><dd>${escapeHtml(value)}</dd></div>`],
  );
  const decisions = request.decisions.map(formatDecision);
  if (request.omittedDecisions > 0) {
    const omitted = `<li><span></span><span class="soft">${request.omittedDecisions} more decisions left out</span></li>`;
    decisions.splice(Math.ceil(decisions.length / 2), 0, omitted);
  }
  const subject = caller?.subject ?? '';
  const by = subject === '' ? '' : ` by ${escapeHtml(subject)}`;
  return `<details id="${escapeHtml(request.id)}"${open ? ' open' : ''}>
<summary><span class="state ${refused ? 'bad' : 'good'}">${refused ? 'refused' : 'passed'}</span> <strong>${request.status}</strong> <code>${escapeHtml(`${request.method} ${request.host}${request.path}`)}</code>${by} <span class="time">${formatTime(request.time)}</span></summary>
<dl>${rows.join('')}${formatEnd(request)}</dl>
<ol class="steps">
${decisions.join('\n')}
</ol>
</details>`;
}

function formatMessage(message: JournaledRequest['message']): string | null {
  if (message === null) return null;
  const { method, kind, item, count } = message;
  const used = item === null ? '' : `, ${kind} ${item}`;
  return `${method}${used}${count === 1 ? '' : `, in a batch of ${count} messages`}`;
}

/** The reason, unless it is that of a policy, which is shown with its decision. */
function formatEnd({ reason, detail, decisions }: JournaledRequest): string {
  if (reason === null || decisions.some((decision) => decision.outcome === 'deny' && decision.reason === reason))
    return '';
  const text = [describeReason(reason), detail].filter((part) => part !== null && part !== '').join(' ');
  return `<div><dt>Ended with</dt><dd><code>${escapeHtml(reason)}</code> ${escapeHtml(text)}</dd></div>`;
}

const marks: Readonly<Record<JournaledDecision['outcome'], readonly [mark: string, className: string, text: string]>> =
  {
    allow: ['✓', 'good', 'let the request pass'],
    respond: ['→', 'wait', 'answered the request'],
    deny: ['✗', 'bad', 'refused the request'],
  };

function formatDecision(decision: JournaledDecision): string {
  const [mark, className, text] = marks[decision.outcome];
  const title = isPolicyKind(decision.step) ? policyKinds[decision.step].title : decision.step;
  const lines: string[] = [];
  if (decision.reason !== null) {
    const passedOver = decision.outcome === 'allow' ? 'Passed over: ' : '';
    lines.push(
      `<p>${passedOver}<code class="${className}">${escapeHtml(decision.reason)}</code> ${escapeHtml(describeReason(decision.reason))}</p>`,
    );
  }
  // Where the expressions are shown, the one that decided is among them and says the same.
  if (decision.detail !== null && (decision.rules.length === 0 || decision.decidedBy === null))
    lines.push(`<p>${escapeHtml(decision.detail)}</p>`);
  if (decision.rules.length === 0 && decision.decidedBy !== null)
    lines.push(`<p>Decided by ${formatRule(decision.decidedBy)}</p>`);
  for (const rule of decision.rules) lines.push(formatOutcome(rule, isSame(rule, decision.decidedBy)));
  if (decision.omittedRules > 0) lines.push(`<p class="soft">${decision.omittedRules} more expressions left out</p>`);
  const mode = decision.mode === null ? '' : `, ${decision.mode}`;
  const place = decision.target === null ? '' : ` on ${decision.target}`;
  return `<li><span class="mark ${className}" role="img" aria-label="${text}">${mark}</span><span>${escapeHtml(title)}</span>
<p class="soft">policy ${escapeHtml(`${decision.policy}${place}`)}${mode}</p>${lines.join('')}</li>`;
}

function formatRule({ policy, action, index, target, expression }: JournaledRule): string {
  return `${escapeHtml(`${action}[${index}] of ${policy} at ${target}`)}: <code>${escapeHtml(expression)}</code>`;
}

function formatOutcome(rule: JournaledRuleOutcome, decided: boolean): string {
  const { action, index, policy, target, value } = rule;
  const problem = rule.problem === null ? '' : ` ${escapeHtml(rule.problem)}`;
  const saw = rule.saw.map(
    ({ attribute, value: seen }) => `<br><code>${escapeHtml(attribute)}</code> was <code>${escapeHtml(seen)}</code>`,
  );
  return `<p class="rule"><strong class="${judgeOutcome(rule)}">${value}</strong>${problem}: <code>${escapeHtml(rule.expression)}</code>
<span class="soft"><br>${escapeHtml(`${action}[${index}] of ${policy} at ${target}`)}</span>${decided ? ', <strong>which decided</strong>' : ''}<span class="soft">${saw.join('')}</span></p>`;
}

/** Whether it speaks for the request or against it. An Allow that does not match leaves it to the others. */
function judgeOutcome({ action, value }: JournaledRuleOutcome): string {
  if (value === 'skipped' || (action === 'Allow' && value !== true)) return 'soft';
  const isAgainst = action === 'Deny' ? value !== false : value !== true;
  return isAgainst ? 'bad' : 'good';
}

function isSame(rule: JournaledRule, other: JournaledRule | null): boolean {
  return (
    other !== null &&
    rule.policy === other.policy &&
    rule.target === other.target &&
    rule.action === other.action &&
    rule.index === other.index
  );
}

function describeReason(reason: string): string {
  const known = new Map<string, ReasonDefinition>(Object.entries(reasons));
  return known.get(reason)?.description ?? '';
}

function formatTime(iso: string): string {
  return `<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}Z</time>`;
}
