// /routes as text for a terminal: matches as a table, protections as numbered blocks below it.
import { type DescribedAuthentication, formatFlow } from './describe-authentications.ts';
import { formatIssuedTokens } from './describe-issued-tokens.ts';
import type { DescribedJwtAuthentication } from './describe-jwt-authentications.ts';
import type { DescribedFederation } from './describe-federations.ts';
import type { ServedMatch, ServedRoutes } from './describe-routes.ts';
import { writeFederations } from './format-federations.ts';
import { ProtectionBlocks, type ProtectionLine } from './format-protection.ts';

/** Everything as text. */
export function formatRoutes(
  served: ServedRoutes,
  authentications: readonly DescribedAuthentication[] = [],
  jwtAuthentications: readonly DescribedJwtAuthentication[] = [],
  federations: readonly DescribedFederation[] = [],
): string {
  if (served.ports.length === 0) return 'Nothing is served: the configuration has no usable listener.\n';
  const lines: string[] = [];
  const blocks = new ProtectionBlocks();
  for (const port of served.ports) {
    lines.push(`${port.address === '' ? '*' : port.address}:${port.port} ${port.protocol}`);
    for (const listener of port.listeners) {
      lines.push(`  listener ${listener.listener}, host ${listener.hostname === '' ? 'any' : listener.hostname}`);
      if (listener.matches.length === 0) lines.push('    no routes: every request is answered 404');
      else
        lines.push(
          ...formatTable(listener.matches.map((match) => formatMatch(match, blocks))).map((line) => `    ${line}`),
        );
    }
    lines.push('');
  }
  lines.push(...formatBlocks(blocks));
  for (const { policy, mode, issuer, flow, whoGetsIn, keysLoaded, issuedTokens, resources } of authentications) {
    lines.push(`authentication ${policy} (${mode}), issuer ${issuer}`);
    lines.push(`  flow ${formatFlow(flow)}`);
    if (whoGetsIn !== null) lines.push(`  lets in ${whoGetsIn}`);
    if (issuedTokens !== null) lines.push(`  ${formatIssuedTokens(issuedTokens)}`);
    else if (!keysLoaded) lines.push('  keys not loaded: every request is answered 503');
    for (const { url, metadataUrls, callbackUrls } of resources) {
      lines.push(`  ${url}`, ...metadataUrls.map((each) => `    ${each}`));
      for (const each of callbackUrls)
        lines.push(`    ${each} (a redirect URI of the client at the identity provider)`);
    }
    lines.push('');
  }
  for (const { policy, mode, location, providers } of jwtAuthentications) {
    lines.push(`tokens ${policy} (${mode}), in ${location}`);
    for (const { name, issuer, keys, keysLoaded, keysProblem } of providers) {
      lines.push(`  ${name}: ${issuer}, keys ${keys === 'inline' ? keys : `from ${keys}`}`);
      if (!keysLoaded) lines.push('    keys not loaded: its tokens are answered 503');
      if (keysProblem !== null) lines.push(`    ${keysProblem}`);
    }
    lines.push('');
  }
  lines.push(...writeFederations(federations));
  return lines.join('\n');
}

function formatBlocks(blocks: ProtectionBlocks): string[] {
  const lines = blocks.list().flatMap((block, index) => {
    const label = `[${index + 1}]`;
    return block.map((line, position) => `${(position === 0 ? label : '').padEnd(5)}${indent(line)}`);
  });
  const rules = blocks.listRules().map(indent);
  return [lines, rules].flatMap((each) => (each.length === 0 ? [] : [...each, '']));
}

function indent({ text, isDetail }: ProtectionLine): string {
  return `${isDetail ? '  ' : ''}${text}`;
}

function formatMatch(match: ServedMatch, blocks: ProtectionBlocks): string[] {
  const conditions = [
    `${match.path.type === 'regularExpression' ? 'regex' : match.path.type} ${match.path.value}`,
    ...match.headers.map((header) => `header ${header}`),
    ...match.queryParams.map((parameter) => `query ${parameter}`),
  ];
  const notes = [blocks.refer(match.protection), ...match.filters];
  return [
    match.hostname === '' ? '*' : match.hostname,
    match.method === '' ? 'any' : match.method,
    conditions.join(', '),
    `${match.route} rule ${match.rule}`,
    match.answers === undefined
      ? formatBackends(match)
      : `answers ${match.answers.status} ${match.answers.reason}: ${match.answers.message}`,
    notes.join(', '),
  ];
}

function formatBackends(match: ServedMatch): string {
  if (match.backends.length === 0) return '-';
  return match.backends
    .map(({ backend, weight, endpoints, answers }) => {
      const share = match.backends.length > 1 ? ` weight ${weight}` : '';
      if (answers !== undefined) return `${backend}${share} answers ${answers.status} ${answers.reason}`;
      return `${backend}${share} (${endpoints.length === 0 ? 'no endpoints' : endpoints.join(' ')})`;
    })
    .join(', ');
}

const tableHead = ['HOST', 'METHOD', 'MATCH', 'ROUTE', 'BACKENDS', 'PROTECTION, FILTERS'];

function formatTable(rows: readonly (readonly string[])[]): string[] {
  const all = [tableHead, ...rows];
  const widths = tableHead.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}
