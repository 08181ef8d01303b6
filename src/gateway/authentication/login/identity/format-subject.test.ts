import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { formatPersonSubject } from './format-subject.ts';

test('kind, identity provider and subject', () => {
  assert.equal(formatPersonSubject('https://github.com', '583231'), 'person:https%3A%2F%2Fgithub.com:583231');
});

test('equal subjects of two identity providers are two people', () => {
  assert.notEqual(formatPersonSubject('https://a.example', '1'), formatPersonSubject('https://b.example', '1'));
  assert.notEqual(formatPersonSubject('a:b', 'c'), formatPersonSubject('a', 'b:c'));
  assert.notEqual(formatPersonSubject('a%3Ab', 'c'), formatPersonSubject('a:b', 'c'));
});

test('property: never two of different parts', () => {
  const part = fc.string({ unit: fc.constantFrom('a', ':', '%', '3', 'A', '/', 'é', ' ') });
  fc.assert(
    fc.property(part, part, part, part, (a, b, c, d) => {
      assert.equal(formatPersonSubject(a, b) === formatPersonSubject(c, d), a === c && b === d);
    }),
    { seed: 1, numRuns: 200 },
  );
});
