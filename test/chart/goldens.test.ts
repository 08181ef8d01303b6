// Goldens of `helm template`: of the defaults, of every value away from its default, and of combinations. UPDATE_GOLDENS=1 writes them anew; read the difference.
// Those of single values are differences from defaults.yaml, so that a new line of a template changes that one and the combinations only.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { stringify } from 'yaml';
import { combinations } from './combinations.ts';
import { productionValues, renderChart } from './helm.ts';
import type { Rendering } from './rendering.ts';
import { applyDifference, formatDifference } from './text-difference.ts';
import { nameCase, toValues, valueCases } from './value-cases.ts';

const folder = join(import.meta.dirname, 'goldens');
const isUpdate = process.env['UPDATE_GOLDENS'] === '1';
const expected = new Set(['defaults.yaml', 'production.yaml']);
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

/** As a comment, in the YAML that helm reads: there `yes` is no text. */
function describeValues(values: object): string {
  return stringify(values, { version: '1.1' }).trimEnd().replaceAll(/^/gm, '# ');
}

test('defaults', () => compare('defaults.yaml', defaults.text));

for (const valueCase of valueCases) {
  const file = `${nameCase(valueCase)}.diff`;
  expected.add(file);
  test(file, async () => {
    const values = toValues(valueCase);
    const rendering = await renderChart(values);
    assert.notEqual(rendering.text, defaults.text);
    const difference = formatDifference(defaults.text, rendering.text);
    assert.equal(applyDifference(defaults.text, difference), rendering.text, 'the difference does not tell all');
    compare(file, `${describeValues(values)}\n${difference}`);
  });
}

test('production', async () => {
  const rendering = await renderChart({}, { args: ['--values', productionValues] });
  compare('production.yaml', rendering.text);
});

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
