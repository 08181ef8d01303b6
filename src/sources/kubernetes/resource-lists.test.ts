import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Kind } from '../../api/kinds.ts';
import { emptyResources, type Resources } from '../../api/resources.ts';
import { collectResources, listsByKind, type SnapshotEntry } from '../resource-snapshot.ts';
import { validateResource } from '../validate.ts';
import type { Outcome } from './cached-object.ts';
import { formatObjectKey, splitObjectKey } from './object-key.ts';
import { createResourceLists } from './resource-lists.ts';

const template = validateResource({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }, 'kubernetes');

/** A new object each time, as after a change. */
function makeConfigMap(namespace: string, name: string): Outcome {
  assert.ok(template.ok && template.resource.kind === 'ConfigMap');
  const { resource } = template.resource;
  return { state: 'valid', resource: { ...resource, metadata: { ...resource.metadata, namespace, name } } };
}

function makeInvalid(kind: string, namespace: string, name: string): Outcome {
  return { state: 'invalid', invalid: { kind, namespace, name, raw: {}, problems: [] } };
}

test('nothing changed: the same resources; lists of other kinds stay the same arrays', () => {
  const lists = createResourceLists();
  assert.equal(lists.build(), emptyResources);
  const [a, b] = [makeConfigMap('x', 'a'), makeConfigMap('x', 'b')];
  lists.update('ConfigMap', 'x a', a);
  const one = lists.build();
  assert.notEqual(one, emptyResources);
  assert.equal(one.secrets, emptyResources.secrets);
  lists.update('ConfigMap', 'x a', a);
  lists.update('ConfigMap', 'x gone', undefined);
  assert.equal(lists.build(), one);
  lists.update('ConfigMap', 'x b', b);
  const two = lists.build();
  assert.equal(two.configMaps.length, 2);
  assert.equal(two.configMaps[0], one.configMaps[0]);
  assert.equal(two.invalid, one.invalid);
  assert.equal(one.configMaps.length, 1, 'what was given out is not changed');
  assert.equal(lists.count('ConfigMap'), 2);
});

test('keys sort as pairs of namespace and name', () => {
  const names = ['a', 'a-b', 'a.b', 'b', 'a1', '0'];
  const pairs = names.flatMap((namespace) => names.map((name) => ({ namespace, name })));
  const expected = pairs.toSorted((left, right) =>
    left.namespace === right.namespace ? (left.name < right.name ? -1 : 1) : left.namespace < right.namespace ? -1 : 1,
  );
  assert.deepEqual(
    pairs
      .map(({ namespace, name }) => formatObjectKey(namespace, name))
      .toSorted()
      .map((key) => splitObjectKey(key)),
    expected,
  );
});

test('after any changes the lists are those of a collection from scratch', () => {
  const kinds: Kind[] = ['ConfigMap', 'HTTPRoute', 'Gateway'];
  const change = fc.record({
    kind: fc.constantFrom(...kinds),
    namespace: fc.constantFrom('a', 'a-b', 'b'),
    name: fc.stringMatching(/^[a-c][a-c.-]?[a-c]$/),
    what: fc.constantFrom('valid', 'invalid', 'gone'),
  });
  fc.assert(
    // Long batches take the other way through the lists.
    fc.property(fc.array(fc.array(change, { maxLength: 200, size: 'large' }), { maxLength: 6 }), (batches) => {
      const lists = createResourceLists();
      const model = new Map<string, { kind: Kind; outcome: Outcome }>();
      let resources: Resources = emptyResources;
      for (const batch of batches) {
        for (const { kind, namespace, name, what } of batch) {
          const key = formatObjectKey(namespace, name);
          const outcome =
            what === 'gone'
              ? undefined
              : what === 'valid' && kind === 'ConfigMap'
                ? makeConfigMap(namespace, name)
                : makeInvalid(kind, namespace, name);
          lists.update(kind, key, outcome);
          if (outcome === undefined) model.delete(`${kind} ${key}`);
          else model.set(`${kind} ${key}`, { kind, outcome });
        }
        resources = lists.build();
      }
      const entries = [...model].map(([id, { kind, outcome }]): SnapshotEntry<undefined> => {
        const identity = { kind, ...splitObjectKey(id.slice(kind.length + 1)) };
        return outcome.state === 'valid'
          ? {
              state: 'valid',
              identity,
              resource: { ok: true, kind, resource: outcome.resource } as never,
              place: undefined,
            }
          : { state: 'invalid', identity, invalid: outcome.invalid, place: undefined };
      });
      assert.deepEqual(resources, collectResources(entries).resources);
      for (const kind of kinds)
        assert.equal(lists.count(kind), [...model.values()].filter((entry) => entry.kind === kind).length);
    }),
    { numRuns: 60 },
  );
});

test('every kind has a list', () => {
  const lists = createResourceLists();
  for (const kind of Object.keys(listsByKind) as Kind[]) lists.update(kind, 'x a', makeInvalid(kind, 'x', 'a'));
  assert.deepEqual(
    lists.build().invalid.map(({ kind }) => kind),
    Object.keys(listsByKind).toSorted(),
  );
});
