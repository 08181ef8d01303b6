// Generates values.schema.json and the table of README.md of charts/proxy from its annotated values.yaml, docs/reference/chart-values.md from its tests, and copies what the chart installs of docs/monitoring into it.
// With --check, fails when they are out of date.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { renderChartEffects } from './chart-effects.ts';
import { type ChartValue, type JsonSchema, readChartValues } from './chart-values.ts';
import { escapeCell } from './reference-tables.ts';
import { writeOrCheck } from './write-generated.ts';

const folder = 'charts/proxy';
const tableStart = '<!-- Generated from values.yaml by scripts/generate-chart.ts: do not edit. -->\n';
const tableEnd = '<!-- End of the generated table. -->\n';

/** Helm gives every chart the parent's `global`. */
const globalSchema: JsonSchema = {
  description: 'Values of a parent chart for all of its charts. Nothing is read of them here.',
  type: 'object',
};

/** The generated files, by path. */
export async function renderChart(): Promise<Readonly<Record<string, string>>> {
  const root = join(import.meta.dirname, '..', folder);
  const monitoring = join(import.meta.dirname, '..', 'docs', 'monitoring');
  const dashboard: unknown = JSON.parse(await readFile(join(monitoring, 'dashboard.json'), 'utf8'));
  const alerts = parse(await readFile(join(monitoring, 'alerts.yaml'), 'utf8')) as { readonly spec: object };
  const values = readChartValues(await readFile(join(root, 'values.yaml'), 'utf8'));
  return {
    [`${folder}/values.schema.json`]: `${JSON.stringify(buildSchema(values), null, 2)}\n`,
    [`${folder}/files/alerts.yaml`]: `# Generated from docs/monitoring/alerts.yaml by scripts/generate-chart.ts: do not edit.\n${stringify(alerts.spec, { lineWidth: 0 })}`,
    [`${folder}/files/dashboard.json`]: `${JSON.stringify(dashboard)}\n`,
    [`${folder}/README.md`]: replaceTable(await readFile(join(root, 'README.md'), 'utf8'), renderTable(values)),
    'docs/reference/chart-values.md': await renderChartEffects(values),
  };
}

function buildSchema(values: readonly ChartValue[]): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart proxy',
    ...buildGroup(values, [], { global: globalSchema }),
  };
}

/** An object of these keys and no others. Null takes a key away (helm does that): it empties objects and lists, and is refused elsewhere. */
function buildGroup(
  values: readonly ChartValue[],
  group: readonly string[],
  others: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const below = values.filter(
    ({ path }) => path.length === group.length + 1 && group.every((key, depth) => path[depth] === key),
  );
  const properties = below.map((value): readonly [string, JsonSchema] => {
    const { path, description, schema } = value;
    const own = schema === undefined ? buildGroup(values, path) : { ...schema, default: value.default };
    return [path.at(-1)!, { description, ...own }];
  });
  return {
    type: 'object',
    additionalProperties: false,
    required: below.filter(({ schema }) => !canBeEmpty.has(schema?.type)).map(({ path }) => path.at(-1)!),
    properties: { ...Object.fromEntries(properties), ...others },
  };
}

const canBeEmpty: ReadonlySet<unknown> = new Set(['object', 'array']);

function renderTable(values: readonly ChartValue[]): string {
  const rows = values
    .filter(({ schema }) => schema !== undefined)
    .map(({ path, description, schema, default: value }) => {
      const cells = [`\`${path.join('.')}\``, describeType(schema!), `\`${JSON.stringify(value)}\``, description];
      return `| ${cells.map(escapeCell).join(' | ')} |`;
    });
  return ['| key | type | default | |', '|---|---|---|---|', ...rows, ''].join('\n');
}

function describeType({ type, enum: choices, minimum, maximum }: JsonSchema): string {
  if (Array.isArray(choices)) return choices.map((choice) => `\`${JSON.stringify(choice)}\``).join(', ');
  const name = [type ?? 'anything'].flat().join(' or ');
  if (minimum !== undefined && maximum !== undefined) return `${name}, ${minimum} to ${maximum}`;
  return minimum === undefined ? name : `${name}, at least ${minimum}`;
}

function replaceTable(page: string, table: string): string {
  const start = page.indexOf(tableStart);
  const end = page.indexOf(tableEnd);
  if (start === -1 || end < start) throw new Error(`${folder}/README.md has no place for the table of values`);
  return `${page.slice(0, start)}${tableStart}${table}${page.slice(end)}`;
}

if (import.meta.main) await writeOrCheck(await renderChart(), 'scripts/generate-chart.ts');
