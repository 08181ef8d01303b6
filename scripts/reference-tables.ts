// Renders a described schema as Markdown tables, one for each object in it.
import { nullRemovesKey } from '../src/api/free-form.ts';
import { refusalKey } from '../src/api/not-supported-yet.ts';
import type { SchemaNode } from '../src/api/schema-description.ts';

/** The row of one field in a table. */
interface FieldRow {
  readonly name: string;
  readonly type: string;
  readonly initial: string;
  readonly text: string;
}

/** Tables of every object from a node down, each under a heading with its path. */
export function renderFieldTables(node: SchemaNode, path: string, level: number, refused = ''): string {
  const { properties } = unwrap(node);
  if (properties === undefined) return '';
  const rows = Object.entries(properties).map(([name, field]) => describeRow(node, name, field));
  const table = [
    `${'#'.repeat(Math.min(level, 6))} ${path}`,
    '',
    ...(refused === '' ? [] : [`Part of \`${refused}\`, which is not supported yet.`, '']),
    ...renderRules(node),
    '| field | type | default | |',
    '|---|---|---|---|',
    ...rows.map(({ name, type, initial, text }) => `| \`${name}\` | ${type} | ${initial} | ${text} |`),
    '',
  ];
  const nested = Object.entries(properties).map(([name, field]) =>
    renderNested(field, `${path}.${name}`, level, refused),
  );
  return [table.join('\n'), ...nested.filter((text) => text !== '')].join('\n');
}

function renderNested(field: SchemaNode, path: string, level: number, refused: string): string {
  const inner = unwrap(field);
  // Of what is passed on as it is, a table would list only what cannot be there.
  if (inner.properties === undefined || isPassedOn(inner)) return '';
  const suffix = field.type === 'array' ? '[]' : field.properties === undefined ? '.<name>' : '';
  return renderFieldTables(inner, `${path}${suffix}`, level, refused === '' && isRefusedWhole(field) ? path : refused);
}

function isPassedOn(node: SchemaNode): boolean {
  return node[nullRemovesKey] === true && node['x-kubernetes-preserve-unknown-fields'] === true;
}

/** The object inside a list or map. */
function unwrap(node: SchemaNode): SchemaNode {
  if (node.properties !== undefined) return node;
  if (node.items !== undefined) return unwrap(node.items);
  if (node.additionalProperties !== undefined && node.additionalProperties !== false)
    return unwrap(node.additionalProperties);
  return node;
}

function renderRules(node: SchemaNode): readonly string[] {
  const rules = node['x-kubernetes-validations'] ?? [];
  return rules.length === 0
    ? []
    : [
        ...rules.map(
          ({ message, fieldPath }) =>
            `- ${fieldPath === undefined ? '' : `\`${fieldPath.slice(1)}\` `}${escapeCell(message)}`,
        ),
        '',
      ];
}

function describeRow(parent: SchemaNode, name: string, field: SchemaNode): FieldRow {
  const required = parent.required?.includes(name) === true;
  const initial = field.default === undefined ? '' : `\`${JSON.stringify(field.default)}\``;
  return {
    name,
    type: escapeCell(nameType(field)),
    initial: required ? 'required' : initial,
    text: [describeRefusal(field), escapeCell(field.description ?? ''), describeBounds(field)]
      .filter(Boolean)
      .join(' '),
  };
}

/** "list of strings", "map of string to string", "integer". */
function nameType(node: SchemaNode): string {
  if (node.type === 'array') return `list of ${node.items === undefined ? 'values' : nameType(node.items)}`;
  if (isPassedOn(node)) return 'object of any fields';
  if (node.type === 'object' && node.properties === undefined)
    return `map of ${node.additionalProperties === undefined || node.additionalProperties === false ? 'anything' : nameType(node.additionalProperties)}`;
  if (node.anyOf !== undefined) return node.anyOf.map(nameType).join(' or ');
  return typeof node.type === 'string' ? node.type : (node.type?.join(' or ') ?? 'anything');
}

/** Whether the field as such is refused, and not only some of its values. */
export function isRefusedWhole(node: SchemaNode): boolean {
  const refusal = node[refusalKey];
  return refusal?.code === 'not_supported_yet' && refusal.values === undefined;
}

/** "**Not supported yet.**", with what it is about and what to do instead. */
export function describeRefusal(node: SchemaNode): string {
  const refusal = node[refusalKey];
  if (refusal === undefined) return '';
  const scope = refusal.origin === undefined ? '' : refusal.origin === 'file' ? ' in files' : ' on Kubernetes';
  const [, advice] = refusal.message.split(/: (.*)/s);
  const about = (refusal.values ?? []).map((value) => `\`${value}\``).join(', ');
  if (refusal.code === 'invalid') return `**Refused${scope}**: ${escapeCell(refusal.message)}.`;
  const mark = about === '' ? `**Not supported yet${scope}**` : `**${about} not supported yet${scope}**`;
  return advice === undefined ? `${mark}.` : `${mark}: ${escapeCell(advice)}.`;
}

function describeBounds(node: SchemaNode): string {
  const inner = node.type === 'array' && node.items !== undefined ? node.items : node;
  const bounds: string[] = [];
  const values = inner.enum ?? (inner.const === undefined ? undefined : [inner.const]);
  if (values !== undefined)
    bounds.push(`One of ${values.map((value) => `\`${value === '' ? '""' : String(value)}\``).join(', ')}.`);
  const range = describeRange(inner.minimum, inner.maximum);
  if (range !== '') bounds.push(`${range}.`);
  if (inner.type === 'string' && inner.maxLength !== undefined) bounds.push(`At most ${inner.maxLength} characters.`);
  const rule = inner['x-pattern-rule'];
  if (rule !== undefined) bounds.push(`${escapeCell(capitalise(rule))}.`);
  else if (inner.pattern !== undefined) bounds.push(`Matches \`${escapeCell(inner.pattern.replaceAll('\\/', '/'))}\`.`);
  const entries = describeRange(node.minItems, node.maxItems);
  if (entries !== '') bounds.push(`${entries} entries.`);
  if (node.maxProperties !== undefined) bounds.push(`At most ${node.maxProperties} entries.`);
  if (node['x-kubernetes-list-type'] === 'set') bounds.push('No entry twice.');
  for (const key of node['x-kubernetes-list-map-keys'] ?? []) bounds.push(`\`${key}\` is unique.`);
  for (const part of new Set([node, inner])) {
    if (part.properties !== undefined) continue;
    for (const { message } of part['x-kubernetes-validations'] ?? [])
      bounds.push(`${escapeCell(capitalise(message))}.`);
  }
  return bounds.join(' ');
}

function describeRange(low: number | undefined, high: number | undefined): string {
  if (low !== undefined && high !== undefined) return `${low} to ${high}`;
  if (low !== undefined) return `At least ${low}`;
  return high === undefined ? '' : `At most ${high}`;
}

function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Text that may stand in a cell of a table. */
export function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
