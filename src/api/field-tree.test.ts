// The fields that are looked up one by one are those of the whole description.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { type FieldNode, listFields } from './field-tree.ts';
import { fileRuleKey, withFileRule } from './file-rules.ts';
import { freeFormSchema, nullRemovesKey, openObjectSchema } from './free-form.ts';
import { kindNames, kinds } from './kinds.ts';
import { notSupportedYet, refusalKey } from './not-supported-yet.ts';
import { describeSchema, type SchemaNode } from './schema-description.ts';

/** Goes through all fields of both, and returns how many there were. */
function compare(node: FieldNode, described: SchemaNode, path: string): number {
  const { properties, additionalProperties, items } = described;
  const isMapping = properties !== undefined || additionalProperties !== undefined;
  assert.deepEqual(node.refusal, described[refusalKey], path);
  assert.equal(node.fileRule, described[fileRuleKey], path);
  assert.equal(node.nullRemoves, described[nullRemovesKey] ?? false, path);
  assert.deepEqual(node.names, isMapping ? Object.keys(properties ?? {}) : undefined, path);
  let count = 1;
  for (const [name, field] of Object.entries(properties ?? {})) {
    count += compare(node.find(name)!, field, `${path}.${name}`);
  }
  assert.equal(node.find('noSuchField'), undefined, path);
  assert.equal(node.find('toString'), undefined, path);
  if (additionalProperties === undefined || additionalProperties === false) assert.equal(node.others, undefined, path);
  else count += compare(node.others!, additionalProperties, `${path}.*`);
  if (items === undefined) assert.equal(node.items, undefined, path);
  else count += compare(node.items!, items, `${path}[]`);
  return count;
}

for (const kind of kindNames) {
  test(`the fields of ${kind} are those of its description`, () => {
    const { schema } = kinds[kind];
    assert.ok(compare(listFields(schema), describeSchema(schema), kind) > 8);
  });
}

test('what is around a schema has its fields and its marks', () => {
  const inner = notSupportedYet(z.object({ a: z.string(), b: z.array(z.object({ c: z.int() })) }), { instead: 'x' });
  const schemas = {
    optional: inner.optional(),
    described: inner.optional().describe('words'),
    default: inner.default({ a: '', b: [] }),
    nullable: inner.nullable(),
    readonly: inner.readonly(),
    lazy: z.lazy(() => inner),
    piped: inner.transform((value) => value.a),
    remarked: notSupportedYet(inner.optional(), { instead: 'y' }),
    ruled: withFileRule(inner.optional(), 'field-tree-test', () => []),
    strict: z.strictObject({ a: inner }),
    open: openObjectSchema({ a: inner }),
    free: freeFormSchema().optional(),
    record: z.record(z.string(), inner),
    union: z.union([inner, z.string()]),
  };
  for (const [name, schema] of Object.entries(schemas)) compare(listFields(schema), describeSchema(schema), name);
  assert.equal(listFields(schemas.remarked).refusal?.message, 'not supported yet: y');
  assert.equal(listFields(schemas.described).find('b')?.items?.names?.[0], 'c');
});
