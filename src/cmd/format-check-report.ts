// The report of `check` for a person: problems as one line each, and what would be served as an aligned tree. Pure.
import { describeBadge } from '../gateway/admin/protection-badge.ts';
import { createPalette, escapeControls, type Palette } from '../base/terminal.ts';
import { formatPosition } from '../sources/files/problem-line.ts';
import {
  type CheckedAuthentication,
  type CheckedBackend,
  type CheckedTarget,
  type CheckedCondition,
  type CheckedGateway,
  type CheckedJwtAuthentication,
  type CheckedListener,
  type CheckedRoute,
  type CheckReport,
} from './check-report.ts';
import { type CheckProblem, formatSubject } from './check-problems.ts';
import type { CheckedPolicy } from './check-policies.ts';
import { formatPicker } from './describe-picker.ts';
import { formatBackendName } from '../gateway/request/backend-name.ts';
import { ProtectionBlocks } from '../gateway/admin/format-protection.ts';

/** The problems, one line each, those that follow from another one indented under it; empty when there are none. */
export function formatCheckProblems(
  problems: readonly CheckProblem[],
  workingDirectory: string,
  color: boolean,
): string {
  const palette = createPalette(color);
  return problems.map((problem) => `${formatProblem(problem, workingDirectory, palette)}\n`).join('');
}

/** "2 problems, and 1 more because of them". */
export function countProblems(problems: readonly CheckProblem[]): string {
  const causes = problems.filter(({ causedBy }) => causedBy === null).length;
  const others = problems.length - causes;
  const count = causes === 1 ? '1 problem' : `${causes} problems`;
  return others === 0 ? count : `${count}, and ${others} more because of ${causes === 1 ? 'it' : 'them'}`;
}

