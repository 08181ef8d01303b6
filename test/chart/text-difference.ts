// The difference between two YAML texts, for goldens that would repeat most of another one. It has no line numbers, so that it stays the same when lines are added
// elsewhere to both, and yet it names every place exactly: with the first text it makes the second one again.
import assert from 'node:assert/strict';
import { diff } from 'node:util';

/** Stands in front of every text, so that each line has one before it. */
const beginning = '(the beginning)';

interface Hunk {
  /** The line of the first text before which lines are added, or the first that is removed. */
  readonly at: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

function listHunks(before: readonly string[], after: readonly string[]): readonly Hunk[] {
  const hunks: { at: number; removed: string[]; added: string[] }[] = [];
  let line = 0;
  let isInside = false;
  // The first argument's own lines have a 1, the second's a -1.
  for (const [operation, text] of diff(after, before)) {
    if (operation !== 0 && !isInside) hunks.push({ at: line, removed: [], added: [] });
    if (operation === 1) hunks.at(-1)!.added.push(text);
    if (operation === -1) hunks.at(-1)!.removed.push(text);
    if (operation !== 1) line += 1;
    isInside = operation !== 0;
  }
  return hunks;
}

/** Every index at which the lines stand. */
function findLines(text: readonly string[], lines: readonly string[]): readonly number[] {
  return text.flatMap((_, index) => (lines.every((line, offset) => text[index + offset] === line) ? [index] : []));
}

function splitText(text: string): readonly string[] {
  return [beginning, ...text.split('\n')];
}

/** As many lines in front of it as tell its place from all others. */
function findContext(before: readonly string[], { at, removed }: Hunk): readonly string[] {
  for (let start = at - 1; start >= 0; start -= 1) {
    const context = before.slice(start, at);
    if (findLines(before, [...context, ...removed]).length === 1) return context;
  }
  throw new Error(`line ${at} cannot be told from others`);
}

function measureIndent(line: string): number {
  return line.length - line.trimStart().length;
}

/** For readers: the kind of the object, and the lines in which this one is nested. */
function describePlace(before: readonly string[], at: number): string {
  const kind = before.slice(0, at).findLast((line) => line.startsWith('kind: '));
  const outer: string[] = [];
  let indent = measureIndent(before[at] ?? '');
  for (let index = at - 1; index >= 0 && indent > 0; index -= 1) {
    const line = before[index]!;
    if (line.trim() === '' || measureIndent(line) >= indent) continue;
    outer.unshift(line.trim());
    indent = measureIndent(line);
  }
  return [...(kind === undefined ? [] : [kind.slice('kind: '.length)]), ...outer].join(' ');
}

/** What has to be done to the first text, with the lines before it that tell where. Empty when they are the same. */
export function formatDifference(before: string, after: string): string {
  const lines = splitText(before);
  return listHunks(lines, splitText(after))
    .map((hunk) =>
      [
        `@@ ${describePlace(lines, hunk.at)}`.trimEnd(),
        ...findContext(lines, hunk).map((line) => ` ${line}`),
        ...hunk.removed.map((line) => `-${line}`),
        ...hunk.added.map((line) => `+${line}`),
      ].join('\n'),
    )
    .map((hunk) => `${hunk}\n`)
    .join('');
}

/** The second text, of the first and the difference. Throws when a place is not there, or not only once. */
export function applyDifference(before: string, difference: string): string {
  const lines = splitText(before);
  const made: string[] = [];
  let line = 1;
  for (const hunk of difference.split(/^@@.*\n/m).slice(1)) {
    const parts = hunk.split('\n').slice(0, -1);
    const take = (sign: string): readonly string[] =>
      parts.filter((part) => part.startsWith(sign)).map((part) => part.slice(1));
    const context = take(' ');
    const places = findLines(lines, [...context, ...take('-')]);
    assert.equal(places.length, 1, `the place of this is there ${places.length} times:\n${hunk}`);
    const at = places[0]! + context.length;
    made.push(...lines.slice(line, at), ...take('+'));
    line = at + take('-').length;
  }
  return [...made, ...lines.slice(line)].join('\n');
}
