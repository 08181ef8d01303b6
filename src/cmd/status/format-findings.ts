// What there is to say of resources: what is not well, what is under way, and what could be safer. Pure.
import { escapeControls, type Palette } from '../../base/terminal.ts';
import { wrapText } from './fit-table.ts';
import { findCondition } from './judge-conditions.ts';
import type { StatusProblem, StatusReport, StatusState } from './status-report.ts';

/** What is not well, why, and what to do. */
export function formatProblems(report: StatusReport, width: number | undefined, palette: Palette): string[] {
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
export function listRollouts({
  gateways,
}: StatusReport): readonly { readonly title: string; readonly message: string }[] {
  return gateways.flatMap(({ namespace, name: own, conditions }) => {
    const condition = findCondition(conditions, 'RolloutStuck');
    if (condition === undefined || !condition.good || condition.stale) return [];
    return [{ title: `Gateway ${namespace}/${own}`, message: condition.message }];
  });
}

export function formatRollouts(report: StatusReport, width: number | undefined, palette: Palette): string[] {
  const rollouts = listRollouts(report);
  if (rollouts.length === 0) return [];
  return [
    palette.bold('Under way'),
    ...rollouts.flatMap(({ title, message }) =>
      formatFinding(palette.yellow('…'), [title], [{ text: message, advice: '' }], width, palette),
    ),
  ];
}

export function formatRemarks({ remarks }: StatusReport, width: number | undefined, palette: Palette): string[] {
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

/** Wrapped, each line behind as many spaces. */
export function indentText(text: string, indent: number, width: number | undefined): string[] {
  // A terminal of a few columns is no reason to put every letter on a line of its own.
  const room = width === undefined ? undefined : Math.max(20, width - indent);
  return wrapText(text, room).map((line) => `${' '.repeat(indent)}${line}`);
}
