// Strategic merge: the cases of Kubernetes' own description, and what holds for any object and any patch.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Json } from './merge-values.ts';
import { mergeStrategically, StrategicMergeError } from './strategic-merge.ts';

function pod(spec: object): Json {
  // Once through JSON, as it comes from the API server: fast-check makes objects without a prototype.
  return JSON.parse(JSON.stringify({ spec: { template: { spec } } })) as Json;
}

function merge(spec: object, change: object): unknown {
  return (mergeStrategically('Deployment', pod(spec), pod(change)) as { spec: { template: { spec: unknown } } }).spec
    .template.spec;
}

describe('mappings', () => {
  test('merge, and null removes', () => {
    assert.deepEqual(
      merge({ a: { x: 1, y: 2 }, b: 1 }, { a: { y: null, z: 3 }, b: null, c: null, d: { e: null, f: 1 } }),
      {
        a: { x: 1, z: 3 },
        d: { f: 1 },
      },
    );
  });

  test('$patch replaces or empties them', () => {
    assert.deepEqual(merge({ a: { x: 1 } }, { a: { $patch: 'replace', y: 2 } }), { a: { y: 2 } });
    assert.deepEqual(merge({ a: { x: 1 } }, { a: { $patch: 'delete' } }), { a: {} });
    assert.deepEqual(merge({ a: { x: 1 } }, { a: { $patch: 'merge', y: 2 } }), { a: { x: 1, y: 2 } });
  });

  test('another type takes the place of what was there', () => {
    assert.deepEqual(merge({ a: { x: 1 }, b: [1], c: 'x' }, { a: 'y', b: { z: 1 }, c: [2] }), {
      a: 'y',
      b: { z: 1 },
      c: [2],
    });
  });
});

describe('lists with a key', () => {
  const keyed: readonly (readonly [string, string])[] = [
    ['containers', 'name'],
    ['initContainers', 'name'],
    ['volumes', 'name'],
    ['imagePullSecrets', 'name'],
    ['hostAliases', 'ip'],
    ['topologySpreadConstraints', 'topologyKey'],
  ];
  for (const [list, key] of keyed) {
    test(`${list} by ${key}`, () => {
      const original = {
        [list]: [
          { [key]: 'a', x: 1 },
          { [key]: 'b', x: 1 },
        ],
      };
      assert.deepEqual(merge(original, { [list]: [{ [key]: 'b', y: 2 }, { [key]: 'c' }] }), {
        [list]: [{ [key]: 'a', x: 1 }, { [key]: 'b', x: 1, y: 2 }, { [key]: 'c' }],
      });
      assert.deepEqual(
        merge(original, {
          [list]: [
            { [key]: 'a', $patch: 'delete' },
            { [key]: 'z', $patch: 'delete' },
          ],
        }),
        {
          [list]: [{ [key]: 'b', x: 1 }],
        },
      );
      assert.deepEqual(merge(original, { [list]: [{ [key]: 'a', $patch: 'replace', z: 3 }] }), {
        [list]: [
          { [key]: 'a', z: 3 },
          { [key]: 'b', x: 1 },
        ],
      });
      assert.deepEqual(merge(original, { [list]: [{ $patch: 'replace' }, { [key]: 'c' }] }), {
        [list]: [{ [key]: 'c' }],
      });
      assert.deepEqual(merge(original, { [list]: [] }), original);
      assert.throws(
        () => merge(original, { [list]: [{ x: 1 }] }),
        new StrategicMergeError(
          `spec.template.spec.${list}[0] has no ${key}, the key by which list entries are merged`,
        ),
      );
      assert.throws(() => merge(original, { [list]: ['x'] }), StrategicMergeError);
    });
  }

  const inContainer: readonly (readonly [string, string])[] = [
    ['env', 'name'],
    ['ports', 'containerPort'],
    ['volumeMounts', 'mountPath'],
    ['volumeDevices', 'devicePath'],
  ];
  for (const [list, key] of inContainer) {
    test(`${list} of a container by ${key}`, () => {
      const original = {
        containers: [
          {
            name: 'gateway',
            [list]: [
              { [key]: 1, x: 1 },
              { [key]: 2, x: 1 },
            ],
          },
        ],
      };
      assert.deepEqual(merge(original, { containers: [{ name: 'gateway', [list]: [{ [key]: 2, x: 2 }] }] }), {
        containers: [
          {
            name: 'gateway',
            [list]: [
              { [key]: 1, x: 1 },
              { [key]: 2, x: 2 },
            ],
          },
        ],
      });
    });
  }

  test('ports of a Service by port, secrets of a ServiceAccount by name', () => {
    assert.deepEqual(
      mergeStrategically(
        'Service',
        { spec: { ports: [{ port: 80, name: 'http' }] } },
        { spec: { ports: [{ port: 80, nodePort: 30_080 }] } },
      ),
      { spec: { ports: [{ port: 80, name: 'http', nodePort: 30_080 }] } },
    );
    assert.deepEqual(mergeStrategically('ServiceAccount', { secrets: [{ name: 'a' }] }, { secrets: [{ name: 'b' }] }), {
      secrets: [{ name: 'a' }, { name: 'b' }],
    });
  });
});

