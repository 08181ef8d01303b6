import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { durationSchema, parseDuration } from './duration.ts';

test('GEP-2257 durations in milliseconds', () => {
  const cases: readonly (readonly [string, number])[] = [
    ['0s', 0],
    ['500ms', 500],
    ['10s', 10_000],
    ['1h30m', 5_400_000],
    ['1m1s1ms', 61_001],
    ['00001s', 1000],
    ['99999h', 359_996_400_000],
  ];
  for (const [text, expected] of cases) assert.equal(parseDuration(text), expected, text);
});

test('anything else is none, to the schema and to the parser', () => {
  for (const text of ['', '1', 's', '1d', '1.5s', '-1s', ' 1s', '1s ', '1S', '100000s', '1h1m1s1ms1h', '1s\n']) {
    assert.equal(durationSchema.safeParse(text).success, false, JSON.stringify(text));
    assert.throws(() => parseDuration(text), RangeError, JSON.stringify(text));
  }
});

test('the parser takes whatever the schema takes', () => {
  const part = fc
    .tuple(fc.nat(99_999), fc.constantFrom('h', 'm', 's', 'ms'))
    .map(([amount, unit]) => `${amount}${unit}`);
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const text = parts.join('');
      assert.ok(durationSchema.safeParse(text).success);
      assert.equal(
        parseDuration(text),
        parts.reduce((sum, one) => sum + parseDuration(one), 0),
      );
    }),
  );
});
