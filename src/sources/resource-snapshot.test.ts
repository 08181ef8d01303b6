import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { collectResources, listsByKind, type SnapshotEntry } from './resource-snapshot.ts';
import { kindNames } from '../api/kinds.ts';
import { validateResource } from './validate.ts';

function makeEntry(raw: object, place: string): SnapshotEntry<string> {
  const result = validateResource(raw, 'file');
  const { identity } = result;
  return result.ok
    ? { state: 'valid', identity, resource: result.resource, place }
    : { state: 'invalid', identity, invalid: { ...identity, raw: result.raw, problems: result.problems }, place };
}

const makeNamespace = (name: string): object => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const makeConfigMap = (name: string, namespace = 'default', value = 'x'): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data: { value },
});

describe('collectResources', () => {
  test('has a list for every kind', () => {
    assert.deepEqual(Object.keys(listsByKind).toSorted(), kindNames.toSorted());
  });

  test('of two for the same resource the first counts, and both places are told', () => {
    const first = makeEntry(makeConfigMap('a', 'default', 'first'), 'one');
    const second = makeEntry(makeConfigMap('a', 'default', 'second'), 'two');
    const { resources, inForce, duplicates } = collectResources([
      first,
      second,
      makeEntry(makeConfigMap('a', 'other'), 'three'),
    ]);
    assert.deepEqual(
      resources.configMaps.map(({ metadata, data }) => `${metadata.namespace} ${data['value']}`),
      ['default first', 'other x'],
    );
    assert.equal(inForce.length, 2);
    assert.deepEqual(duplicates, [{ duplicate: second, first }]);
  });

  test('resources of different kinds may share a name, and bad ones without a name are never the same', () => {
    const unnamed = { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} };
    const { resources, duplicates } = collectResources([
      makeEntry(makeNamespace('a'), ''),
      makeEntry(makeConfigMap('a'), ''),
      makeEntry(unnamed, ''),
      makeEntry(unnamed, ''),
    ]);
    assert.deepEqual(duplicates, []);
    assert.equal(resources.invalid.length, 2);
  });

  test('the order of entries without duplicates makes no difference', () => {
    const entries = ['a', 'b', 'c', 'd'].flatMap((name) => [
      makeEntry(makeNamespace(name), ''),
      makeEntry(makeConfigMap(name), ''),
      makeEntry(makeConfigMap(name, 'other'), ''),
      makeEntry({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, extra: 1 }, ''),
    ]);
    const expected = collectResources(entries).resources;
    fc.assert(
      fc.property(fc.shuffledSubarray(entries, { minLength: entries.length }), (shuffled) => {
        assert.deepEqual(collectResources(shuffled).resources, expected);
      }),
      { numRuns: 50 },
    );
  });
});
