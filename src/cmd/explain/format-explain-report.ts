// A report for a person: who asks for what, the way to the rule, each policy with its expressions, and the end of it. Pure.
import { STATUS_CODES } from 'node:http';
import { createPalette, escapeControls, type Palette } from '../../base/terminal.ts';
import { isAuthenticationKind } from '../../ir/policy-kinds.ts';
import { formatPicker } from '../describe-picker.ts';
import { type Cell, formatTable } from '../format-check-report.ts';
import { formatFederation } from './explain-federation.ts';
import type {
  ExplainedAnswer,
  ExplainedForward,
  ExplainedItem,
  ExplainedPolicy,
  ExplainedRule,
  ExplainReport,
} from './explain-report.ts';

/** Formats a report. */
export function formatExplainReport(report: ExplainReport, color: boolean): string {
  const palette = createPalette(color);
  const parts = [formatHead(report, palette)];
  if (report.items === null) {
    parts.push(formatPolicies(report, palette), formatVerdict(report, palette));
    if (report.forward !== null) parts.push(formatForward(report.forward, report.request.message, palette));
    else if (report.answer !== null && report.request.id === null) parts.push(formatAnswer(report.answer, palette));
  } else parts.push(formatItems(report.items, palette));
  parts.push(report.notes.map((note) => palette.yellow(`Note: ${escapeControls(note)}`)));
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function formatHead(report: ExplainReport, palette: Palette): string[] {
  const { request, listener, route, passedOver } = report;
  const rows: Cell[][] = [];
  if (request.id !== null) {
    rows.push(row('request id', request.id), row('time', request.time ?? ''));
    if (report.answer !== null) rows.push(row('status', String(report.answer.status)));
  }
  if (request.message !== null && report.items === null) rows.push(row('message', formatMessage(request.message)));
  rows.push(...formatToken(report));
  if (listener !== null) rows.push(row('listener', formatListener(listener)));
  if (route !== null) {
    const match = route.match === '' ? '' : `: ${route.match}`;
    rows.push(row('route', `HTTPRoute ${route.httpRoute}, rule ${route.rule}${match}`));
  }
  if (report.ownEndpoint !== null) rows.push(row('endpoint', `${report.ownEndpoint}, of the gateway itself`));
  const misses = passedOver.map(({ match, httpRoute, rule, why }): Cell => ({
    text: `not ${match} of ${httpRoute}, rule ${rule}: ${why}`,
    color: 'dim',
  }));
  for (const [index, miss] of misses.entries())
    rows.push([{ text: route === null && index === 0 ? 'routes' : '', color: 'dim' }, miss]);
  const title = `${request.method} ${request.url}`;
  return [palette.bold(escapeControls(title)), ...formatTable(rows, palette).map((line) => `  ${line}`)];
}

function row(name: string, text: string): Cell[] {
  return [{ text: name, color: 'dim' }, { text }];
}

function formatMessage(message: NonNullable<ExplainReport['request']['message']>): string {
  const { method, tool, prompt, resource, protocolVersion, count, assumed } = message;
  const item = tool ?? prompt ?? resource;
  const version = protocolVersion === '' ? '' : `, MCP ${protocolVersion}`;
  const guess = assumed ? '; assumed, because no flag names another' : '';
  const batch = count === 1 ? '' : `, in a batch of ${count} messages`;
  return `${method}${item === null ? '' : ` ${item}`}${version}${batch}${guess}`;
}

function formatToken({ token, request, policies }: ExplainReport): Cell[][] {
  if (token === null) return request.id === null ? [row('token', 'none')] : [];
  const isRead = policies.some(({ field }) => field !== 'closed' && isAuthenticationKind(field));
  const unread = isRead ? 'not accepted by any policy' : 'no policy here reads it, so rules see no claims';
  const accepted = token.issuer === null ? unread : `${token.subject ?? 'nobody'}, of ${token.issuer}`;
  const rows = [row('token', accepted)];
  for (const { state, keys, assumedClaims } of token.signatures) {
    const said = describeSignature(state, keys, assumedClaims);
    if (said !== undefined && !rows.some(([, cell]) => cell?.text === said))
      rows.push([{ text: '' }, { text: said, color: 'yellow' }]);
  }
  return rows;
}

function describeSignature(
  state: 'checked' | 'unchecked' | 'assumed',
  keys: string,
  assumedClaims: readonly string[],
): string | undefined {
  if (state === 'checked') return undefined;
  if (state === 'unchecked') {
    const hint = keys.startsWith('at ') ? ' (--online fetches them)' : '';
    return `its signature was not checked and counts as good: the keys are ${keys}${hint}`;
  }
  return `claims from a file, taken as verified${assumedClaims.length === 0 ? '' : `; assumed: ${assumedClaims.join(', ')}`}`;
}

function formatListener({ gateway, name, protocol, port, hostname }: NonNullable<ExplainReport['listener']>): string {
  const place = protocol === '' ? '' : `, ${protocol} ${port}, ${hostname === '' ? 'any host' : `host ${hostname}`}`;
  return `${name} of Gateway ${gateway}${place}`;
}

const marks: Readonly<Record<ExplainedPolicy['outcome'], { readonly mark: string; readonly color: keyof Palette }>> = {
  allow: { mark: '✓', color: 'green' },
  deny: { mark: '✗', color: 'red' },
  also_denies: { mark: '✗', color: 'red' },
  no_say: { mark: '-', color: 'dim' },
  respond: { mark: '✓', color: 'green' },
  overridden: { mark: '-', color: 'dim' },
  not_asked: { mark: '-', color: 'dim' },
  not_reached: { mark: '-', color: 'dim' },
};

function formatPolicies({ policies, route, request }: ExplainReport, palette: Palette): string[] {
  if (policies.length === 0)
    return route === null || request.id !== null ? [] : [palette.yellow('No policy protects this route.')];
  const rows = policies.map((policy): Cell[] => {
    const { mark, color } = marks[policy.outcome];
    return [
      { text: mark, color },
      { text: policy.field, color: marks[policy.outcome].mark === '✗' ? 'red' : 'magenta' },
      { text: policy.policy },
      { text: describePolicy(policy), color: 'dim' },
    ];
  });
  const table = formatTable(rows, palette);
  return [
    palette.bold('Policies'),
    ...policies.flatMap((policy, index) => [
      `  ${table[index]}`,
      ...policy.rules.flatMap((rule) => formatRule(rule, palette)).map((line) => `      ${line}`),
    ]),
  ];
}

function describePolicy(policy: ExplainedPolicy): string {
  const { target, overriddenBy, outcome, mode, reason, detail, field } = policy;
  const said = [target === '' ? '' : `on ${target}`, mode];
  if (outcome === 'also_denies') said.push('would deny too');
  if (outcome === 'no_say') said.push(detail === null ? 'has no say here' : `has no say: ${detail}`);
  else if (overriddenBy !== null) said.push(`overridden by ${formatOverriding(overriddenBy)}`);
  if (outcome === 'not_reached') said.push('not reached');
  if (outcome === 'not_asked') said.push('not asked');
  if (outcome === 'respond') said.push('answers itself');
  if (outcome === 'allow' && reason !== null) said.push(`lets pass what Strict would refuse: ${reason}`);
  if (field === 'closed') said.push('cannot be enforced, so what it protects is closed');
  return said.filter((text) => text !== '').join(', ');
}

function formatOverriding({ policy, target }: NonNullable<ExplainedPolicy['overriddenBy']>): string {
  return policy === '' ? target : `${policy} on ${target}`;
}

function formatRule(rule: ExplainedRule, palette: Palette): string[] {
  const { action, expression, value, problem, decided, saw } = rule;
  const isAgainst = action === 'Deny' ? value === true || value === 'error' : value === false || value === 'error';
  const color = value === 'skipped' ? 'dim' : isAgainst ? 'red' : 'green';
  const said = `${action.padEnd(7)}  ${palette[color](String(value).padEnd(7))}`;
  const source = escapeControls(expression.replaceAll(/\s+/g, ' ').trim());
  const lines = [`${said}  ${source}${decided ? palette.bold('  <- decides') : ''}`];
  const indent = ' '.repeat(18);
  if (problem !== null) lines.push(`${indent}${palette.red(escapeControls(problem))}`);
  for (const { attribute, value: seen } of saw) {
    const text = seen === 'absent' ? `${attribute} is absent` : `${attribute} = ${seen}`;
    if (text !== problem) lines.push(`${indent}${palette.dim(escapeControls(text))}`);
  }
  if (value === 'skipped') lines.push(`${indent}${palette.dim('skipped: it reads what this message does not have')}`);
  return lines;
}

function formatVerdict({ verdict, forward, answer }: ExplainReport, palette: Palette): string[] {
  const { outcome, reason, detail } = verdict;
  const why = [reason, detail].filter((text) => text !== null).map((text) => escapeControls(text));
  if (outcome === 'forwarded') {
    const where = forward === null ? '' : ` to ${escapeControls(forward.backend)}`;
    return [palette.green(palette.bold(`Allowed: forwarded${where}`))];
  }
  if (outcome === 'answered') {
    const status = answer === null ? '' : ` with ${answer.status}`;
    return [
      palette.green(palette.bold(`Answered by the gateway${status}${why.length === 0 ? '' : `: ${why.join(', ')}`}`)),
    ];
  }
  return [palette.red(palette.bold(`Denied${why.length === 0 ? '' : `: ${why.join('; ')}`}`))];
}

function formatForward(
  forward: ExplainedForward,
  message: ExplainReport['request']['message'],
  palette: Palette,
): string[] {
  const {
    endpoints,
    picker,
    federation,
    method,
    target,
    host,
    addedHeaders,
    removedHeaders,
    ownHeaders,
    choices,
    mirrors,
  } = forward;
  const lines: string[] = [];
  const several = endpoints.length > 1 ? `, or ${endpoints.slice(1).join(', ')}` : '';
  if (picker !== null) {
    lines.push(`${method} ${target}`, `endpoint picker ${formatPicker(picker)}`);
    lines.push(`it is not asked here; it chooses among ${endpoints.join(', ')}`);
  } else if (federation !== null) {
    lines.push(formatFederation(federation));
    if (federation.item !== null && endpoints.length > 0) lines.push(`endpoint ${endpoints.join(', or ')}`);
  } else if (target !== '') lines.push(`${method} ${endpoints[0] ?? ''}${target}${several}`);
  else if (endpoints.length > 0) lines.push(`endpoint ${endpoints.join(', ')}`);
  if (host !== '') lines.push(`host: ${host}`);
  const shown = lines.map((line) => escapeControls(line));
  for (const [name, value] of addedHeaders) shown.push(palette.green(escapeControls(`+ ${name}: ${value}`)));
  for (const name of removedHeaders) shown.push(palette.red(escapeControls(`- ${name}`)));
  if (ownHeaders.length > 0)
    shown.push(
      palette.dim(escapeControls(`+ ${[...new Set(ownHeaders.map(([name]) => name))].join(', ')}, as always`)),
    );
  if (choices.length > 1)
    shown.push(
      `split by weight: ${choices.map(({ backend, weight }) => `${escapeControls(backend)} ${weight}`).join(', ')}`,
    );
  if (mirrors.length > 0) shown.push(`copied to ${escapeControls(mirrors.join(', '))}`);
  // A stream may bring a list at any time; but a tool call does not ask for one.
  if (forward.filtersAnswer && (message === null || message.method.endsWith('/list')))
    shown.push('the list in the answer has only what this caller may use');
  return shown.map((line) => `  ${line}`);
}

function formatAnswer({ status, headers, body }: ExplainedAnswer, palette: Palette): string[] {
  const lines = [
    palette.bold(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd()),
    ...headers.map(([name, value]) => escapeControls(`${name}: ${value}`)),
    ...(body === null ? [] : ['', ...body.trimEnd().split('\n').map(escapeControls)]),
  ];
  return lines.map((line) => (line === '' ? '' : `  ${line}`));
}

function formatItems(items: readonly ExplainedItem[], palette: Palette): string[] {
  const rows = items.map(({ kind, name, allowed, listed, reason, detail }): Cell[] => [
    { text: allowed ? '✓' : '✗', color: allowed ? 'green' : 'red' },
    { text: kind, color: 'dim' },
    { text: name },
    { text: allowed ? 'may be used' : 'refused', color: allowed ? 'green' : 'red' },
    { text: listed ? 'listed' : 'hidden', ...(!listed && { color: 'yellow' }) },
    { text: allowed ? '' : [reason, detail].filter((text) => text !== null).join('; '), color: 'dim' },
  ]);
  return formatTable(rows, palette).map((line) => `  ${line}`);
}
