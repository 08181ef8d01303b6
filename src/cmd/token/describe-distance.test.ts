import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDistance } from './describe-distance.ts';

test('distances in the unit that a person would use, rounded down', () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, 'now'],
    [999, 'now'],
    [-999, 'now'],
    [1_000, 'in 1 s'],
    [59_999, 'in 59 s'],
    [60_000, 'in 1 min'],
    [-3_599_999, '59 min ago'],
    [-3 * 3_600_000, '3 h ago'],
    [86_400_000 - 1, 'in 23 h'],
    [86_400_000 * 400, 'in 400 d'],
  ];
  for (const [milliseconds, text] of cases) assert.equal(describeDistance(milliseconds), text);
});
