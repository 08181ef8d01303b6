// The flow inspector at the admin port: the last logins as JSON, and as a page that needs no script.
import type { FlowInspector, InspectedFlow, InspectedStep, StepOutcome } from '../observe/flow-inspector.ts';
import { type ReasonDefinition, reasons } from '../http/reasons.ts';
import { escapeHtml } from '../../base/escape-html.ts';
import { answerPage } from './page-frame.ts';
import { answerError, answerJson, type PlainAnswer, type PlainRequest } from './plain-server.ts';

/** Answers GET /flows: `format` json or html (a browser gets html), `q` a text to look for, `state` one of the states. */
export function answerFlows(
  request: PlainRequest,
  inspector: FlowInspector,
  { hasSessions = false }: { readonly hasSessions?: boolean } = {},
): PlainAnswer {
  const format = request.query.get('format') ?? (/\btext\/html\b/.test(request.accept) ? 'html' : 'json');
  const wanted = (request.query.get('q') ?? '').trim();
  const state = request.query.get('state') ?? '';
  if (state !== '' && !states.includes(state)) {
    return answerError(400, 'invalid_state', `state must be one of ${states.join(', ')}.`);
  }
  const all = inspector.list();
  const flows = all.filter((flow) => (state === '' || flow.state === state) && mentions(flow, wanted.toLowerCase()));
  if (format === 'json') return answerJson({ flows });
  if (format === 'html') return answerFlowsPage(flows, { total: all.length, wanted, state, hasSessions });
  return answerError(400, 'invalid_format', 'format must be json or html.');
}

const states: readonly string[] = ['in progress', 'authorized', 'refused', 'abandoned'];

/** Looks for the text in everything that the page shows: a request id from a client's error, a client's name, a reason. */
function mentions(flow: InspectedFlow, wanted: string): boolean {
  return wanted === '' || JSON.stringify(flow).toLowerCase().includes(wanted);
}

interface Shown {
  readonly total: number;
  readonly wanted: string;
  readonly state: string;
  /** Policies issue tokens: who is logged in has a page. */
  readonly hasSessions: boolean;
}

function answerFlowsPage(flows: readonly InspectedFlow[], shown: Shown): PlainAnswer {
  const { total, wanted, state, hasSessions } = shown;
  const isFiltered = wanted !== '' || state !== '';
  const options = ['', ...states].map(
    (name) =>
      `<option value="${name}"${name === state ? ' selected' : ''}>${name === '' ? 'any state' : name}</option>`,
  );
  const count = isFiltered ? `${flows.length} of ${total}` : `The last ${total}`;
  // A search result is shown expanded; otherwise the latest.
  const list = flows.map((flow, index) => formatFlow(flow, isFiltered ? flows.length <= 5 : index === 0));
  return answerPage(
    'Logins - mcp-gatehouse admin',
    `<h1>Logins of MCP clients</h1>
<p class="soft">${total === 0 ? 'No client has tried to log in since this gateway started.' : `${count} since this gateway started, the latest first. No token, code or secret is kept here.`}
<a href="/flows?format=json">As JSON</a>${hasSessions ? ', <a href="/sessions">who is logged in</a>' : ''}</p>
<form method="get" action="/flows">
<label for="q">Look for</label>
<input id="q" name="q" type="search" value="${escapeHtml(wanted)}" placeholder="request id, client, reason...">
<label for="state">State</label>
<select id="state" name="state">${options.join('')}</select>
<button>Show</button>
</form>
${isFiltered && flows.length === 0 ? '<p>No login matches this filter. <a href="/flows">Show all</a></p>' : ''}
${list.join('\n')}`,
    { current: '/flows', wide: true },
  );
}

const stateClasses: Readonly<Record<InspectedFlow['state'], string>> = {
  authorized: 'good',
  refused: 'bad',
  'in progress': 'wait',
  abandoned: 'bad',
};

