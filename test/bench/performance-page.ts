// Keeps results: the numbers in docs/performance.json, and from them the tables of docs/performance.md and the plot.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { formatMarkdown } from './bench-report.ts';
import type { StampedResult } from './bench-result.ts';
import { experiments } from './experiments.ts';
import { renderPlot } from './performance-plot.ts';

const docs = new URL('../../docs/', import.meta.url);

/** What is between the marks, in the page. */
const marks = /(<!-- bench -->\n)[^]*?(<!-- \/bench -->)/;

/** Puts new results in the place of older ones of the same name. What was not measured again stays. Returns the paths. */
export async function writePage(results: readonly StampedResult[]): Promise<readonly string[]> {
  const order = experiments.map(({ name }) => name);
  const kept = mergeResults(await readKept(), results, order);
  const text = await readFile(new URL('performance.md', docs), 'utf8');
  const files = {
    'performance.json': `${JSON.stringify(kept, null, 2)}\n`,
    'performance.md': replaceSection(text, kept),
    'performance.svg': renderPlot(kept.flatMap(({ bars }) => bars)),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(new URL(name, docs), content);
  return Object.keys(files).map((name) => fileURLToPath(new URL(name, docs)));
}

/** What was written last; nothing if there is nothing. */
export async function readKept(): Promise<readonly StampedResult[]> {
  const text = await readFile(new URL('performance.json', docs), 'utf8').catch(() => '[]');
  return JSON.parse(text) as readonly StampedResult[];
}

/** In the order in which they are always told. */
export function mergeResults(
  older: readonly StampedResult[],
  newer: readonly StampedResult[],
  order: readonly string[],
): readonly StampedResult[] {
  const merged = new Map([...older, ...newer].map((result) => [result.name, result]));
  return [...merged.values()].toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
}

/** The page with these results in it. */
export function replaceSection(page: string, results: readonly StampedResult[]): string {
  if (!marks.test(page)) throw new Error('docs/performance.md has no marks <!-- bench --> and <!-- /bench -->');
  return page.replace(marks, (_, start: string, end: string) => `${start}${formatMarkdown(results)}\n${end}`);
}
