// Every field of every kind has a good case (testdata) and a bad one: wrong type, and refused where it is refused.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kindNames, kinds } from './kinds.ts';
import { refusalKey } from './not-supported-yet.ts';
import { parseResource } from './parse-resource.ts';
import { formatFieldPath } from './problem.ts';
import { describeSchema, type SchemaNode } from './schema-description.ts';
import { listProblems } from './testing/expect-problems.ts';
import { loadGoodResources, loadRefusedResources } from './testing/load-testdata.ts';

type Path = readonly (string | number)[];

const good = loadGoodResources();
const refused = loadRefusedResources();

/** Places in a value with the schema of each: [schema path, path, schema]. */
function* walk(
  node: SchemaNode,
  value: unknown,
  schemaPath: string,
  path: Path,
): Generator<readonly [string, Path, SchemaNode]> {
  yield [schemaPath, path, node];
  if (Array.isArray(value) && node.items !== undefined) {
    for (const [index, item] of value.entries()) yield* walk(node.items, item, `${schemaPath}[]`, [...path, index]);
  } else if (typeof value === 'object' && value !== null && node.properties !== undefined) {
    for (const [name, field] of Object.entries(node.properties)) {
      if (Object.hasOwn(value, name))
        yield* walk(field, (value as Record<string, unknown>)[name], `${schemaPath}.${name}`, [...path, name]);
    }
  }
}

function* listFields(node: SchemaNode, path: string): Generator<string> {
  for (const [name, field] of Object.entries(node.properties ?? {})) {
    yield `${path}.${name}`;
    yield* listFields(field, `${path}.${name}`);
  }
  if (node.items !== undefined) yield* listFields(node.items, `${path}[]`);
}

function replaceAt(value: unknown, [step, ...rest]: Path, replacement: unknown): unknown {
  if (step === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === step ? replaceAt(item, rest, replacement) : item));
  const mapping = value as Record<string, unknown>;
  return { ...mapping, [step]: replaceAt(mapping[step], rest, replacement) };
}

/** Filters, metadata and the like stand in several places with one schema; a case in one of them counts for all. */
function canonical(path: string): string {
  return path
    .replace(/^\w+\.metadata/, 'metadata')
    .replace('.backendRefs[].filters[]', '.filters[]')
    .replace('.responseHeaderModifier', '.requestHeaderModifier')
    .replace('.requestRedirect.path', '.urlRewrite.path')
    .replace(/^\w+\.status/, 'status');
}

describe('good cases', () => {
  for (const resource of good) {
    test(`${resource.kind} ${resource.metadata.name}`, () => assert.deepEqual(listProblems(resource), []));
  }

  test('reach every field of every kind', () => {
    const covered = new Set<string>();
    for (const resource of [...good, ...refused]) {
      for (const [path] of walk(describeSchema(kinds[resource.kind].schema), resource, resource.kind, []))
        covered.add(canonical(path));
    }
    // Experimental fields of which only the name is known, and a field that no resource of the kind may have.
    const none = new Set(['HTTPRoute.spec.rules[].filters[].externalAuth', 'metadata.namespace']);
    const missing = new Set<string>();
    let count = 0;
    for (const kind of kindNames) {
      for (const path of listFields(describeSchema(kinds[kind].schema), kind)) {
        count++;
        if (!covered.has(canonical(path)) && !none.has(canonical(path))) missing.add(path);
      }
    }
    assert.deepEqual([...missing], []);
    assert.ok(count > 400, `only ${count} fields were seen`);
  });
});

describe('a value of a wrong type', () => {
  for (const resource of good) {
    test(`${resource.kind} ${resource.metadata.name}`, () => {
      for (const [, path, node] of walk(describeSchema(kinds[resource.kind].schema), resource, '', [])) {
        if (path.length === 0 || node.type === undefined) continue;
        const wrong = node.type === 'string' || node.type === 'array' || node.type === 'boolean' ? 7 : 'seven';
        const result = parseResource(replaceAt(resource, path, wrong), { origin: 'file' });
        assert.equal(result.ok, false, formatFieldPath(path));
        const at = result.problems.map((problem) => formatFieldPath(problem.path));
        assert.ok(at.includes(formatFieldPath(path)), `${formatFieldPath(path)} is not among ${at.join(', ')}`);
      }
    });
  }

  for (const resource of refused) {
    test(`${resource.kind} ${resource.metadata.name}, behind what is refused`, () => {
      const { schema } = kinds[resource.kind];
      for (const [, path, node] of walk(describeSchema(schema), resource, '', [])) {
        if (path.length === 0 || node.type === undefined) continue;
        const wrong = node.type === 'string' || node.type === 'array' || node.type === 'boolean' ? 7 : 'seven';
        assert.equal(schema.safeParse(replaceAt(resource, path, wrong)).success, false, formatFieldPath(path));
      }
    });
  }
});

describe('an empty value', () => {
  test('is a problem in a file: it may be a slip that would switch something off', () => {
    for (const resource of good) {
      for (const [, path] of walk(describeSchema(kinds[resource.kind].schema), resource, '', [])) {
        if (path.length === 0 || path.at(-1) === 'creationTimestamp') continue;
        const problems = listProblems(replaceAt(resource, path, null));
        if (path.length === 1 && (path[0] === 'kind' || path[0] === 'apiVersion')) assert.equal(problems.length, 1);
        else
          assert.ok(
            problems.includes(`${formatFieldPath(path)}: is empty: give it a value or remove it`),
            `${formatFieldPath(path)}: ${problems.join('\n')}`,
          );
      }
    }
  });

  test('is an absent field in Kubernetes', () => {
    const gateway = good.find(({ kind }) => kind === 'Gateway');
    assert.deepEqual(listProblems(replaceAt(gateway, ['spec', 'addresses'], null), 'kubernetes'), []);
  });

  test('is what kubectl writes for creationTimestamp', () => {
    const gateway = good.find(({ kind }) => kind === 'Gateway');
    assert.deepEqual(listProblems(replaceAt(gateway, ['metadata', 'creationTimestamp'], null)), []);
  });
});

describe('what is not supported yet', () => {
  for (const resource of refused) {
    test(`${resource.kind} ${resource.metadata.name} is right in shape, and refused`, () => {
      const { schema } = kinds[resource.kind];
      assert.equal(schema.safeParse(resource).error, undefined);
      const marked: string[] = [];
      for (const [, path, node] of walk(describeSchema(schema), resource, '', [])) {
        const text = formatFieldPath(path);
        const refusal = node[refusalKey];
        if (refusal !== undefined) marked.push(`${text}: ${refusal.message}`);
      }
      assert.ok(marked.length > 0);
      assert.deepEqual(listProblems(resource).toSorted(), marked.toSorted());
    });
  }

  test('has the code not_supported_yet', () => {
    for (const resource of refused.filter(
      ({ metadata }) =>
        !['with-pods', 'exported', 'identity', 'class-with-parameters', 'deployed'].includes(metadata.name),
    )) {
      const result = parseResource(resource, { origin: 'file' });
      assert.ok(!result.ok);
      assert.deepEqual(
        [...new Set(result.problems.map(({ code }) => code))],
        ['not_supported_yet'],
        resource.metadata.name,
      );
    }
  });

  test('what only makes no sense in files is accepted from Kubernetes', () => {
    for (const name of ['with-pods', 'hints', 'exported', 'class-with-parameters', 'deployed']) {
      const resource = refused.find(({ metadata }) => metadata.name === name);
      assert.deepEqual(listProblems(resource, 'kubernetes'), [], name);
    }
  });
});
