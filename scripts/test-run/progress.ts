// What a run of tests shows: a line per file on a terminal, dots elsewhere, and at the end what failed and how to run that alone.
import type { FileCost } from './lane-messages.ts';
import type { ResultsListener, TestResults } from './test-results.ts';

type Write = (text: string) => void;

const dotsPerLine = 80;
/** Limit for the output of a failed file. */
const outputLines = 60;

/** A line for each file that has run. */
export function showLines(write: Write): ResultsListener {
  return {
    finished: (file, cost, hasFailed) =>
      write(`${hasFailed ? '✖' : '✔'} ${file}${cost === undefined ? '' : ` ${formatSeconds(cost.seconds)}`}\n`),
  };
}

/** A dot for each file that has run. */
export function showDots(write: Write): ResultsListener & { end(): void } {
  let dots = 0;
  return {
    finished(_file, _cost, hasFailed) {
      dots += 1;
      write(`${hasFailed ? 'X' : '.'}${dots % dotsPerLine === 0 ? '\n' : ''}`);
    },
    end: () => void (dots % dotsPerLine === 0 || write('\n')),
  };
}

/** Begins the summary of what failed: scripts/run-ci.ts repeats it at its end. */
export const failuresHeading = 'What failed:';

/** Everything that went wrong, by file. */
export function formatFailures({ failures, outputs }: TestResults): string {
  const files = [...new Set(failures.map(({ file }) => file))];
  const sections = files
    .map((file) => {
      const own = failures.filter((failure) => failure.file === file);
      const blocks = own.map(({ title, error }) => `✖ ${title}\n${indent(error)}`);
      const printed = outputs.get(file)?.trim() ?? '';
      return [
        `\n${file || 'The run itself'}`,
        ...blocks,
        ...(printed === '' ? [] : [`It printed:\n${indent(printed.split('\n').slice(-outputLines).join('\n'))}`]),
        ...(file === '' ? [] : [`Alone: npx node --test ${file}`]),
      ].join('\n');
    })
    .join('\n');
  return sections === '' ? '' : `\n${failuresHeading}\n${sections}`;
}

/** The last lines of a run. */
export function formatCounts({ counts }: TestResults, seconds: number): string {
  const others = [
    ...(counts.skipped > 0 ? [`${counts.skipped} skipped`] : []),
    ...(counts['to do'] > 0 ? [`${counts['to do']} to do`] : []),
  ].map((text) => `, ${text}`);
  return [
    `${counts.tests} tests in ${counts.suites} suites, ${formatSeconds(seconds)}`,
    `${counts.passed} passed, ${counts.failed} failed${others.join('')}`,
  ].join('\n');
}

/** The cost of each file, the most expensive first. */
export function formatTimes({ costs }: TestResults): string {
  const sumOf = (cost: FileCost): number => cost.ownCpu + cost.childrenCpu;
  const rows = [...costs].toSorted(([, left], [, right]) => sumOf(right) - sumOf(left));
  const width = Math.max(...rows.map(([file]) => file.length), 10);
  const format = (name: string, ...numbers: readonly string[]): string =>
    `${name.padEnd(width)}${numbers.map((text) => text.padStart(10)).join('')}`;
  const total = rows.reduce(
    (sum, [, cost]) => ({
      seconds: sum.seconds + cost.seconds,
      ownCpu: sum.ownCpu + cost.ownCpu,
      childrenCpu: sum.childrenCpu + cost.childrenCpu,
    }),
    { seconds: 0, ownCpu: 0, childrenCpu: 0 },
  );
  const formatCost = (name: string, cost: FileCost): string =>
    format(name, ...[sumOf(cost), cost.ownCpu, cost.childrenCpu, cost.seconds].map((number) => number.toFixed(2)));
  return [
    format('seconds of', 'CPU', 'own', 'children', 'time'),
    ...rows.map(([file, cost]) => formatCost(file, cost)),
    formatCost('all files', total),
  ].join('\n');
}

export function formatSeconds(seconds: number): string {
  return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}
