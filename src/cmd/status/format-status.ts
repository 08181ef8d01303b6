// The report for a person: a table per kind, then what is not well, why, and what to do. Pure.
import { formatAccess } from '../../base/access-count.ts';
import { createPalette, escapeControls, type Palette } from '../../base/terminal.ts';
import { type Column, fitTable, type TableCell, wrapText } from './fit-table.ts';
import { findCondition } from './judge-conditions.ts';
import type {
  StatusBackend,
  StatusCondition,
  StatusController,
  StatusGateway,
  StatusGatewayClass,
  StatusPolicy,
  StatusPool,
  StatusProblem,
  StatusReport,
  StatusRoute,
  StatusState,
} from './status-report.ts';

interface FormatOptions {
  readonly color: boolean;
  /** Columns of the terminal; undefined: as wide as it gets. */
  readonly width: number | undefined;
}

/** Formats the whole report. */
export function formatStatus(report: StatusReport, { color, width }: FormatOptions): string {
  const palette = createPalette(color);
  const tables = listTables(report);
  const parts = [
    formatController(report.controller, width, palette),
    ...tables.filter(({ rows }) => rows.length > 0).map((table) => formatTable(table, width, palette)),
    formatNothing(report),
    formatOthers(report, palette),
    formatRollouts(report, width, palette),
    formatOpenRoutes(report, palette),
    formatProblems(report, width, palette),
    formatRemarks(report, width, palette),
    formatEnd(report, palette),
  ];
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** A table of one kind. */
interface StatusTable {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly TableCell[])[];
}

const markColumn: Column = { title: ' ' };
const nameColumn: Column = { title: 'NAME', least: 16 };

/** The tables, in the order in which they are shown. */
function listTables(report: StatusReport): readonly StatusTable[] {
  const { namespace } = report;
  const hasFederations = report.proxyBackends.some(
    ({ conditions }) => findCondition(conditions, 'TargetsHealthy') !== undefined,
  );
  return [
    {
      title: 'GatewayClasses',
      columns: [markColumn, nameColumn, { title: 'ACCEPTED' }],
      rows: report.gatewayClasses.map((each) => formatClass(each)),
    },
    {
      title: 'Gateways',
      columns: [
        markColumn,
        nameColumn,
        { title: 'CLASS', least: 8, leaves: 4 },
        { title: 'ADDRESS', least: 15, leaves: 2 },
        { title: 'LISTENERS', least: 12, leaves: 3 },
        { title: 'ROUTES', leaves: 1 },
        { title: 'ACCEPTED' },
        { title: 'PROGRAMMED' },
      ],
      rows: report.gateways.map((each) => formatGateway(each, namespace)),
    },
    {
      title: 'HTTPRoutes',
      columns: [
        markColumn,
        nameColumn,
        { title: 'HOSTNAMES', least: 12, leaves: 2 },
        { title: 'PARENT', least: 12, leaves: 1 },
        { title: 'ACCEPTED' },
        { title: 'RESOLVEDREFS' },
      ],
      rows: report.httpRoutes.flatMap((each) => formatRoute(each, namespace)),
    },
    {
      title: 'ProxyPolicies',
      columns: [
        markColumn,
        nameColumn,
        { title: 'TARGET', least: 12, leaves: 2 },
        { title: 'AT', least: 12, leaves: 1 },
        { title: 'ACCEPTED' },
        { title: 'ATTACHED' },
        { title: 'PROGRAMMED' },
      ],
      rows: report.proxyPolicies.flatMap((each) => formatPolicy(each, namespace)),
    },
    {
      title: 'ProxyBackends',
      columns: [
        markColumn,
        nameColumn,
        { title: 'TARGETS', least: 12, leaves: 1 },
        { title: 'ACCEPTED' },
        { title: 'RESOLVEDREFS' },
        ...(hasFederations ? [{ title: 'TARGETSHEALTHY' }] : []),
      ],
      rows: report.proxyBackends.map((each) => formatBackend(each, namespace, hasFederations)),
    },
    {
      title: 'InferencePools',
      columns: [
        markColumn,
        nameColumn,
        { title: 'PICKER', least: 12, leaves: 2 },
        { title: 'PARENT', least: 12, leaves: 1 },
        { title: 'ACCEPTED' },
        { title: 'RESOLVEDREFS' },
      ],
      rows: report.inferencePools.flatMap((each) => formatPool(each, namespace)),
    },
  ];
}

