// CustomResourceDefinitions of the gateway's own kinds: described schemas as Kubernetes structural schemas (apiextensions.k8s.io/v1).
import { celRulesKey } from './cel-rules.ts';
import { fileRuleKey } from './file-rules.ts';
import { nullRemovesKey } from './free-form.ts';
import { kinds, type Kind, type KindDefinition } from './kinds.ts';
import { refusalKey } from './not-supported-yet.ts';
import { describeSchema, type CelRuleNode, type SchemaNode } from './schema-description.ts';

/** A schema that no structural schema can express. */
export class StructuralSchemaError extends Error {
  readonly code = 'structural_schema';
}

/** The kinds that this gateway defines. */
export const ownKinds = ['GatewayParameters', 'ProxyBackend', 'ProxyPolicy'] as const satisfies readonly Kind[];

/** A node of an openAPIV3Schema. */
type StructuralSchema = Readonly<Record<string, unknown>>;

const preserve = 'x-kubernetes-preserve-unknown-fields';
const intOrString = 'x-kubernetes-int-or-string';

/** Keywords that mean the same in both worlds. */
const sharedKeywords = [
  'type',
  'format',
  'default',
  'enum',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'maxProperties',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  celRulesKey,
] as const;

/** Keywords that are translated, or that only the parser needs. */
const handledKeywords = [
  'description',
  'const',
  'items',
  'properties',
  'required',
  'propertyNames',
  'additionalProperties',
  'anyOf',
  'x-pattern-rule',
  fileRuleKey,
  refusalKey,
  nullRemovesKey,
  preserve,
] as const;

const knownKeywords: ReadonlySet<string> = new Set([...sharedKeywords, ...handledKeywords]);

/** The structural schema of a described schema. Throws a StructuralSchemaError on what Kubernetes would refuse. */
export function toStructuralSchema(node: SchemaNode, path = ''): StructuralSchema {
  const result: Record<string, unknown> = {};
  const description = describeField(node);
  if (description !== undefined) result['description'] = description;
  const untyped = node.type === undefined && node.enum === undefined;
  if (node[preserve] === true && node.properties === undefined)
    return { ...result, ...(node.type === 'object' && { type: 'object' }), [preserve]: true };
  if (node[intOrString] === true) return { ...result, ...mergeIntOrString(node), [intOrString]: true };
  if (node.anyOf !== undefined || Array.isArray(node.type))
    fail(path, 'several types; make the alternatives optional members with a CEL rule');
  for (const keyword of Object.keys(node)) if (!knownKeywords.has(keyword)) fail(path, keyword);
  if (untyped) return { ...result, [preserve]: true };
  for (const keyword of sharedKeywords) if (node[keyword] !== undefined) result[keyword] = node[keyword];
  if (node.default !== undefined) result['default'] = expandDefault(node, node.default);
  if (node.const !== undefined) result['enum'] = [node.const];
  if (node.items !== undefined) result['items'] = toStructuralSchema(node.items, `${path}[]`);
  if (node.properties !== undefined) {
    const entries = Object.entries(node.properties);
    result['properties'] = Object.fromEntries(
      entries.map(([name, field]) => [name, toStructuralSchema(field, `${path}.${name}`)]),
    );
    if (node.required !== undefined) result['required'] = node.required;
    const rules = [...(node[celRulesKey] ?? []), ...entries.flatMap(([name, field]) => forbidField(name, field))];
    if (rules.length > 0) result[celRulesKey] = rules;
  }
  if (node[preserve] === true) result[preserve] = true;
  else if (node.additionalProperties === false)
    fail(path, 'additionalProperties: false; Kubernetes prunes unknown fields');
  else if (node.additionalProperties !== undefined)
    result['additionalProperties'] = toStructuralSchema(node.additionalProperties, `${path}{}`);
  return result;
}

/** Whole numbers and strings, with the bounds of both: each applies to its own type only. */
function mergeIntOrString(node: SchemaNode): StructuralSchema {
  const bounds: Record<string, unknown> = { anyOf: [{ type: 'integer' }, { type: 'string' }] };
  for (const alternative of node.anyOf ?? [])
    for (const keyword of ['minimum', 'maximum', 'minLength', 'maxLength', 'pattern'] as const)
      if (alternative[keyword] !== undefined) bounds[keyword] = alternative[keyword];
  return bounds;
}

/** A field that can never be there, or not in a cluster, is refused by the API server as well. */
function forbidField(name: string, field: SchemaNode): readonly CelRuleNode[] {
  const refusal = field[refusalKey];
  if (refusal?.code !== 'invalid' || refusal.origin === 'file') return [];
  // A word that CEL keeps for itself.
  const member = name === 'namespace' ? '__namespace__' : name;
  return [{ rule: `!has(self.${member})`, message: refusal.message, fieldPath: `.${name}` }];
}

/** A default with the defaults inside of it: the API server checks the CEL rules on a default as it is written. */
function expandDefault(node: SchemaNode, value: unknown): unknown {
  if (node.properties === undefined || typeof value !== 'object' || value === null) return value;
  const given = value as Readonly<Record<string, unknown>>;
  const expanded: Record<string, unknown> = { ...given };
  for (const [name, field] of Object.entries(node.properties)) {
    const inner = Object.hasOwn(given, name) ? given[name] : field.default;
    if (inner !== undefined) expanded[name] = expandDefault(field, inner);
  }
  return expanded;
}

function fail(path: string, what: string): never {
  throw new StructuralSchemaError(
    `${path === '' ? 'the schema' : path.slice(1)} cannot be a structural schema: ${what}`,
  );
}

function describeField(node: SchemaNode): string | undefined {
  const refusal = node[refusalKey];
  if (refusal?.code !== 'not_supported_yet' || refusal.origin !== undefined) return node.description;
  const what = refusal.values === undefined ? 'Not supported yet.' : `${refusal.values.join(', ')}: not supported yet.`;
  return node.description === undefined ? what : `${node.description} ${what}`;
}

/** The whole CustomResourceDefinition of a kind. */
export function buildCustomResourceDefinition(kind: (typeof ownKinds)[number]): StructuralSchema {
  const definition: KindDefinition = kinds[kind];
  const { properties = {} } = describeSchema(definition.schema);
  const [version] = definition.versions;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${definition.plural}.${definition.group}`,
      annotations: { 'helm.sh/resource-policy': 'keep' },
      ...(kind === 'ProxyPolicy' && { labels: { 'gateway.networking.k8s.io/policy': 'Inherited' } }),
    },
    spec: {
      group: definition.group,
      scope: definition.namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural: definition.plural,
        singular: kind.toLowerCase(),
        shortNames: definition.shortNames,
        categories: definition.categories,
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          ...(definition.statusSchema !== undefined && { subresources: { status: {} } }),
          additionalPrinterColumns: definition.printerColumns,
          schema: {
            openAPIV3Schema: {
              description: definition.description,
              type: 'object',
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string', description: `${definition.group}/${version}` },
                kind: { type: 'string', description: kind },
                metadata: { type: 'object' },
                spec: toStructuralSchema(properties['spec'] ?? {}, '.spec'),
                ...(definition.statusSchema !== undefined && {
                  status: toStructuralSchema(describeSchema(definition.statusSchema), '.status'),
                }),
              },
            },
          },
        },
      ],
    },
  };
}
