// The CRDs: what Kubernetes takes and nothing else, and the committed files are those of the schemas.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as z from 'zod';
import { findStaleFiles } from '../../scripts/write-generated.ts';
import { renderCrds } from '../../scripts/generate-crds.ts';
import { renderJsonSchema } from '../../scripts/generate-json-schema.ts';
import { renderReference } from '../../scripts/generate-reference.ts';
import { oneOf, withRules } from './cel-rules.ts';
import { freeFormSchema, openObjectSchema } from './free-form.ts';
import { notSupportedYet, refuse } from './not-supported-yet.ts';
import { describeSchema } from './schema-description.ts';
import {
  buildCustomResourceDefinition,
  ownKinds,
  StructuralSchemaError,
  toStructuralSchema,
} from './structural-schema.ts';

const convert = (schema: z.ZodType) => toStructuralSchema(describeSchema(schema));

describe('generated files are up to date', () => {
  test('charts/proxy-crds (node scripts/generate-crds.ts)', async () =>
    assert.deepEqual(await findStaleFiles(renderCrds()), []));
  test('schema (node scripts/generate-json-schema.ts)', async () =>
    assert.deepEqual(await findStaleFiles(renderJsonSchema()), []));
  test('docs/reference (node scripts/generate-reference.ts)', async () =>
    assert.deepEqual(await findStaleFiles(renderReference()), []));
});

describe('structural schemas', () => {
  test('types, bounds, patterns, enums, descriptions', () => {
    const schema = z.object({
      name: z.string().min(1).max(9).regex(/^a/, 'must begin with a').describe('The name.'),
      size: z.int().min(1).max(5).meta({ format: 'int32' }).default(3),
      mode: z.enum(['A', 'B']).optional(),
      fixed: z.literal('x'),
      list: z.array(z.boolean()).min(1).max(2),
      map: z.record(z.string().max(3), z.int()),
      any: z.unknown().optional().describe('Anything.'),
    });
    assert.deepEqual(convert(schema), {
      type: 'object',
      properties: {
        name: { description: 'The name.', type: 'string', minLength: 1, maxLength: 9, pattern: '^a' },
        size: { type: 'integer', format: 'int32', default: 3, minimum: 1, maximum: 5 },
        mode: { type: 'string', enum: ['A', 'B'] },
        fixed: { type: 'string', enum: ['x'] },
        list: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'boolean' } },
        map: { type: 'object', additionalProperties: { type: 'integer' } },
        any: { description: 'Anything.', 'x-kubernetes-preserve-unknown-fields': true },
      },
      required: ['name', 'fixed', 'list', 'map'],
    });
  });

  test('rules become x-kubernetes-validations', () => {
    const schema = withRules(z.object({ a: z.string().optional(), b: z.string().optional() }), [
      oneOf(['a', 'b']),
      { cel: 'has(self.a)', message: 'required', path: ['a'], required: true, holds: ({ a }) => a !== undefined },
    ]);
    assert.deepEqual(convert(schema)['x-kubernetes-validations'], [
      { rule: '(has(self.a) ? 1 : 0) + (has(self.b) ? 1 : 0) == 1', message: 'must have exactly one of a and b' },
      { rule: 'has(self.a)', message: 'required', fieldPath: '.a', reason: 'FieldValueRequired' },
    ]);
  });

  test('a default is spelled out, for the rules that are checked on it', () => {
    const schema = z.object({
      outer: z.object({ a: z.int().default(1), b: z.object({ c: z.string().default('x') }).prefault({}) }).prefault({}),
    });
    const { properties } = convert(schema) as { properties: { outer: { default: unknown } } };
    assert.deepEqual(properties.outer.default, { a: 1, b: { c: 'x' } });
  });

  test('what is not supported yet stays documented', () => {
    assert.deepEqual(convert(notSupportedYet(z.string()).describe('A field.')), {
      description: 'A field. Not supported yet.',
      type: 'string',
    });
    assert.deepEqual(convert(notSupportedYet(z.enum(['A', 'B']), { values: ['B'] })), {
      description: 'B: not supported yet.',
      type: 'string',
      enum: ['A', 'B'],
    });
  });

  test('whole numbers or strings', () => {
    const schema = z
      .union([z.int().min(0), z.string().max(5).regex(/^a/, 'must begin with a')])
      .meta({ 'x-kubernetes-int-or-string': true });
    assert.deepEqual(convert(schema), {
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      minimum: 0,
      maxLength: 5,
      pattern: '^a',
      'x-kubernetes-int-or-string': true,
    });
  });

  test('free-form objects, with fields that can never be there', () => {
    const schema = openObjectSchema({
      namespace: refuse(z.string().max(9).optional(), 'remove it').describe('Always absent.'),
      inner: freeFormSchema().optional(),
    });
    assert.deepEqual(convert(schema), {
      type: 'object',
      properties: {
        namespace: { description: 'Always absent.', type: 'string', maxLength: 9 },
        inner: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
      'x-kubernetes-validations': [{ rule: '!has(self.__namespace__)', message: 'remove it', fieldPath: '.namespace' }],
      'x-kubernetes-preserve-unknown-fields': true,
    });
  });

  const refusedShapes: readonly (readonly [string, z.ZodType])[] = [
    ['anyOf', z.union([z.string(), z.int()])],
    ['nullable', z.string().nullable()],
    ['oneOf', z.discriminatedUnion('t', [z.object({ t: z.literal('a') }), z.object({ t: z.literal('b') })])],
    ['additionalProperties: false', z.strictObject({ a: z.string() })],
    ['a keyword that Kubernetes does not know', z.string().meta({ contentEncoding: 'base64' })],
    ['inside of a list', z.object({ a: z.array(z.strictObject({})) })],
  ];
  for (const [name, schema] of refusedShapes)
    test(`refuse ${name}`, () => assert.throws(() => convert(schema), StructuralSchemaError));
});

