// Goldens of `helm template`: of the defaults, of every value away from its default, and of combinations. UPDATE_GOLDENS=1 writes them anew; read the difference.
// Those of single values have the objects that differ from the defaults, and name those that are not there any more.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { stringify } from 'yaml';
import { combinations } from './combinations.ts';
import { renderChart } from './helm.ts';
import type { RenderedObject, Rendering } from './rendering.ts';
import { nameCase, toValues, valueCases } from './value-cases.ts';

const folder = join(import.meta.dirname, 'goldens');
const isUpdate = process.env['UPDATE_GOLDENS'] === '1';
const expected = new Set(['defaults.yaml']);
let defaults: Rendering;

before(async () => {
  mkdirSync(folder, { recursive: true });
  defaults = await renderChart();
});

function compare(file: string, text: string): void {
  const path = join(folder, file);
  if (isUpdate) writeFileSync(path, text);
  assert.equal(readFileSync(path, 'utf8'), text);
}

function identify({ kind, metadata }: RenderedObject): string {
  return `${kind} ${metadata.name}`;
}

/** As a comment, in the YAML that helm reads: there `yes` is no text. */
function describeValues(values: object): string {
  return stringify(values, { version: '1.1' }).trimEnd().replaceAll(/^/gm, '# ');
}

/** What differs from the defaults, in full, below the values and the names of what is gone. */
function formatDifference(rendering: Rendering, values: object): string {
  const usual = new Map(defaults.documents.map(({ object, text }) => [identify(object), text]));
  const changed = rendering.documents.filter(({ object, text }) => usual.get(identify(object)) !== text);
  const here = new Set(rendering.objects.map(identify));
  const gone = [...usual.keys()].filter((name) => !here.has(name));
  const head = [describeValues(values), ...gone.map((name) => `# Without ${name}`)];
  return [`${head.join('\n')}\n`, ...changed.map(({ text }) => text)].join('---\n');
}

test('defaults', () => compare('defaults.yaml', defaults.text));

for (const valueCase of valueCases) {
  const file = `${nameCase(valueCase)}.yaml`;
  expected.add(file);
  test(file, async () => {
    const values = toValues(valueCase);
    const rendering = await renderChart(values);
    assert.notEqual(rendering.text, defaults.text);
    compare(file, formatDifference(rendering, values));
  });
}

test('there are ten combinations', () => assert.equal(combinations.length, 10));

for (const { name, values, ...options } of combinations) {
  const file = `combination-${name}.yaml`;
  expected.add(file);
  test(file, async () => {
    const rendering = await renderChart(values, options);
    compare(file, `${describeValues({ ...options, values })}\n${rendering.text}`);
  });
}

test('there are no others', () => {
  const others = readdirSync(folder).filter((file) => !expected.has(file));
  if (isUpdate) for (const file of others) rmSync(join(folder, file));
  else assert.deepEqual(others, []);
});