function formatTable({ title, columns, rows }: StatusTable, width: number | undefined, palette: Palette): string[] {
  const indent = 2;
  const lines = fitTable(columns, rows, width === undefined ? undefined : width - indent, palette);
  return [palette.bold(title), ...lines.map((line) => `${' '.repeat(indent)}${line}`)];
}

const marks: Readonly<Record<StatusState, TableCell>> = {
  well: { text: '✓', color: 'green' },
  unwell: { text: '✗', color: 'red' },
  stale: { text: '?', color: 'yellow' },
  untouched: { text: '?', color: 'yellow' },
};

/** Within one namespace its name says nothing. */
function formatName(shown: string | null, namespace: string, own: string): TableCell {
  return { text: namespace === '' || namespace === shown ? own : `${namespace}/${own}` };
}

function shortenName(shown: string | null, fullName: string): string {
  return shown !== null && fullName.startsWith(`${shown}/`) ? fullName.slice(shown.length + 1) : fullName;
}

function formatCondition(conditions: readonly StatusCondition[], type: string): TableCell {
  const condition = findCondition(conditions, type);
  if (condition === undefined) return { text: '-', color: 'dim' };
  if (condition.stale) return { text: 'stale', color: 'yellow' };
  return {
    text: condition.status,
    color: condition.status === 'Unknown' ? 'yellow' : condition.good ? 'green' : 'red',
  };
}

function formatClass({ state, namespace, name: own, conditions }: StatusGatewayClass): TableCell[] {
  return [marks[state], formatName(null, namespace, own), formatCondition(conditions, 'Accepted')];
}

function formatGateway(gateway: StatusGateway, shown: string | null): TableCell[] {
  const { state, namespace, gatewayClass, addresses, listeners, conditions } = gateway;
  return [
    marks[state],
    formatName(shown, namespace, gateway.name),
    { text: gatewayClass },
    { text: addresses.length === 0 ? '-' : addresses.join(', '), color: addresses.length === 0 ? 'dim' : 'cyan' },
    { text: listeners.map((listener) => `${listener.name} ${listener.port ?? ''}`.trim()).join(', ') },
    { text: listeners.map(({ attachedRoutes }) => String(attachedRoutes ?? '-')).join(', ') },
    formatCondition(conditions, 'Accepted'),
    formatCondition(conditions, 'Programmed'),
  ];
}

function formatRoute(route: StatusRoute, shown: string | null): TableCell[][] {
  const { namespace, hostnames, parents } = route;
  const head = [
    formatName(shown, namespace, route.name),
    { text: hostnames.length === 0 ? 'any' : hostnames.join(', ') },
  ];
  if (parents.length === 0) return [[marks[route.state], ...head, { text: '-', color: 'dim' }]];
  return parents.map(({ gateway, section, port, state, conditions }, index) => [
    marks[state],
    ...(index === 0 ? head : [{ text: '' }, { text: '' }]),
    { text: `${shortenName(shown, gateway)}${section === '' ? '' : `, ${section}`}${port === null ? '' : `:${port}`}` },
    formatCondition(conditions, 'Accepted'),
    formatCondition(conditions, 'ResolvedRefs'),
  ]);
}

function formatPolicy(policy: StatusPolicy, shown: string | null): TableCell[][] {
  const { namespace, targets, ancestors } = policy;
  const head = [formatName(shown, namespace, policy.name), { text: targets.join('; ') }];
  if (ancestors.length === 0)
    return [
      [marks[policy.state], ...head, ...Array.from({ length: 4 }, (): TableCell => ({ text: '-', color: 'dim' }))],
    ];
  return ancestors.map(({ kind, name: ancestor, section, state, conditions }, index) => [
    marks[state],
    ...(index === 0 ? head : [{ text: '' }, { text: '' }]),
    { text: `${kind} ${shortenName(shown, ancestor)}${section === '' ? '' : `, ${section}`}` },
    formatCondition(conditions, 'Accepted'),
    formatCondition(conditions, 'Attached'),
    formatCondition(conditions, 'Programmed'),
  ]);
}