/** Every node that CEL rules or users can reach must be typed and bounded, or the API server refuses the rules as too costly. */
function visit(node: Readonly<Record<string, unknown>>, path: string, problems: string[]): void {
  if (node['x-kubernetes-preserve-unknown-fields'] === true && node['properties'] === undefined) return;
  if (typeof node['type'] !== 'string' && node['x-kubernetes-int-or-string'] !== true)
    problems.push(`${path} has no type`);
  if (typeof node['description'] !== 'string' && !path.endsWith('[]') && !path.endsWith('{}'))
    problems.push(`${path} has no description`);
  if (
    node['type'] === 'string' &&
    node['enum'] === undefined &&
    node['format'] === undefined &&
    node['maxLength'] === undefined
  )
    problems.push(`${path} has no maxLength`);
  if (node['type'] === 'array' && node['maxItems'] === undefined) problems.push(`${path} has no maxItems`);
  if (node['additionalProperties'] !== undefined && node['maxProperties'] === undefined)
    problems.push(`${path} has no maxProperties`);
  for (const [name, field] of Object.entries((node['properties'] ?? {}) as Record<string, Record<string, unknown>>))
    visit(field, `${path}.${name}`, problems);
  if (node['items'] !== undefined) visit(node['items'] as Record<string, unknown>, `${path}[]`, problems);
  if (node['additionalProperties'] !== undefined)
    visit(node['additionalProperties'] as Record<string, unknown>, `${path}{}`, problems);
}

describe('the CRDs', () => {
  for (const kind of ownKinds) {
    test(`${kind}: every field is typed, described and bounded`, () => {
      const crd = buildCustomResourceDefinition(kind) as {
        spec: {
          versions: [
            {
              subresources?: object;
              schema: {
                openAPIV3Schema: { properties: { spec: Record<string, unknown>; status?: Record<string, unknown> } };
              };
            },
          ];
        };
      };
      const problems: string[] = [];
      const { properties } = crd.spec.versions[0].schema.openAPIV3Schema;
      visit(properties.spec, 'spec', problems);
      if (properties.status !== undefined) visit(properties.status, 'status', problems);
      assert.deepEqual(problems, []);
      // A status that is described is written through its own subresource.
      assert.equal(crd.spec.versions[0].subresources !== undefined, properties.status !== undefined);
      assert.equal(properties.status !== undefined, kind !== 'GatewayParameters');
    });

    test(`${kind}: names and columns for kubectl`, () => {
      const { spec } = buildCustomResourceDefinition(kind) as {
        spec: {
          names: { shortNames: string[]; categories: string[] };
          versions: [{ additionalPrinterColumns: { name: string; jsonPath: string; description?: string }[] }];
        };
      };
      assert.deepEqual(spec.names.categories, ['gateway-api']);
      assert.equal(spec.names.shortNames.length, 1);
      const columns = spec.versions[0].additionalPrinterColumns;
      assert.ok(columns.length >= 3);
      assert.equal(columns.at(-1)?.jsonPath, '.metadata.creationTimestamp');
      for (const column of columns.slice(0, -1)) assert.ok(column.description !== undefined, column.name);
    });
  }
});
