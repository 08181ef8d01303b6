// The servers of federations as tables for pages, and as lines for a terminal.
import { escapeHtml } from '../../base/escape-html.ts';
import { formatBackendName } from '../request/backend-name.ts';
import { type CardColumn, formatCardTable, formatLines } from './card-table.ts';
import type { DescribedFederation, DescribedTarget } from './describe-federations.ts';
import { formatSpan } from './page-frame.ts';

export const targetColumns: readonly CardColumn[] = [
  ['Server', 20],
  ['Backend', 20],
  ['Version', 20],
  ['Tools', 10],
  ['State', 30],
];

type ShownTarget = Omit<DescribedTarget, 'endpoints'>;

/** A row; `endpoints` are HTML. */
export function formatTargetRow(
  backend: string,
  target: ShownTarget,
  endpoints: readonly string[],
  nowMs: number,
): string[] {
  const { name, prefix, failureMode, version, serverInfo, tools } = target;
  const names = prefix === null ? 'its own names' : `names <code>${escapeHtml(prefix)}_…</code>`;
  const mode = failureMode === 'FailClosed' ? '<br>FailClosed' : '';
  const speaks = version === null ? [] : [`<span class="soft">MCP ${escapeHtml(version)}</span>`];
  const self = serverInfo === null ? [] : [`${escapeHtml(serverInfo.name)} ${escapeHtml(serverInfo.version)}`];
  return [
    `<code>${escapeHtml(name)}</code><p class="soft">${names}${mode}</p>${endpoints.length === 0 ? '' : formatLines(endpoints)}`,
    `<code>${escapeHtml(backend)}</code>`,
    self.length + speaks.length === 0 ? '' : formatLines([...self, ...speaks]),
    tools === null ? '' : String(tools),
    formatState(target, nowMs),
  ];
}

function formatState({ health, lastError, problem }: ShownTarget, nowMs: number): string {
  const words = {
    up: '<span class="badge good">up</span>',
    down: '<span class="badge bad">down</span>',
    unknown: '<span class="soft">nobody has asked it yet</span>',
  };
  const lines = [words[health]];
  if (problem !== null) lines.push(`<span class="bad">${escapeHtml(problem)}</span>`);
  if (lastError !== null) {
    const age = formatSpan(nowMs - Date.parse(lastError.time));
    lines.push(
      `<span class="${health === 'down' ? 'bad' : 'soft'}">${age} ago: ${escapeHtml(lastError.message)}</span>`,
    );
  }
  return formatLines(lines);
}

/** What needs attention comes first. */
export function isDown({ health }: ShownTarget): boolean {
  return health === 'down';
}

/** A section of a page; empty where there are no federations. */
export function formatFederations(federations: readonly DescribedFederation[], nowMs: number): string {
  const rows = federations.flatMap(({ backend, targets }) =>
    targets.map((target) => {
      const endpoints = target.endpoints.map((endpoint) => `<code>${escapeHtml(endpoint)}</code>`);
      return formatTargetRow(formatBackendName(backend), target, endpoints, nowMs);
    }),
  );
  if (rows.length === 0) return '';
  return `<h2 id="servers">Servers of federations</h2>
${formatCardTable('Servers of federations', targetColumns, rows)}${federations.map(formatContested).join('')}`;
}

/** Names of a federation on a page. */
const maxContested = 100;

function formatContested({ backend, contested }: DescribedFederation): string {
  if (contested.length === 0) return '';
  const names = contested
    .slice(0, maxContested)
    .map(
      ({ kind, name, targets }) =>
        `<li>${kind} <code>${escapeHtml(name)}</code>: ${targets.map((target) => escapeHtml(target)).join(', ')}</li>`,
    );
  return `
<p class="bad">Several servers of <code>${escapeHtml(formatBackendName(backend))}</code> claim these names, so none of them serves them:</p>
<ul>${names.join('')}</ul>`;
}

/** For a terminal. */
export function writeFederations(federations: readonly DescribedFederation[]): string[] {
  return federations.flatMap(({ backend, targets, contested }) => [
    `federation ${backend}, ${targets.length} ${targets.length === 1 ? 'server' : 'servers'}`,
    ...targets.map((target) => `  ${writeTarget(target)}`),
    ...contested
      .slice(0, maxContested)
      .map(
        ({ kind, name, targets: claimants }) => `  ${kind} ${name}: claimed by ${claimants.join(', ')}, served by none`,
      ),
    '',
  ]);
}

/** "tickets (tix_): up, desk 1.2.0, MCP 2025-11-25, 7 tools". */
export function writeTarget({
  name,
  prefix,
  health,
  version,
  serverInfo,
  tools,
  lastError,
  problem,
}: ShownTarget): string {
  const facts = [
    health === 'unknown' ? 'nobody has asked it yet' : health,
    ...(serverInfo === null ? [] : [`${serverInfo.name} ${serverInfo.version}`]),
    ...(version === null ? [] : [`MCP ${version}`]),
    ...(tools === null ? [] : [`${tools} ${tools === 1 ? 'tool' : 'tools'}`]),
    ...(problem === null ? [] : [problem]),
    ...(lastError === null ? [] : [`last error ${lastError.time}: ${lastError.message}`]),
  ];
  return `${name}${prefix === null ? '' : ` (${prefix}_)`}: ${facts.join(', ')}`;
}
