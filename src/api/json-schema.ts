// A JSON Schema for editors: completion, descriptions and squiggles in YAML files of every kind.
// Draft-07 with if/then by kind, which is what yaml-language-server handles best. It refuses what files are refused.
import { kindNames, kinds, listApiVersions, type Kind } from './kinds.ts';
import { refusalKey, type Refusal } from './not-supported-yet.ts';
import { describeSchema, type SchemaNode } from './schema-description.ts';

/** A JSON Schema document. */
type JsonSchema = Readonly<Record<string, unknown>>;

const draft = 'http://json-schema.org/draft-07/schema#';

const topLevelDescriptions: Readonly<Record<string, string>> = {
  apiVersion: 'The API group and version.',
  kind: 'The kind of resource.',
  metadata: 'Name, namespace, labels.',
  spec: 'What is asked for.',
};

/** The JSON Schema of one kind. */
export function buildKindJsonSchema(kind: Kind): JsonSchema {
  return { $schema: draft, title: kind, ...describeKind(kind) };
}

/** The JSON Schema of a file: any kind, told apart by `kind`. */
export function buildJsonSchema(): JsonSchema {
  const apiVersions = [...new Set(kindNames.flatMap(listApiVersions))];
  return {
    $schema: draft,
    title: 'mcp-gatehouse resources',
    description: 'A resource that mcp-gatehouse reads.',
    type: 'object',
    required: ['apiVersion', 'kind', 'metadata'],
    properties: {
      apiVersion: { type: 'string', enum: apiVersions, description: topLevelDescriptions['apiVersion'] },
      kind: { type: 'string', enum: kindNames, description: topLevelDescriptions['kind'] },
    },
    allOf: kindNames.map((kind) => ({
      if: { required: ['kind'], properties: { kind: { const: kind } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { $ref: `#/definitions/${kind}` },
    })),
    definitions: Object.fromEntries(kindNames.map((kind) => [kind, describeKind(kind)])),
  };
}

function describeKind(kind: Kind): JsonSchema {
  const { schema, description } = kinds[kind];
  const node = describeSchema(schema);
  const properties = Object.entries(node.properties ?? {}).map(([name, field]): [string, SchemaNode] => {
    const text = field.description ?? topLevelDescriptions[name];
    return [name, text === undefined ? field : { ...field, description: text }];
  });
  return toEditorSchema({ ...node, description, properties: Object.fromEntries(properties) });
}

function toEditorSchema(node: SchemaNode): JsonSchema {
  const result: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(node))
    if (!keyword.startsWith('x-') && keyword !== 'format') result[keyword] = value;
  if (node.format === 'date-time') result['format'] = node.format;
  if (node['x-pattern-rule'] !== undefined) result['patternErrorMessage'] = node['x-pattern-rule'];
  if (node.items !== undefined) result['items'] = toEditorSchema(node.items);
  if (node.anyOf !== undefined) result['anyOf'] = node.anyOf.map(toEditorSchema);
  if (node.propertyNames !== undefined) result['propertyNames'] = toEditorSchema(node.propertyNames);
  if (node.properties !== undefined) {
    result['properties'] = Object.fromEntries(
      Object.entries(node.properties).map(([name, field]) => [name, toEditorSchema(field)]),
    );
    result['additionalProperties'] = false;
  }
  if (node.additionalProperties !== undefined && node.additionalProperties !== false)
    result['additionalProperties'] = toEditorSchema(node.additionalProperties);
  const refusal = node[refusalKey];
  return refusal === undefined || refusal.origin === 'kubernetes' ? result : refuseInEditor(result, node, refusal);
}

function refuseInEditor(schema: Readonly<Record<string, unknown>>, node: SchemaNode, refusal: Refusal): JsonSchema {
  const { message } = refusal;
  if (refusal.values !== undefined) {
    const values: readonly unknown[] = refusal.values;
    return { ...schema, enum: (node.enum ?? []).filter((value) => !values.includes(value)) };
  }
  const described = {
    description: [node.description, `Refused: ${message}.`].filter(Boolean).join(' '),
    errorMessage: message,
  };
  if (refusal.unlessEmpty === true)
    return { type: node.type, ...(node.type === 'array' ? { maxItems: 0 } : { maxProperties: 0 }), ...described };
  return { not: {}, ...described };
}