function formatBackend(backend: StatusBackend, shown: string | null, hasFederations: boolean): TableCell[] {
  const { state, namespace, targets, conditions } = backend;
  return [
    marks[state],
    formatName(shown, namespace, backend.name),
    { text: targets.join(', '), color: 'cyan' },
    formatCondition(conditions, 'Accepted'),
    formatCondition(conditions, 'ResolvedRefs'),
    ...(hasFederations ? [formatCondition(conditions, 'TargetsHealthy')] : []),
  ];
}

function formatPool(pool: StatusPool, shown: string | null): TableCell[][] {
  const { namespace, picker, parents } = pool;
  const asked: TableCell = picker === '' ? { text: '-', color: 'dim' } : { text: picker, color: 'cyan' };
  const head = [formatName(shown, namespace, pool.name), asked];
  return parents.map(({ gateway, state, conditions }, index) => [
    marks[state],
    ...(index === 0 ? head : [{ text: '' }, { text: '' }]),
    { text: shortenName(shown, gateway) },
    formatCondition(conditions, 'Accepted'),
    formatCondition(conditions, 'ResolvedRefs'),
  ]);
}

/** One line, and what could not be seen. */
function formatController(controller: StatusController, width: number | undefined, palette: Palette): string[] {
  const { namespace, deployments, leader, notes } = controller;
  const said = deployments.map(
    ({ name: own, replicas, readyReplicas }) => `${namespace}/${own}, ${readyReplicas} of ${replicas} ready`,
  );
  if (leader !== null) said.push(leader.expired ? 'nobody leads' : `led by ${leader.holder}`);
  const text = said.length > 0 ? said.join(', ') : `not to be seen in namespace ${namespace}`;
  const isGood = leader?.expired !== true && deployments.every(({ readyReplicas }) => readyReplicas > 0);
  const head = `${palette.bold('Controller')}  ${said.length === 0 ? palette.dim(text) : isGood ? escapeControls(text) : palette.red(escapeControls(text))}`;
  return [
    head,
    ...notes.flatMap((note) => indentText(escapeControls(note), 2, width).map((line) => palette.dim(line))),
  ];
}

function formatNothing(report: StatusReport): string[] {
  const isRead = !report.unread.some(({ kind }) => kind !== 'GatewayClass');
  const count = countResources(report) - report.gatewayClasses.length;
  if (count > 0 || !isRead) return [];
  return report.namespace === null
    ? ['There are no Gateways, HTTPRoutes, ProxyPolicies or ProxyBackends.']
    : [
        `There are no Gateways, HTTPRoutes, ProxyPolicies or ProxyBackends in namespace ${report.namespace}; -A shows all namespaces.`,
      ];
}

function formatOthers({ ofOthers: { gateways, httpRoutes } }: StatusReport, palette: Palette): string[] {
  const counted = [describeCount(gateways, 'Gateway'), describeCount(httpRoutes, 'HTTPRoute')].filter(
    (text) => text !== '',
  );
  return counted.length === 0
    ? []
    : [palette.dim(`Not shown, because other controllers serve them: ${counted.join(', ')}.`)];
}

function describeCount(count: number, what: string): string {
  return count === 0 ? '' : `${count} ${what}${count === 1 ? '' : 's'}`;
}

function formatProblems(report: StatusReport, width: number | undefined, palette: Palette): string[] {
  const findings = [
    ...report.unread.map(({ kind, message, advice }): Finding => ({
      title: kind,
      said: message,
      advice,
      state: 'unwell',
    })),
    ...report.problems.map((problem): Finding => ({
      title: formatSubject(problem),
      said: formatSaid(problem),
      advice: problem.advice,
      state: problem.state,
    })),
  ];
  if (findings.length === 0) return [];
  const lines = [palette.bold('Not well')];
  for (const { titles, said, state } of mergeFindings(findings)) {
    const mark = state === 'unwell' ? palette.red('✗') : palette.yellow('?');
    lines.push(...formatFinding(mark, titles, said, width, palette));
  }
  return lines;
}

/** Rollouts that simply take their time. Those that are stuck are problems. */
function listRollouts({ gateways }: StatusReport): readonly { readonly title: string; readonly message: string }[] {
  return gateways.flatMap(({ namespace, name: own, conditions }) => {
    const condition = findCondition(conditions, 'RolloutStuck');
    if (condition === undefined || !condition.good || condition.stale) return [];
    return [{ title: `Gateway ${namespace}/${own}`, message: condition.message }];
  });
}

