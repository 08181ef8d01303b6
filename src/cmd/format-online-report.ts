// What identity providers answered, for a person: a tick, a remark or a cross per finding, and what to change below a cross. Pure.
import { createPalette, escapeControls, type Palette } from '../base/terminal.ts';
import { type Cell, formatTable } from './format-check-report.ts';
import type { Mark, OnlineReport, ServerReport } from './online/online-report.ts';

/** One block per policy and identity provider. */
export function formatOnline(reports: readonly OnlineReport[], color: boolean): string {
  const palette = createPalette(color);
  if (reports.length === 0) return 'No policy has an identity provider to ask.\n';
  return reports.map((report) => formatReport(report, palette)).join('');
}

const signs: Readonly<Record<Mark, Cell>> = {
  good: { text: '✓', color: 'green' },
  remark: { text: '!', color: 'yellow' },
  bad: { text: '✗', color: 'red' },
};

/** One block per address of an MCP server. */
export function formatServers(reports: readonly ServerReport[], color: boolean): string {
  const palette = createPalette(color);
  return reports
    .map(({ backend, target, url, findings }) => {
      const title = palette.bold(escapeControls(`MCP server ${target === null ? '' : `${target} `}of ${backend}`));
      return [`${title}  ${palette.cyan(escapeControls(url))}`, ...formatFindings(findings, palette), '', ''].join(
        '\n',
      );
    })
    .join('');
}

function formatReport({ policy, provider, issuer, findings, clients }: OnlineReport, palette: Palette): string {
  const lines = formatFindings(findings, palette);
  const forecasts = formatTable(
    clients.map(({ family, mark, text }): Cell[] => [signs[mark], { text: family, color: 'dim' }, { text }]),
    palette,
  );
  const which = provider === null ? 'Identity provider' : `Provider ${provider}`;
  const title = palette.bold(escapeControls(`${which} of ProxyPolicy ${policy}`));
  return [
    `${title}  ${palette.cyan(escapeControls(issuer))}`,
    ...lines,
    ...(forecasts.length === 0 ? [] : [palette.bold('MCP clients'), ...forecasts.map((line) => `  ${line}`)]),
    '',
    '',
  ].join('\n');
}

function formatFindings(findings: OnlineReport['findings'], palette: Palette): string[] {
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  let previous = '';
  return findings.flatMap(({ check, mark, text, advice }) => {
    const name = check === previous ? '' : check;
    previous = check;
    const sign = palette[signs[mark].color ?? 'dim'](signs[mark].text);
    const line = `  ${sign} ${palette.dim(name.padEnd(width))}  ${escapeControls(text)}`;
    return advice === null
      ? [line]
      : [line, `    ${' '.repeat(width)}  ${palette.bold('→')} ${escapeControls(advice)}`];
  });
}