describe('other lists are replaced', () => {
  test('tolerations, args, command, sources of volumes', () => {
    assert.deepEqual(merge({ tolerations: [{ key: 'a' }] }, { tolerations: [{ key: 'b' }] }), {
      tolerations: [{ key: 'b' }],
    });
    assert.deepEqual(
      merge({ containers: [{ name: 'a', args: ['x', 'y'] }] }, { containers: [{ name: 'a', args: ['z'] }] }),
      {
        containers: [{ name: 'a', args: ['z'] }],
      },
    );
  });

  test('what is inside is taken as it is, and an instruction there is refused', () => {
    assert.deepEqual(merge({}, { tolerations: [{ key: 'a', value: null }] }), { tolerations: [{ key: 'a' }] });
    assert.throws(
      () => merge({}, { tolerations: [{ key: 'a', $patch: 'delete' }] }),
      new StrategicMergeError(
        'spec.template.spec.tolerations[].$patch is not allowed here: the value around it is replaced as a whole',
      ),
    );
  });

  test('metrics of an autoscaler', () => {
    assert.deepEqual(
      mergeStrategically(
        'HorizontalPodAutoscaler',
        { spec: { metrics: [{ type: 'a' }] } },
        { spec: { metrics: [{ type: 'b' }] } },
      ),
      { spec: { metrics: [{ type: 'b' }] } },
    );
  });
});

const scalar = fc.oneof(fc.integer(), fc.string({ maxLength: 3 }), fc.boolean());
const name = fc.constantFrom('a', 'b', 'c', 'gateway');
const field = fc.constantFrom('x', 'y', 'z', 'image');
const anything = fc.letrec<{ value: unknown; mapping: object }>((tie) => ({
  value: fc.oneof({ maxDepth: 2 }, scalar, fc.array(scalar, { maxLength: 2 }), tie('mapping')),
  mapping: fc.dictionary(field, tie('value'), { maxKeys: 3 }),
}));
const container = fc
  .tuple(
    name,
    anything.mapping,
    fc.uniqueArray(fc.record({ name, value: scalar }), { selector: (item) => item.name, maxLength: 3 }),
  )
  .map(([called, rest, env]) => ({ ...rest, name: called, env }));
const podSpec = fc.record({
  containers: fc.uniqueArray(container, { selector: (item) => item.name, maxLength: 3 }),
  tolerations: fc.array(anything.mapping, { maxLength: 2 }),
  other: anything.value,
});
const patchValue = fc.letrec<{ value: unknown; mapping: object }>((tie) => ({
  value: fc.oneof({ maxDepth: 2 }, scalar, fc.constant(null), fc.array(scalar, { maxLength: 2 }), tie('mapping')),
  mapping: fc.dictionary(field, tie('value'), { maxKeys: 3 }),
}));
const patchContainer = fc
  .tuple(name, patchValue.mapping, fc.constantFrom(undefined, 'delete', 'replace', 'merge'))
  .map(([called, rest, directive]) => ({
    ...rest,
    name: called,
    ...(directive !== undefined && { $patch: directive }),
  }));
const podPatch = fc.record(
  {
    containers: fc.uniqueArray(patchContainer, { selector: (item) => item.name, maxLength: 3 }),
    tolerations: fc.array(anything.mapping, { maxLength: 2 }),
    other: patchValue.value,
  },
  { requiredKeys: [] },
);

function hasLeftovers(value: unknown): boolean {
  if (value === null) return true;
  if (Array.isArray(value)) return value.some(hasLeftovers);
  if (typeof value !== 'object') return false;
  return Object.entries(value).some(([key, inner]) => key === '$patch' || hasLeftovers(inner));
}

describe('for any object and any patch', () => {
  test('neither is changed, nothing but values is left, and a second time changes nothing', () => {
    fc.assert(
      fc.property(podSpec, podPatch, (spec, change) => {
        const [object, patch] = [pod(spec), pod(change)];
        const before = JSON.stringify([object, patch]);
        const once = mergeStrategically('Deployment', object, patch);
        assert.equal(JSON.stringify([object, patch]), before);
        assert.equal(hasLeftovers(once), false);
        assert.deepEqual(mergeStrategically('Deployment', once, patch), once);
      }),
    );
  });

  test('an empty patch changes nothing', () => {
    fc.assert(
      fc.property(podSpec, (spec) => assert.deepEqual(mergeStrategically('Deployment', pod(spec), {}), pod(spec))),
    );
  });

  test('an object as its own patch changes nothing', () => {
    fc.assert(
      fc.property(podSpec, (spec) =>
        assert.deepEqual(mergeStrategically('Deployment', pod(spec), pod(spec)), pod(spec)),
      ),
    );
  });

  test('containers that are not named stay as they are, in their order', () => {
    fc.assert(
      fc.property(podSpec, podPatch, (spec, change) => {
        const merged = merge(spec, { ...change, other: null }) as { containers: { name: string }[] };
        const named: ReadonlySet<string> = new Set((change.containers ?? []).map((item) => item.name));
        const others = spec.containers.filter((item) => !named.has(item.name));
        assert.deepEqual(
          merged.containers.filter((item) => !named.has(item.name)),
          JSON.parse(JSON.stringify(others)),
        );
      }),
    );
  });

  test('prototypes are out of reach', () => {
    const patch = JSON.parse('{"spec": {"__proto__": {"polluted": 1}, "a": [{"__proto__": {"polluted": 1}}]}}') as Json;
    const merged = mergeStrategically('Deployment', { spec: {} }, patch);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
    assert.equal((merged['spec'] as { polluted?: number }).polluted, undefined);
    assert.deepEqual(Object.keys(merged['spec'] as object), ['a']);
  });
});
