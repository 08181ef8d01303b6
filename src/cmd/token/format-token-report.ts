// The report of `token inspect` for a person. Pure; the token itself is not in it.
import { createPalette, escapeControls, type Palette } from '../../base/terminal.ts';
import { type Cell, formatTable } from '../format-check-report.ts';
import type { ProviderVerdict, TokenReport } from './token-report.ts';

/** Formats a report. */
export function formatTokenReport(report: TokenReport, color: boolean): string {
  const palette = createPalette(color);
  const parts = [formatTitle(report, palette), formatMembers('Header', report.header, report, palette)];
  parts.push(formatMembers('Claims', report.claims, report, palette));
  if (report.issuedFor !== null) parts.push([formatIssuedFor(report.issuedFor)]);
  parts.push(report.warnings.map((warning) => palette.yellow(`! ${escapeControls(warning)}`)));
  if (report.refusal !== null) {
    const { reason, text } = report.refusal;
    parts.push([palette.red(`✗ No gateway takes it: ${reason}. ${escapeControls(text)}`)]);
  }
  if (report.providers !== null) parts.push(formatProviders(report.providers, report.refusal !== null, palette));
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

const forms: Readonly<Record<TokenReport['form'], string>> = {
  jwt: 'A signed JSON Web Token',
  opaque: 'An opaque token',
  encrypted: 'An encrypted JSON Web Token (JWE)',
  malformed: 'A broken JSON Web Token',
};

const kinds = { person: 'the person', client: 'the client', assertion: 'the caller' } as const;

function formatIssuedFor({ kind, idp, subject }: NonNullable<TokenReport['issuedFor']>): string {
  return escapeControls(`A gateway issued it (flow: Issuer), about ${kinds[kind]} that ${idp} calls ${subject}.`);
}

function formatTitle({ form, length }: TokenReport, palette: Palette): string[] {
  return [palette.bold(`${forms[form]}, ${length} characters`)];
}

function formatMembers(
  title: string,
  members: TokenReport['claims'],
  { times }: TokenReport,
  palette: Palette,
): string[] {
  if (members === null) return [];
  const rows = Object.entries(members).map(([name, value]): Cell[] => {
    const time = title === 'Claims' ? times.find(({ claim }) => claim === name) : undefined;
    return [{ text: name, color: 'dim' }, time === undefined ? { text: formatValue(value) } : formatTime(name, time)];
  });
  return [palette.bold(title), ...formatTable(rows, palette).map((line) => `  ${line}`)];
}

function formatTime(name: string, { time, distance }: TokenReport['times'][number]): Cell {
  const isPast = distance.endsWith('ago');
  if (name === 'exp')
    return { text: `${time}, ${isPast ? `expired ${distance}` : distance}`, color: isPast ? 'red' : 'green' };
  return { text: `${time}, ${distance}`, ...(!isPast && distance !== 'now' && { color: 'yellow' as const }) };
}

/** Texts as they are; everything else as JSON. */
function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function formatProviders(providers: readonly ProviderVerdict[], isRefused: boolean, palette: Palette): string[] {
  if (providers.length === 0) return [palette.yellow('No policy in these files takes tokens.')];
  const policies = Map.groupBy(providers, ({ field, policy }) => `${field} ${policy}`);
  return [
    palette.bold('Policies'),
    ...[...policies.values()].flatMap((own) =>
      own.length > 1 && own.every(({ first }) => first?.check === 'issuer')
        ? formatStranger(own, palette)
        : own.flatMap((provider) => formatProvider(provider, isRefused, palette)),
    ),
  ];
}

/** No provider of the policy has the issuer. */
function formatStranger(providers: readonly ProviderVerdict[], palette: Palette): string[] {
  const { policy, field, first } = providers[0]!;
  const issuers = providers.map(({ issuer }) => issuer).join(', ');
  return [
    `  ${palette.red('✗')} ${palette.bold(escapeControls(policy))} ${palette.dim(`(${field})`)}: answers ${first?.reason ?? ''}`,
    `      ${palette.red(escapeControls(`${first?.text ?? ''} This one takes ${issuers}.`))}`,
  ];
}

function formatProvider(verdict: ProviderVerdict, isRefused: boolean, palette: Palette): string[] {
  const { accepted, policy, provider, field, issuer, failed, first, notes } = verdict;
  const name = provider === '' ? policy : `${policy}, provider ${provider}`;
  if (verdict.notItsIssuer) return [palette.dim(`  - ${escapeControls(name)}: not its issuer`)];
  const mark = accepted ? palette.green('✓') : palette.red('✗');
  const taken = verdict.signature === 'unchecked' ? 'takes it, if the signature is right' : 'takes it';
  const said = accepted ? taken : `answers ${first?.reason ?? ''}`;
  const lines = [`  ${mark} ${palette.bold(escapeControls(name))} ${palette.dim(`(${field})`)}: ${said}`];
  const add = (text: string, color: keyof Palette): void =>
    void lines.push(`      ${palette[color](escapeControls(text))}`);
  if (isRefused) {
    if (verdict.isOwn) for (const note of notes) add(note, 'yellow');
    return lines;
  }
  if (first?.check === 'issuer') {
    add(`${first.text} This one takes ${issuer}.`, 'red');
    const others = failed.filter((problem) => problem !== first).map(({ check }) => check);
    if (others.length > 0) add(`would fail too: ${others.join(', ')}`, 'dim');
  } else for (const { check, text } of failed) add(`${check}: ${text}`, 'red');
  if (first?.check !== 'issuer') add(describeSignature(verdict), verdict.signature === 'unchecked' ? 'yellow' : 'dim');
  for (const note of notes) add(note, 'yellow');
  return lines;
}

function describeSignature({ signature, keys }: ProviderVerdict): string {
  switch (signature) {
    case 'verified':
      return `the signature is right; the keys are ${keys}`;
    case 'wrong':
      return `the keys are ${keys}`;
    case 'unchecked':
      return `the signature was not checked: the keys are ${keys} (--online fetches them)`;
  }
}
