// The report of `check` for a person: problems as one line each, and what would be served as an aligned tree. Pure.
import { createPalette, escapeControls } from '../base/terminal.ts';
import type { Palette } from '../base/terminal.ts';
import { formatPosition } from '../sources/files/problem-line.ts';
import type {
  CheckedAuthentication,
  CheckedBackend,
  CheckedCondition,
  CheckedGateway,
  CheckedListener,
  CheckedPolicy,
  CheckedRoute,
  CheckProblem,
  CheckReport,
} from './check-report.ts';
import { formatSubject } from './check-report.ts';

/** The problems, one line each; empty when there are none. */
export function formatCheckProblems(
  problems: readonly CheckProblem[],
  workingDirectory: string,
  color: boolean,
): string {
  const palette = createPalette(color);
  return problems.map((problem) => `${formatProblem(problem, workingDirectory, palette)}\n`).join('');
}

/** What would be served. */
export function formatServed(report: CheckReport, color: boolean): string {
  const { gateways, backends, policies, authentications, conditions } = report;
  const palette = createPalette(color);
  const lines = [
    ...gateways.flatMap((gateway) => formatGateway(gateway, palette)),
    ...formatSection(
      'Backends',
      backends.map((backend) => formatBackend(backend)),
      palette,
    ),
    ...formatSection(
      'Policies',
      policies.flatMap((policy) => formatPolicy(policy)),
      palette,
    ),
    ...formatSection(
      'Protected MCP servers',
      authentications.flatMap((authentication) => formatAuthentication(authentication)),
      palette,
    ),
    ...formatSection('Not as it should be', conditions.map(formatCondition), palette),
  ];
  if (gateways.length === 0) lines.unshift('Nothing would be served: there is no Gateway.');
  return `${lines.join('\n')}\n`;
}

/** One cell of a table. Coloured only once its width is known. */
export interface Cell {
  readonly text: string;
  readonly color?: keyof Palette;
}

function formatProblem(problem: CheckProblem, workingDirectory: string, palette: Palette): string {
  const { file, line, column, path } = problem;
  const place =
    file === null
      ? ''
      : formatPosition({ file, ...(line !== null && { line }), ...(column !== null && { column }) }, workingDirectory);
  const before = [place, path].filter((part) => part !== '').map(escapeControls);
  const message = palette.red(escapeControls(problem.message));
  return before.length === 0 ? message : `${palette.bold(before.join(' '))}: ${message}`;
}

function formatGateway({ namespace, name, listeners }: CheckedGateway, palette: Palette): string[] {
  return [
    palette.bold(`Gateway ${namespace}/${name}`),
    ...listeners.flatMap((listener) => formatListener(listener, palette).map((line) => `  ${line}`)),
    '',
  ];
}

function formatListener(listener: CheckedListener, palette: Palette): string[] {
  const { name, protocol, hostname, port, routes } = listener;
  const addresses = listener.addresses.length === 0 ? ['*'] : listener.addresses;
  const places = addresses.map((address) => `${address.includes(':') ? `[${address}]` : address}:${port}`).join(', ');
  const host = hostname === '' ? 'any host' : hostname;
  const title = `${name}  ${palette.cyan(`${protocol} ${places}`)}  ${host}`;
  if (!listener.served) return [`${title}  ${palette.red('not served')}`];
  if (routes.length === 0) return [title, `  ${palette.yellow('no routes: every request is answered with 404')}`];
  const hosts = Map.groupBy(routes, (route) => route.hostname);
  const table = formatTable(routes.map(formatRoute), palette);
  const lines = [title];
  let index = 0;
  for (const [pattern, ofHost] of hosts) {
    lines.push(`  ${palette.dim(pattern === '' ? 'any host' : pattern)}`);
    for (let count = ofHost.length; count > 0; count--) lines.push(`    ${table[index++]}`);
  }
  return lines;
}

function formatRoute(route: CheckedRoute): Cell[] {
  const { path, method, headers, queryParams, httpRoute, rule, policies } = route;
  const shown = {
    exact: path.value,
    prefix: `${path.value === '/' ? '' : path.value}/*`,
    regularExpression: `~ ${path.value}`,
  }[path.type];
  const conditions = [...headers.map((header) => `header ${header}`), ...queryParams.map((param) => `query ${param}`)];
  return [
    { text: [method, shown].filter((part) => part !== '').join(' '), color: 'green' },
    { text: conditions.join(' ') },
    { text: `-> ${formatDestination(route)}`, ...(route.answers !== null && { color: 'red' }) },
    { text: `HTTPRoute ${httpRoute}, rule ${rule}`, color: 'dim' },
    { text: policies.length === 0 ? '' : `policies: ${policies.join(', ')}`, color: 'magenta' },
  ];
}

