// The first page of the admin port: what is open, what is served, and how everything is doing. It needs no script and changes nothing but the log level.
import { formatAccessDetails } from '../../base/access-count.ts';
import { escapeHtml } from '../../base/escape-html.ts';
import { type LogLevel, logLevels } from '../../base/log.ts';
import { type CardColumn, formatCardTable, formatLines } from './card-table.ts';
import {
  countAccess,
  formatOpenCount,
  type Overview,
  type OverviewBackend,
  type OverviewEndpoint,
  type OverviewIdp,
  type OverviewListener,
  type OverviewPolicy,
  type OverviewRoute,
  type OverviewTarget,
} from './describe-overview.ts';
import { formatBadges } from './format-badges.ts';
import { formatTargetRow, isDown, targetColumns } from './format-federations.ts';
import { answerPage, formatMoment, formatSpan } from './page-frame.ts';
import type { PlainAnswer } from './plain-server.ts';

/** Rows of one table; thousands of them would help nobody. */
const maxRows = 200;

interface OverviewSurroundings {
  /** Of the program. */
  readonly version: string;
  readonly level: LogLevel;
  readonly nowMs: number;
}

/** The page. */
export function answerOverviewPage(overview: Overview, surroundings: OverviewSurroundings): PlainAnswer {
  const { listeners, routes, backends, policies, idps } = overview;
  const { version, nowMs } = surroundings;
  return answerPage(
    'mcp-gatehouse admin',
    `<h1>mcp-gatehouse admin</h1>
<p class="version">Version ${escapeHtml(version)}. ${describeConfiguration(overview, nowMs)}</p>
${formatCounts(overview)}
${formatProblems(overview)}
<h2 id="listeners">Listeners</h2>
${formatRows(putFirst(listeners, isNotServed), 'No listener is configured.', 'Listeners', listenerColumns, formatListener)}
<h2 id="routes">Routes</h2>
${formatRows(
  putFirst(routes, ({ isOpen }) => isOpen),
  'No route is served: every request is answered 404.',
  'Routes and what protects them',
  routeColumns,
  formatRoute,
)}
<h2 id="backends">Backends</h2>
${formatRows(putFirst(backends, isDegraded), 'No backend is configured.', 'Backends and their endpoints', backendColumns, (each) => formatBackend(each, nowMs))}
${formatServers(backends, nowMs)}<h2 id="policies">Policies</h2>
${formatRows(putFirst(policies, isFailing), 'No ProxyPolicy is in force: whatever is served is open.', 'Policies', policyColumns, formatPolicy)}
<h2 id="idps">Identity providers</h2>
${formatRows(putFirst(idps, hasKeyTrouble), 'No policy names an identity provider.', 'Identity providers and their keys', idpColumns, (each) => formatIdp(each, nowMs))}
${formatLogLevel(surroundings.level)}`,
    { current: '/', wide: true },
  );
}

function describeConfiguration({ version, appliedAtMs, workers }: Overview, nowMs: number): string {
  const processes = workers > 1 ? ` ${workers} workers.` : '';
  if (appliedAtMs === undefined) return `No configuration was applied yet.${processes}`;
  return `<a href="/config">Configuration ${version}</a> is in force since ${formatMoment(appliedAtMs)} (${formatSpan(nowMs - appliedAtMs)}).${processes}`;
}

function formatCounts({ listeners, routes, backends, policies, idps, problems }: Overview): string {
  const endpoints = backends.flatMap((backend) => backend.endpoints);
  const ejected = endpoints.filter(({ isEjected }) => isEjected).length;
  const down = backends.flatMap(({ targets }) => targets).filter(isDown).length;
  const closed = listeners.filter(isNotServed).length;
  const troubled = new Set(policies.filter(isFailing).map(({ policy }) => policy)).size;
  const keyless = idps.filter(hasKeyTrouble).length;
  const open = routes.some(({ isOpen }) => isOpen);
  const details = formatAccessDetails(countAccess(routes));
  const tiles: readonly (readonly [id: string, isAlarm: boolean, text: string, detail: string])[] = [
    [
      'routes',
      open,
      formatOpenCount(routes),
      `${open ? 'anybody may use them' : 'nobody gets in unasked'}${details === '' ? '' : `, ${details}`}`,
    ],
    [
      'listeners',
      closed > 0,
      count(listeners.length, 'listener'),
      closed === 0 ? 'all are served' : `${closed} not served`,
    ],
    [
      'backends',
      ejected + down > 0,
      count(backends.length, 'backend'),
      `${count(endpoints.length, 'endpoint')}${ejected === 0 ? '' : `, ${ejected} ejected`}${down === 0 ? '' : `, ${count(down, 'server')} down`}`,
    ],
    [
      'policies',
      troubled > 0,
      count(new Set(policies.map(({ policy }) => policy)).size, 'policy', 'policies'),
      troubled === 0 ? 'none has problems' : `${troubled} with problems`,
    ],
    [
      'idps',
      keyless > 0,
      count(idps.length, 'identity provider'),
      keyless === 0 ? 'no key problems' : `${keyless} with key problems`,
    ],
    [
      'problems',
      problems.length > 0,
      count(problems.length, 'problem'),
      problems.length === 0 ? 'everything configured is in force' : 'of the configuration, below',
    ],
  ];
  const items = tiles.map(([id, isAlarm, text, detail]) => {
    const label = `<strong${isAlarm ? ' class="bad"' : ''}>${text}</strong>`;
    const isThere = id !== 'problems' || problems.length > 0;
    return `<li${isAlarm ? ' class="alarm"' : ''}>${isThere ? `<a href="#${id}">${label}</a>` : label}<span class="soft">${detail}</span></li>`;
  });
  return `<ul class="counts">${items.join('\n')}</ul>`;
}

