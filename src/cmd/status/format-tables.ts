// A table for each kind of resource, and how each of them is. Pure.
import type { Palette } from '../../base/terminal.ts';
import { type Column, fitTable, type TableCell } from './fit-table.ts';
import { findCondition } from './judge-conditions.ts';
import type {
  StatusBackend,
  StatusCondition,
  StatusGateway,
  StatusGatewayClass,
  StatusPolicy,
  StatusPool,
  StatusReport,
  StatusRoute,
  StatusState,
} from './status-report.ts';

/** A table of one kind. */
export interface StatusTable {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly TableCell[])[];
}

const markColumn: Column = { title: ' ' };
const nameColumn: Column = { title: 'NAME', least: 16 };

/** The tables, in the order in which they are shown. */
export function listTables(report: StatusReport): readonly StatusTable[] {
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

/** With its title. */
export function formatTable(
  { title, columns, rows }: StatusTable,
  width: number | undefined,
  palette: Palette,
): string[] {
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
