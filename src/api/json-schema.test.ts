// The editor schema: every kind is in it, objects are closed, and it takes and refuses what the parser does.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as z from 'zod';
import { buildJsonSchema, buildKindJsonSchema } from './json-schema.ts';
import { kindNames } from './kinds.ts';
import { loadGoodResources, loadRefusedResources } from './testing/load-testdata.ts';

const schema = buildJsonSchema() as {
  properties: { kind: { enum: string[] } };
  allOf: unknown[];
  definitions: Record<string, Record<string, unknown>>;
};

function* listNodes(node: unknown, path: string): Generator<readonly [string, Record<string, unknown>]> {
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return;
  const at = node as Record<string, unknown>;
  yield [path, at];
  for (const [name, field] of Object.entries((at['properties'] ?? {}) as Record<string, unknown>))
    yield* listNodes(field, `${path}.${name}`);
  for (const keyword of ['items', 'additionalProperties']) yield* listNodes(at[keyword], `${path}.${keyword}`);
}

test('every kind is in it', () => {
  assert.deepEqual(schema.properties.kind.enum, kindNames);
  assert.deepEqual(Object.keys(schema.definitions), kindNames);
  assert.equal(schema.allOf.length, kindNames.length);
});

test('objects are closed, fields are described, and no mark of ours is left', () => {
  let count = 0;
  for (const kind of kindNames) {
    for (const [path, node] of listNodes(schema.definitions[kind], kind)) {
      count++;
      if (
        node['properties'] !== undefined &&
        // Pods are Kubernetes' own, and partly read.
        kind !== 'Pod' &&
        !/\.(resourceMetadata|overlays\.\w+|overlays\.\w+\.(metadata|spec))$/.test(path)
      )
        assert.equal(node['additionalProperties'], false, path);
      assert.deepEqual(
        Object.keys(node).filter((keyword) => keyword.startsWith('x-')),
        [],
        path,
      );
      if (!/\.(items|additionalProperties)$/.test(path)) assert.equal(typeof node['description'], 'string', path);
    }
  }
  assert.ok(count > 400, `only ${count} nodes were seen`);
});

/** A second opinion: the JSON Schema of a kind, read back. Its metadata keywords for editors are not part of the standard. */
function compile(kind: (typeof kindNames)[number]): z.ZodType {
  return z.fromJSONSchema(
    JSON.parse(
      JSON.stringify(buildKindJsonSchema(kind), (keyword, value: unknown) =>
        keyword === 'propertyNames' || keyword === 'errorMessage' || keyword === 'patternErrorMessage'
          ? undefined
          : value,
      ),
    ) as Parameters<typeof z.fromJSONSchema>[0],
  );
}

describe('agrees with the parser', () => {
  for (const resource of loadGoodResources()) {
    test(`takes ${resource.kind} ${resource.metadata.name}`, () =>
      assert.equal(compile(resource.kind).safeParse(resource).error, undefined));
  }
  for (const resource of loadRefusedResources()) {
    test(`refuses ${resource.kind} ${resource.metadata.name}`, () =>
      assert.equal(compile(resource.kind).safeParse(resource).success, false));
  }
  test('refuses an unknown field', () => {
    const [resource] = loadGoodResources();
    assert.equal(compile(resource!.kind).safeParse({ ...resource, unknown: 1 }).success, false);
  });
});