function formatProblems({ problems }: Overview): string {
  if (problems.length === 0) return '';
  const items = problems.slice(0, maxRows).map((problem) => `<li>${escapeHtml(problem)}</li>`);
  return `<h2 id="problems">Problems of the configuration</h2>
<div class="notice"><ul class="problems">${items.join('\n')}</ul></div>${formatRest(problems.length, 'The log has them all.')}`;
}

function formatRows<T>(
  all: readonly T[],
  none: string,
  caption: string,
  columns: readonly CardColumn[],
  format: (each: T) => readonly string[],
): string {
  if (all.length === 0) return `<p class="soft">${none}</p>`;
  return `${formatCardTable(caption, columns, all.slice(0, maxRows).map(format))}${formatRest(all.length)}`;
}

/** `where` is HTML. */
function formatRest(total: number, where = '<a href="/config">The configuration</a> has them all.'): string {
  return total <= maxRows ? '' : `<p class="soft">${total - maxRows} more are left out here. ${where}</p>`;
}

const listenerColumns = [
  ['Address', 20],
  ['Protocol', 10],
  ['Hostname', 15],
  ['Listener', 20],
  ['Routes', 10],
  ['State', 25],
] as const;

function formatListener({ name, address, protocol, hostname, routes, problems }: OverviewListener): string[] {
  return [
    `<code>${escapeHtml(address)}</code>`,
    escapeHtml(protocol),
    hostname === '' ? 'any' : `<code>${escapeHtml(hostname)}</code>`,
    `<code>${escapeHtml(name)}</code>`,
    String(routes),
    problems.length === 0 ? '<span class="good">served</span>' : formatTrouble('not served', problems),
  ];
}

const routeColumns = [
  ['Protection', 40],
  ['Where', 20],
  ['Route', 20],
  ['To', 20],
] as const;

function formatRoute(route: OverviewRoute): string[] {
  const { rule, places, backends, filters } = route;
  return [
    formatBadges(route),
    formatLines(places.map((place) => `<code>${escapeHtml(place)}</code>`)),
    `<code>${escapeHtml(route.route)}</code> rule ${escapeHtml(rule)}`,
    formatLines([...backends, ...filters].map(escapeHtml)),
  ];
}

const backendColumns = [
  ['Backend', 25],
  ['Protocol', 20],
  ['Endpoints', 55],
] as const;

function formatBackend({ name, protocol, endpoints, targets }: OverviewBackend, nowMs: number): string[] {
  if (targets.length > 0)
    return [`<code>${escapeHtml(name)}</code>`, escapeHtml(protocol), formatLines(targets.map(formatTargetState))];
  return [
    `<code>${escapeHtml(name)}</code>`,
    escapeHtml(protocol),
    endpoints.length === 0
      ? '<span class="bad">no endpoints: requests are answered 503</span>'
      : formatLines(endpoints.map((endpoint) => formatEndpoint(endpoint, nowMs))),
  ];
}

function formatTargetState({ name, health }: OverviewTarget): string {
  const badge = health === 'down' ? ' <span class="badge bad">down</span>' : '';
  return `<a href="#servers"><code>${escapeHtml(name)}</code></a>${badge}`;
}

/** The servers of all federations. */
function formatServers(backends: readonly OverviewBackend[], nowMs: number): string {
  const servers = backends.flatMap(({ name, targets }) => targets.map((target) => ({ name, target })));
  if (servers.length === 0) return '';
  const sorted = putFirst(servers, ({ target }) => isDown(target));
  const format = ({ name, target }: (typeof servers)[number]): string[] => {
    // Of one that is down, the error stands with its state.
    const endpoints = target.endpoints.map((endpoint) =>
      formatEndpoint(isDown(target) ? { ...endpoint, lastFailure: null } : endpoint, nowMs),
    );
    return formatTargetRow(name, target, endpoints, nowMs);
  };
  return `<h2 id="servers">Servers of federations</h2>
${formatRows(sorted, '', 'Servers of federations', targetColumns, format)}
`;
}

