// Generates docs/reference from the schemas in src/api. With --check, fails when a page is out of date.
import {
  extensions,
  findExtension,
  kindNames,
  kinds,
  kindsNotSupportedYet,
  listApiVersions,
  type Kind,
} from '../src/api/kinds.ts';
import { refusalKey } from '../src/api/not-supported-yet.ts';
import { describeSchema, type SchemaNode } from '../src/api/schema-description.ts';
import { ownKinds } from '../src/api/structural-schema.ts';
import { gatewayParametersExample, proxyBackendExample, proxyPolicyExample } from './reference-examples.ts';
import { describeRefusal, escapeCell, isRefusedWhole, renderFieldTables } from './reference-tables.ts';
import { writeOrCheck } from './write-generated.ts';

const notice = '<!-- Generated from src/api by scripts/generate-reference.ts. Do not edit. -->';

const pages = {
  GatewayParameters: 'gateway-parameters',
  ProxyBackend: 'proxy-backend',
  ProxyPolicy: 'proxy-policy',
} as const satisfies Record<(typeof ownKinds)[number], string>;
const examples = {
  GatewayParameters: gatewayParametersExample,
  ProxyBackend: proxyBackendExample,
  ProxyPolicy: proxyPolicyExample,
} as const satisfies Record<(typeof ownKinds)[number], string>;

const otherKinds = kindNames.filter((kind) => !(ownKinds as readonly Kind[]).includes(kind));

function renderOwnKind(kind: (typeof ownKinds)[number]): string {
  const { description, plural, group, shortNames } = kinds[kind];
  const { properties = {} } = describeSchema(kinds[kind].schema);
  return [
    notice,
    `# ${kind}`,
    '',
    `${description} \`${listApiVersions(kind)[0]}\`; in Kubernetes \`${plural}.${group}\`, short \`${shortNames.join(', ')}\`.`,
    '',
    '```yaml',
    `${examples[kind]}\`\`\``,
    '',
    'Every object is one table. A field that is marked as not supported yet is refused, never ignored.',
    'Durations are written as `500ms`, `10s` or `1h30m`.',
    '',
    renderFieldTables(properties['spec'] ?? {}, 'spec', 2),
  ].join('\n');
}

function renderOtherKinds(): string {
  const sections = otherKinds.map((kind) => {
    const node = describeSchema(kinds[kind].schema);
    const { apiVersion: _, kind: __, metadata: ___, status, ...rest } = node.properties ?? {};
    // The status of a Pod is read; others are not.
    const properties = status === undefined || status[refusalKey] !== undefined ? rest : { ...rest, status };
    const required = node.required?.filter((name) => Object.hasOwn(properties, name)) ?? [];
    const refused = listRefused({ properties }, '').map(([path, field]) => `- \`${path}\`: ${describeRefusal(field)}`);
    const body =
      properties['spec'] === undefined
        ? renderFieldTables({ properties, required }, kind, 3)
        : renderFieldTables(properties['spec'], 'spec', 3);
    return [
      `## ${kind}`,
      '',
      `${kinds[kind].description} Read as ${listApiVersions(kind)
        .map((version) => `\`${version}\``)
        .join(' or ')}.${describeExtension(kind)}`,
      '',
      ...(refused.length === 0 ? ['Every field below is supported.'] : ['Known and refused:', '', ...refused]),
      '',
      body,
    ].join('\n');
  });
  const metadata = describeSchema(kinds.Gateway.schema).properties?.['metadata'] ?? {};
  return [
    notice,
    '# Gateway API and core kinds',
    '',
    'What is read of each kind, what is supported, and what is not supported yet. The Gateway API is version 1.6, standard channel;',
    'its own documentation says what the fields mean, and this page says what the gateway does with them.',
    '',
    'In files, an unknown field is an error, and so is a field with nothing behind it. `status` is refused: the gateway writes it. Of a Pod both are left to Kubernetes.',
    '',
    '| kind | apiVersion | |',
    '|---|---|---|',
    ...otherKinds.map(
      (kind) =>
        `| [${kind}](#${kind.toLowerCase()}) | ${listApiVersions(kind)
          .map((version) => `\`${version}\``)
          .join(', ')} | ${kinds[kind].description} |`,
    ),
    '',
    'Known kinds that are not supported yet:',
    '',
    ...Object.entries(kindsNotSupportedYet).map(([kind, advice]) => `- ${kind}: ${escapeCell(advice)}.`),
    '',
    ...sections,
    renderFieldTables(metadata, 'metadata', 2),
    'GatewayClass and Namespace belong to no namespace.',
    '',
  ].join('\n');
}

function describeExtension(kind: Kind): string {
  const extension = findExtension(kind);
  if (extension === undefined) return '';
  return ` Only with the [${extensions[extension].name}](../inference.md): \`${extensions[extension].flag}\`.`;
}

/** Every refused field from a node down, with its path. */
function listRefused(node: SchemaNode, path: string): readonly (readonly [string, SchemaNode])[] {
  const found: (readonly [string, SchemaNode])[] = [];
  if (node[refusalKey] !== undefined) found.push([path, node]);
  // The members of a field that is refused as a whole are refused with it.
  if (isRefusedWhole(node)) return found;
  for (const [name, field] of Object.entries(node.properties ?? {}))
    found.push(...listRefused(field, path === '' ? name : `${path}.${name}`));
  if (node.items !== undefined) found.push(...listRefused(node.items, `${path}[]`));
  return found;
}

function renderIndex(): string {
  return [
    notice,
    '# Reference',
    '',
    'Generated from the schemas that the gateway itself validates with.',
    '',
    ...ownKinds.map((kind) => `- [${kind}](${pages[kind]}.md): ${kinds[kind].description}`),
    '- [Gateway API and core kinds](gateway-api-and-core.md): what is read of Gateway, HTTPRoute, Service, Secret and the others.',
    '',
    'For editors: `mcp-gatehouse schema > mcp-gatehouse.schema.json` prints a JSON Schema of all kinds, `mcp-gatehouse schema HTTPRoute` that of one.',
    'With yaml-language-server, the first line of a file names it: `# yaml-language-server: $schema=./mcp-gatehouse.schema.json`.',
    '',
  ].join('\n');
}

/** The generated pages, by path. */
export function renderReference(): Readonly<Record<string, string>> {
  const files: Record<string, string> = {
    'docs/reference/README.md': renderIndex(),
    'docs/reference/gateway-api-and-core.md': renderOtherKinds(),
  };
  for (const kind of ownKinds) files[`docs/reference/${pages[kind]}.md`] = renderOwnKind(kind);
  return files;
}

if (import.meta.main) await writeOrCheck(renderReference(), 'scripts/generate-reference.ts');
