import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { findNearestName, listAlternatives, measureDistance } from './nearest-name.ts';

test('edit distance', () => {
  const cases: readonly (readonly [string, string, number])[] = [
    ['', '', 0],
    ['', 'abc', 3],
    ['hostname', 'hostnames', 1],
    ['nmae', 'name', 1],
    ['kitten', 'sitting', 3],
  ];
  for (const [left, right, expected] of cases) assert.equal(measureDistance(left, right), expected, `${left} ${right}`);
});

test('edit distance is symmetric, and zero only for equal names', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (left, right) => {
      assert.equal(measureDistance(left, right), measureDistance(right, left));
      assert.equal(measureDistance(left, right) === 0, left === right);
    }),
  );
});

test('suggestions', () => {
  const valid = ['hostnames', 'parentRefs', 'rules'];
  assert.equal(findNearestName('hostname', valid), 'hostnames');
  assert.equal(findNearestName('HOSTNAMES', valid), 'hostnames');
  assert.equal(findNearestName('parentRef', valid), 'parentRefs');
  assert.equal(findNearestName('rulse', valid), 'rules');
  assert.equal(findNearestName('listeners', valid), undefined);
  assert.equal(findNearestName('x'.repeat(1_000_000), valid), undefined);
  assert.equal(findNearestName('a', []), undefined);
});

test('alternatives', () => {
  assert.equal(listAlternatives([]), '');
  assert.equal(listAlternatives(['a']), 'a');
  assert.equal(listAlternatives(['a', 'b', 'c']), 'a, b or c');
});

const names = ['port', 'admin-port', 'target', 'log-level'];

for (const [typed, expected] of [
  ['prot', 'port'],
  ['ports', 'port'],
  ['Target', 'target'],
  ['loglevel', 'log-level'],
  ['adminport', 'admin-port'],
  ['banana', undefined],
  ['', undefined],
] as const) {
  test(`${typed || 'nothing'} -> ${expected ?? 'nothing'}`, () =>
    assert.equal(findNearestName(typed, names), expected));
}