function formatEndpoint({ name, isEjected, outstanding, lastFailure }: OverviewEndpoint, nowMs: number): string {
  const parts = [`<code>${escapeHtml(name)}</code>`];
  if (isEjected) parts.push('<span class="badge bad">ejected</span>');
  if (outstanding > 0) parts.push(`<span class="soft">${count(outstanding, 'request')} in flight</span>`);
  if (lastFailure !== null)
    parts.push(
      `<span class="${isEjected ? 'bad' : 'soft'}">${formatSpan(nowMs - lastFailure.atMs)} ago: ${escapeHtml(lastFailure.message)}</span>`,
    );
  return parts.join(' ');
}

const policyColumns = [
  ['Policy', 20],
  ['Kind', 25],
  ['Target', 20],
  ['State', 35],
] as const;

const policyStates: Readonly<Record<OverviewPolicy['state'], string>> = {
  'in force': '<span class="good">in force</span>',
  closed: 'closed: what it protects is answered with an error',
  failing: 'no keys: requests are answered 503',
  silent: 'has no effect',
};

function formatPolicy({ policy, field, title, target, state, problems }: OverviewPolicy): string[] {
  return [
    `<code>${escapeHtml(policy)}</code>`,
    `${escapeHtml(title)}${field === '' ? '' : ` <code class="soft">${escapeHtml(field)}</code>`}`,
    escapeHtml(target),
    problems.length === 0
      ? policyStates[state]
      : formatTrouble(state === 'in force' ? 'in force with old keys' : policyStates[state], problems),
  ];
}

const idpColumns = [
  ['Issuer', 25],
  ['Used by', 15],
  ['Login flow', 25],
  ['Keys', 35],
] as const;

function formatIdp(idp: OverviewIdp, nowMs: number): string[] {
  return [
    `<code>${escapeHtml(idp.issuer)}</code>`,
    formatLines(idp.policies.map((policy) => `<code>${escapeHtml(policy)}</code>`)),
    `${idp.flow === undefined ? '<span class="soft">none: tokens only</span>' : escapeHtml(idp.flow)}${
      idp.issuedTokens === undefined
        ? ''
        : `<p class="${idp.hasKeys ? 'soft' : 'bad'}">${escapeHtml(idp.issuedTokens)}</p>`
    }`,
    formatKeys(idp, nowMs),
  ];
}

function formatKeys({ keys, hasKeys, issuedTokens }: OverviewIdp, nowMs: number): string {
  const lines: string[] = [];
  if (keys === undefined && issuedTokens !== undefined) return '<span class="soft">none are needed</span>';
  if (keys === undefined) return hasKeys ? 'loaded' : '<span class="bad">not loaded</span>';
  if (keys.keys.length === 0)
    lines.push(
      `<span class="bad">no keys: ${issuedTokens === undefined ? 'requests are answered 503' : 'nobody can log in'}</span>`,
    );
  for (const { id, algorithms } of keys.keys.slice(0, maxKeys))
    lines.push(
      `<code>${escapeHtml(id ?? 'without kid')}</code> <span class="soft">${escapeHtml(algorithms.join(', '))}</span>`,
    );
  if (keys.keys.length > maxKeys) lines.push(`and ${keys.keys.length - maxKeys} more`);
  if (keys.fetchedAtMs !== undefined)
    lines.push(`<span class="soft">fetched ${formatSpan(nowMs - keys.fetchedAtMs)} ago</span>`);
  else if (keys.keys.length > 0) lines.push('<span class="soft">part of the policy</span>');
  if (keys.ignored.length > 0) lines.push(`<span class="wait">${count(keys.ignored.length, 'key')} not usable</span>`);
  if (keys.problem !== undefined) lines.push(`<span class="bad">last fetch failed: ${escapeHtml(keys.problem)}</span>`);
  return formatLines(lines);
}

const maxKeys = 8;

/** What needs attention comes first: it must not be among the rows that are left out. */
function putFirst<T>(all: readonly T[], isFirst: (each: T) => boolean): readonly T[] {
  return all.toSorted((left, right) => Number(isFirst(right)) - Number(isFirst(left)));
}

function isNotServed({ problems }: OverviewListener): boolean {
  return problems.length > 0;
}

function isDegraded({ endpoints, targets }: OverviewBackend): boolean {
  if (targets.some(isDown)) return true;
  return endpoints.length === 0 || endpoints.some(({ isEjected }) => isEjected);
}

function isFailing({ state }: OverviewPolicy): boolean {
  return state === 'closed' || state === 'failing';
}

function hasKeyTrouble({ keys, hasKeys }: OverviewIdp): boolean {
  return !hasKeys || keys?.problem !== undefined;
}

/** `what` is HTML. */
function formatTrouble(what: string, problems: readonly string[]): string {
  return `<span class="bad">${what}</span>${problems.map((problem) => `<p>${escapeHtml(problem)}</p>`).join('')}`;
}

function formatLogLevel(level: LogLevel): string {
  const options = logLevels.map((name) => `<option${name === level ? ' selected' : ''}>${name}</option>`);
  return `<h2>Log</h2>
<form method="post" action="/loglevel">
<label for="level">Log level</label>
<select id="level" name="level">${options.join('')}</select>
<button>Change</button>
</form>`;
}

function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${number} ${number === 1 ? singular : plural}`;
}