function formatRollouts(report: StatusReport, width: number | undefined, palette: Palette): string[] {
  const rollouts = listRollouts(report);
  if (rollouts.length === 0) return [];
  return [
    palette.bold('Under way'),
    ...rollouts.flatMap(({ title, message }) =>
      formatFinding(palette.yellow('…'), [title], [{ text: message, advice: '' }], width, palette),
    ),
  ];
}

function formatRemarks({ remarks }: StatusReport, width: number | undefined, palette: Palette): string[] {
  if (remarks.length === 0) return [];
  const mark = palette.yellow('!');
  return [
    palette.bold('Could be safer'),
    ...remarks.flatMap(({ kind, namespace, name: own, message, advice }) =>
      formatFinding(mark, [`${kind} ${namespace}/${own}`], [{ text: message, advice }], width, palette),
    ),
  ];
}

function formatFinding(
  mark: string,
  titles: readonly string[],
  said: MergedFinding['said'],
  width: number | undefined,
  palette: Palette,
): string[] {
  const lines: string[] = [];
  for (const title of titles) {
    const [first = '', ...rest] = indentText(escapeControls(title), 5, width);
    lines.push(`  ${mark}  ${first.slice(5)}`, ...rest);
  }
  for (const { text, advice } of said) {
    lines.push(...indentText(escapeControls(text), 7, width));
    if (advice !== '')
      lines.push(...indentText(`What to do: ${escapeControls(advice)}`, 7, width).map((line) => palette.cyan(line)));
  }
  return lines;
}

interface Finding {
  readonly title: string;
  readonly said: string;
  readonly advice: string;
  readonly state: StatusState;
}

interface MergedFinding {
  readonly titles: readonly string[];
  readonly said: readonly { readonly text: string; readonly advice: string }[];
  readonly state: StatusState;
}

/** One heading for all that is said of a resource, and one text for all resources of which the same is said. */
function mergeFindings(findings: readonly Finding[]): readonly MergedFinding[] {
  const byTitle = [...Map.groupBy(findings, ({ title }) => title)].map(([title, group]) => ({
    title,
    state: group.some(({ state }) => state === 'unwell') ? ('unwell' as const) : ('stale' as const),
    said: group.map(({ said, advice }) => ({ text: said, advice })),
  }));
  return [...Map.groupBy(byTitle, ({ said, state }) => JSON.stringify([state, said])).values()].map((group) => ({
    titles: group.map(({ title }) => title),
    said: group[0]!.said,
    state: group[0]!.state,
  }));
}

function formatSaid({ condition, message }: StatusProblem): string {
  return condition === null ? message : `${condition.type} is ${condition.status}, ${condition.reason}: ${message}`;
}

function formatSubject({ kind, namespace, name: own, part }: StatusProblem): string {
  const subject = own === '' ? kind : `${kind} ${namespace === '' ? own : `${namespace}/${own}`}`;
  return part === '' ? subject : `${subject}, ${part}`;
}

function indentText(text: string, indent: number, width: number | undefined): string[] {
  // A terminal of a few columns is no reason to put every letter on a line of its own.
  const room = width === undefined ? undefined : Math.max(20, width - indent);
  return wrapText(text, room).map((line) => `${' '.repeat(indent)}${line}`);
}

function formatOpenRoutes({ access }: StatusReport, palette: Palette): string[] {
  if (access.open === 0 && access.closed === 0) return [];
  const text = `${formatAccess(access)}.`;
  return [access.open > access.publicAccess ? palette.yellow(text) : text];
}

function formatEnd(report: StatusReport, palette: Palette): string[] {
  if (report.well && listRollouts(report).length > 0) return [palette.green('All is well so far.')];
  if (report.well) return [palette.green('All is well.')];
  const all = listResources(report);
  const bad = all.filter(({ state }) => state !== 'well').length;
  if (bad === 0) return [palette.red('Not all is well.')];
  return [palette.red(`${bad} of ${all.length} resources ${bad === 1 ? 'is' : 'are'} not well.`)];
}

function listResources(report: StatusReport): readonly { readonly state: StatusState }[] {
  const { gatewayClasses, gateways, httpRoutes, proxyPolicies, proxyBackends, inferencePools } = report;
  return [...gatewayClasses, ...gateways, ...httpRoutes, ...proxyPolicies, ...proxyBackends, ...inferencePools];
}

function countResources(report: StatusReport): number {
  return listResources(report).length;
}