function formatDestination({ answers, backends, filters }: CheckedRoute): string {
  if (answers !== null) return `answers ${answers.status} ${answers.reason}`;
  const total = backends.length;
  const destinations = backends.map(({ backend, weight, answers: own }) => {
    const text = own === null ? formatBackendName(backend) : `answers ${own.status} ${own.reason}`;
    return total > 1 ? `${text} (weight ${weight})` : text;
  });
  return [...destinations, ...filters].join(', ') || 'answers 500: no backend';
}

function formatBackend({ backend, transport, endpoints }: CheckedBackend): Cell[] {
  return [
    { text: formatBackendName(backend) },
    { text: { HTTP: 'HTTP', StreamableHTTP: 'MCP, Streamable HTTP', SSE: 'MCP, SSE' }[transport], color: 'dim' },
    endpoints.length === 0
      ? { text: 'no endpoints: answers 503', color: 'red' }
      : { text: endpoints.join(', '), color: 'cyan' },
  ];
}

/** "ProxyBackend/default/tickets" is a key; people read "ProxyBackend default/tickets" and "Service default/web:80". */
function formatBackendName(key: string): string {
  const [kind, namespace, name, port] = key.split('/');
  return name === undefined ? key : `${kind} ${namespace}/${name}${port === undefined ? '' : `:${port}`}`;
}

function formatPolicy({ namespace, name, attachments }: CheckedPolicy): Cell[][] {
  const title = `ProxyPolicy ${namespace}/${name}`;
  if (attachments.length === 0) return [[{ text: title }, { text: 'not in force anywhere', color: 'red' }]];
  return attachments.map(({ field, target, closed }, index) => [
    { text: index === 0 ? title : '' },
    closed ? { text: 'closed, answers 500', color: 'red' } : { text: field, color: 'magenta' },
    { text: `on ${target}` },
  ]);
}

/** One block per policy: who is asked, and where clients find that out. */
function formatAuthentication({ policy, mode, issuer, flow, resources }: CheckedAuthentication): Cell[][] {
  const chosen = flow === null ? 'Auto, decided online' : `${flow.flow}: ${flow.reason}`;
  return [
    [{ text: `ProxyPolicy ${policy}` }, { text: 'issuer', color: 'dim' }, { text: issuer, color: 'cyan' }],
    [{ text: '' }, { text: 'mode', color: 'dim' }, { text: mode, ...(mode === 'Permissive' && { color: 'yellow' }) }],
    [{ text: '' }, { text: 'flow', color: 'dim' }, { text: chosen, color: 'magenta' }],
    ...resources.flatMap(({ url, metadataUrls }): Cell[][] => [
      [{ text: '' }, { text: 'resource', color: 'dim' }, { text: url, color: 'green' }],
      ...metadataUrls.map((each): Cell[] => [{ text: '' }, { text: 'metadata', color: 'dim' }, { text: each }]),
    ]),
    ...(resources.length === 0
      ? [[{ text: '' }, { text: 'protects nothing that is served', color: 'yellow' } as Cell]]
      : []),
  ];
}

function formatCondition(condition: CheckedCondition): Cell[] {
  const { type, status, reason, message } = condition;
  return [
    { text: formatSubject(condition) },
    { text: `${type} ${status}`, color: 'yellow' },
    { text: reason, color: 'yellow' },
    { text: message },
  ];
}

function formatSection(title: string, rows: readonly Cell[][], palette: Palette): string[] {
  if (rows.length === 0) return [];
  return [palette.bold(title), ...formatTable(rows, palette).map((row) => `  ${row}`), ''];
}

/** Columns as wide as their widest text; columns that are empty everywhere are left out. */
export function formatTable(rows: readonly (readonly Cell[])[], palette: Palette): string[] {
  const widths: number[] = [];
  const escaped = rows.map((row) => row.map((cell) => ({ ...cell, text: escapeControls(cell.text) })));
  for (const row of escaped) {
    for (const [index, { text }] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, text.length);
  }
  return escaped.map((row) => {
    const last = row.findLastIndex(({ text }) => text !== '');
    const cells = row.slice(0, last + 1).flatMap(({ text, color }, index) => {
      const width = widths[index] ?? 0;
      if (width === 0) return [];
      const painted = color === undefined || text === '' ? text : palette[color](text);
      return [index === last ? painted : painted + ' '.repeat(width - text.length)];
    });
    return cells.join('  ');
  });
}