/** What would be served. */
export function formatServed(report: CheckReport, color: boolean): string {
  const { gateways, backends, policies, authentications, jwtAuthentications, conditions } = report;
  const palette = createPalette(color);
  const blocks = new ProtectionBlocks();
  const lines = [
    ...gateways.flatMap((gateway) => formatGateway(gateway, blocks, palette)),
    ...formatProtections(blocks, palette),
    ...formatSection(
      'Backends',
      backends.flatMap((backend) => formatBackend(backend)),
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
    ...formatSection(
      'Tokens',
      jwtAuthentications.flatMap((authentication) => formatJwtAuthentication(authentication)),
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
  const isConsequence = problem.causedBy !== null;
  const message = palette[isConsequence ? 'yellow' : 'red'](escapeControls(problem.message));
  const text = before.length === 0 ? message : `${palette.bold(before.join(' '))}: ${message}`;
  return isConsequence ? `  ${palette.dim('because of this:')} ${text}` : text;
}

function formatGateway(
  { namespace, name, listeners }: CheckedGateway,
  blocks: ProtectionBlocks,
  palette: Palette,
): string[] {
  return [
    palette.bold(`Gateway ${namespace}/${name}`),
    ...listeners.flatMap((listener) => formatListener(listener, blocks, palette).map((line) => `  ${line}`)),
    '',
  ];
}

function formatListener(listener: CheckedListener, blocks: ProtectionBlocks, palette: Palette): string[] {
  const { name, protocol, hostname, port, routes } = listener;
  const addresses = listener.addresses.length === 0 ? ['*'] : listener.addresses;
  const places = addresses.map((address) => `${address.includes(':') ? `[${address}]` : address}:${port}`).join(', ');
  const host = hostname === '' ? 'any host' : hostname;
  const title = `${name}  ${palette.cyan(`${protocol} ${places}`)}  ${host}`;
  if (!listener.served) return [`${title}  ${palette.red('not served')}`];
  if (routes.length === 0) return [title, `  ${palette.yellow('no routes: every request is answered with 404')}`];
  const hosts = Map.groupBy(routes, (route) => route.hostname);
  const table = formatTable(
    routes.map((route) => formatRoute(route, blocks)),
    palette,
  );
  const lines = [title];
  let index = 0;
  for (const [pattern, ofHost] of hosts) {
    lines.push(`  ${palette.dim(pattern === '' ? 'any host' : pattern)}`);
    for (let count = ofHost.length; count > 0; count--) lines.push(`    ${table[index++]}`);
  }
  return lines;
}

const badgeColors = { bad: 'red', good: 'magenta', quiet: 'dim' } as const;

function formatRoute(route: CheckedRoute, blocks: ProtectionBlocks): Cell[] {
  const { path, method, headers, queryParams, httpRoute, rule, protection } = route;
  const shown = {
    exact: path.value,
    prefix: `${path.value === '/' ? '' : path.value}/*`,
    regularExpression: `~ ${path.value}`,
  }[path.type];
  const badge = describeBadge(protection, answersErrors(route));
  const conditions = [...headers.map((header) => `header ${header}`), ...queryParams.map((param) => `query ${param}`)];
  return [
    { text: [method, shown].filter((part) => part !== '').join(' '), color: 'green' },
    { text: conditions.join(' ') },
    { text: `-> ${formatDestination(route)}`, ...(route.answers !== null && { color: 'red' }) },
    { text: `HTTPRoute ${httpRoute}, rule ${rule}`, color: 'dim' },
    { text: blocks.refer(protection, badge.text), color: badgeColors[badge.tone] },
  ];
}

function answersErrors({ answers, backends }: CheckedRoute): boolean {
  return answers !== null || (backends.length > 0 && backends.every((backend) => backend.answers !== null));
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

function formatBackend({ backend, transport, endpoints, picker, targets }: CheckedBackend): Cell[][] {
  if (targets !== null)
    return [
      [{ text: formatBackendName(backend) }, { text: 'MCP, federation' }, { text: describeCount(targets) }],
      ...targets.map(formatTarget),
    ];
  const row: Cell[] = [
    { text: formatBackendName(backend) },
    { text: { HTTP: 'HTTP', StreamableHTTP: 'MCP, Streamable HTTP', SSE: 'MCP, SSE' }[transport], color: 'dim' },
    endpoints.length === 0
      ? { text: 'no endpoints: answers 503', color: 'red' }
      : { text: endpoints.join(', '), color: 'cyan' },
  ];
  if (picker === null) return [row];
  const isReachable = picker.endpoints.length > 0;
  const missing = picker.failureMode === 'FailOpen' ? 'yellow' : 'red';
  return [
    row,
    [
      { text: '' },
      { text: 'endpoint picker', color: 'dim' },
      { text: formatPicker(picker), color: isReachable ? 'cyan' : missing },
    ],
  ];
}

function describeCount({ length }: readonly unknown[]): string {
  return length === 1 ? '1 target' : `${length} targets, one server to clients`;
}

function formatTarget({ name, prefix, transport, endpoints, failureMode, problem }: CheckedTarget): Cell[] {
  const names = { text: `  ${name}: ${prefix === null ? 'without a prefix' : `${prefix}_NAME, ${prefix}+URI`}` };
  const protocol = { StreamableHTTP: 'Streamable HTTP', SSE: 'SSE' }[transport];
  const mode: Cell = { text: `${protocol}, ${failureMode}`, color: 'dim' };
  if (problem !== null) return [names, mode, { text: `counts as down: ${problem}`, color: 'red' }];
  if (endpoints.length === 0) return [names, mode, { text: 'no endpoints: counts as down', color: 'red' }];
  return [names, mode, { text: endpoints.join(', '), color: 'cyan' }];
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
function formatAuthentication({ policy, mode, issuer, flow, whoGetsIn, resources }: CheckedAuthentication): Cell[][] {
  const chosen = flow === null ? 'Auto, decided online' : `${flow.flow}: ${flow.reason}`;
  return [
    [{ text: `ProxyPolicy ${policy}` }, { text: 'issuer', color: 'dim' }, { text: issuer, color: 'cyan' }],
    [{ text: '' }, { text: 'mode', color: 'dim' }, { text: mode, ...(mode === 'Permissive' && { color: 'yellow' }) }],
    [{ text: '' }, { text: 'flow', color: 'dim' }, { text: chosen, color: 'magenta' }],
    ...(whoGetsIn === null ? [] : [[{ text: '' }, { text: 'lets in', color: 'dim' } as Cell, { text: whoGetsIn }]]),
    ...resources.flatMap(({ url, metadataUrls, callbackUrls }): Cell[][] => [
      [{ text: '' }, { text: 'resource', color: 'dim' }, { text: url, color: 'green' }],
      ...metadataUrls.map((each): Cell[] => [{ text: '' }, { text: 'metadata', color: 'dim' }, { text: each }]),
      ...callbackUrls.map((each): Cell[] => [
        { text: '' },
        { text: 'callback', color: 'dim' },
        { text: `${each}  (a redirect URI of the client at the identity provider)` },
      ]),
    ]),
    ...(resources.length === 0
      ? [[{ text: '' }, { text: 'protects nothing that is served', color: 'yellow' } as Cell]]
      : []),
  ];
}

const lineColors = { plain: undefined, remark: 'yellow', silent: 'dim' } as const;

/** What the numbers beside the routes stand for. */
function formatProtections(blocks: ProtectionBlocks, palette: Palette): string[] {
  const list = blocks.list();
  if (list.length === 0) return [];
  const width = `[${list.length}]`.length;
  const lines = list.flatMap((block, index) =>
    block.map(({ text, isDetail, kind }, line) => {
      const label = (line === 0 ? `[${index + 1}]` : '').padEnd(width);
      const color = lineColors[kind];
      const shown = escapeControls(text);
      return `  ${palette.magenta(label)} ${isDetail ? '  ' : ''}${color === undefined ? shown : palette[color](shown)}`;
    }),
  );
  const rules = blocks.listRules().map(({ text, isDetail }) => {
    const shown = escapeControls(text);
    return isDetail ? `    ${palette.cyan(shown)}` : `  ${shown}`;
  });
  return [
    palette.bold('Protection'),
    ...lines,
    '',
    ...(rules.length === 0 ? [] : [palette.bold('Rules'), ...rules, '']),
  ];
}

/** One line per policy and one per provider: whose tokens are taken, and where the keys come from. */
function formatJwtAuthentication({ policy, mode, location, providers }: CheckedJwtAuthentication): Cell[][] {
  return [
    [
      { text: `ProxyPolicy ${policy}` },
      { text: mode, ...(mode === 'Permissive' && { color: 'yellow' }) },
      { text: `in ${location}` },
    ],
    ...providers.map(({ name, issuer, audiences, keys }): Cell[] => [
      { text: `  ${name}` },
      { text: issuer, color: 'cyan' },
      { text: keys === 'inline' ? 'keys inline' : `keys from ${keys}` },
      { text: audiences.length === 0 ? 'for any audience' : `for ${audiences.join(', ')}`, color: 'dim' },
    ]),
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