function formatFlow(flow: InspectedFlow, open: boolean): string {
  const { client } = flow;
  const clientName = client.name ?? client.userAgent?.split(/[ /]/)[0] ?? 'a client';
  const facts: (readonly [string, string | null])[] = [
    ['Client', [client.name, client.userAgent].filter((text) => text !== null).join(', ') || 'unnamed'],
    ['From', client.address],
    ['client_id', client.id === null ? null : `${client.id} (a hash)`],
    ['Sent back to', client.redirectHost],
    ['Policy', flow.policy],
    ['Flow', flow.flow],
    ['Let in', flow.acceptedRequests === 0 ? null : `${flow.acceptedRequests} requests`],
  ];
  const rows = facts.flatMap(([name, value]) =>
    value === null ? [] : [`<div><dt>${name}</dt><dd>${escapeHtml(value)}</dd></div>`],
  );
  const half = Math.ceil(flow.steps.length / 2);
  const steps = flow.steps.map((step) => formatStep(step, Date.parse(flow.startedAt)));
  if (flow.omittedSteps > 0) {
    steps.splice(half, 0, `<li><span></span><span class="soft">${flow.omittedSteps} more steps left out</span></li>`);
  }
  return `<details id="${escapeHtml(flow.id)}"${open ? ' open' : ''}>
<summary><span class="state ${stateClasses[flow.state]}">${flow.state}</span> <strong>${escapeHtml(clientName)}</strong> at <code>${escapeHtml(`${flow.host}${flow.resource}`)}</code> <span class="time">${formatTime(flow.startedAt)}</span></summary>
${flow.note === null ? '' : `<p>${escapeHtml(flow.note)}</p>\n`}<dl>${rows.join('')}</dl>
<ol class="steps">
${steps.join('\n')}
</ol>
</details>`;
}

const marks: Readonly<Record<StepOutcome, readonly [mark: string, className: string, text: string]>> = {
  ok: ['✓', 'good', 'worked'],
  challenged: ['→', 'wait', 'was asked to log in'],
  refused: ['✗', 'bad', 'was refused'],
  failed: ['✗', 'bad', 'failed'],
};

/** Steps in words. Other names are shown as they are. */
const titles: Readonly<Record<string, string>> = {
  access: 'Request to the MCP server',
  'protected-resource-metadata': 'Resource metadata (RFC 9728)',
  'authorization-server-metadata': 'Authorization server metadata (RFC 8414)',
  'openid-configuration': 'Authorization server metadata (OpenID Connect Discovery)',
  register: 'Registration (RFC 7591)',
  authorize: 'Login begins (RFC 6749 4.1.1)',
  consent: 'Consent of the user',
  callback: 'Back from the identity provider (RFC 6749 4.1.2)',
  token: 'Token (RFC 6749 4.1.3)',
  revoke: 'Revocation (RFC 7009)',
  jwks: "Keys of the gateway's own tokens (RFC 7517)",
};

function formatStep(step: InspectedStep, startedAtMs: number): string {
  const [mark, className, text] = marks[step.outcome];
  const title =
    step.outcome === 'challenged' ? 'No token yet: 401 with the challenge (RFC 9728 5.1)' : titles[step.name];
  const known = new Map<string, ReasonDefinition>(Object.entries(reasons));
  const lines: string[] = [];
  if (step.reason !== null && step.outcome !== 'challenged') {
    const definition = known.get(step.reason);
    lines.push(
      `<p><code class="${className}">${escapeHtml(step.reason)}</code> ${escapeHtml(definition?.description ?? '')}</p>`,
    );
  }
  if (step.detail !== null && step.outcome !== 'challenged') lines.push(`<p>${escapeHtml(step.detail)}</p>`);
  if (step.error !== null && step.error !== step.reason) {
    lines.push(`<p>Answered with the error <code>${escapeHtml(step.error)}</code></p>`);
  }
  const asked = [
    step.grantType === null ? '' : `grant ${step.grantType}`,
    step.scope === null ? '' : `scope ${step.scope}`,
  ].filter((part) => part !== '');
  if (asked.length > 0) lines.push(`<p class="soft">${escapeHtml(asked.join(', '))}</p>`);
  for (const note of step.notes) lines.push(`<p>${escapeHtml(note)}</p>`);
  return `<li><span class="mark ${className}" role="img" aria-label="${text}">${mark}</span><span>${escapeHtml(title ?? step.name)}</span><span class="time"><time datetime="${step.at}" title="${step.at}">+${formatOffset(Date.parse(step.at) - startedAtMs)}</time>, took ${step.milliseconds} ms</span>
<p><code>${escapeHtml(`${step.method} ${step.path}`)}</code> → ${step.status}, request id <code>${escapeHtml(step.requestId)}</code></p>${lines.join('')}</li>`;
}

function formatOffset(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  return seconds < 100 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds / 60)} min`;
}

function formatTime(iso: string): string {
  return `<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}Z</time>`;
}
