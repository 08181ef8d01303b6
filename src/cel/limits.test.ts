// What callers bring (claims, arguments, texts) is looked at only so long: a rule that would take longer has a problem, and then it denies.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileExpression } from './compile-expression.ts';
import type { ExpressionOutcome } from './expression.ts';
import { createVariables } from './testing/sample-variables.ts';

function evaluate(source: string, jwt: Readonly<Record<string, unknown>> = {}): ExpressionOutcome {
  const compiled = compileExpression(source, 'request');
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.problem.message);
  return compiled.expression.evaluate(createVariables({ jwt }));
}

const manyElements: ExpressionOutcome = { ok: false, problem: 'the rule looks at more than 10000 elements' };
const muchText: ExpressionOutcome = { ok: false, problem: 'the rule processes too much text' };
const yes: ExpressionOutcome = { ok: true, value: true };
const no: ExpressionOutcome = { ok: true, value: false };

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('elements', () => {
  const claims = { few: numbers(10_000), many: numbers(10_001), hundred: numbers(100), hundredOne: numbers(101) };
  for (const [source, expected] of [
    ['jwt.few.all(x, x >= 0)', yes],
    ['jwt.many.all(x, x >= 0)', manyElements],
    ['jwt.many.exists(x, x == 5)', yes],
    ['jwt.many.exists(x, x < 0)', manyElements],
    ['jwt.many.exists_one(x, x == 5)', manyElements],
    ['jwt.many.filter(x, x == 5) == [5]', manyElements],
    ['jwt.many.map(x, x) == []', manyElements],
    ['-1 in jwt.few', no],
    ['-1 in jwt.many', manyElements],
    ['5 in jwt.many', yes],
    ['jwt.few == jwt.few', yes],
    ['jwt.many == jwt.many', manyElements],
    ['jwt.few + [1] == []', manyElements],
    ['size(jwt.many) == 10001', yes],
    // All loops together.
    ['jwt.few.all(x, true) && jwt.hundred.all(x, true)', manyElements],
    ['jwt.hundred.all(x, jwt.hundred.all(y, true))', manyElements],
    ['jwt.hundred.filter(x, x < 99).all(x, jwt.hundred.all(y, true))', manyElements],
    ['jwt.hundred.filter(x, x < 98).size() == 98', yes],
    ['jwt.hundredOne.exists(x, jwt.hundredOne.exists(y, x + y < 0))', manyElements],
    // The problem is not made up for by anything that comes after it.
    ['jwt.many.all(x, x >= 0) || true', manyElements],
    ['jwt.many.exists(x, jwt.few.all(y, true) || true)', manyElements],
    ['true || jwt.many.all(x, true)', yes],
  ] as const)
    test(source, () => assert.deepEqual(evaluate(source, claims), expected));

  test('a list that doubles in every step', () => {
    const doubling = `[[1, 2]]${'.map(a, a + a)'.repeat(60)} == []`;
    assert.deepEqual(evaluate(doubling), manyElements);
  });
  test('lists inside lists, compared', () => {
    const nested = `[[1]]${'.map(a, [a, a])'.repeat(30)}`;
    assert.deepEqual(evaluate(`${nested} == ${nested}`), manyElements);
  });
  test('a map with many members', () => {
    const members = Object.fromEntries(numbers(10_001).map((index) => [`k${index}`, index]));
    assert.deepEqual(evaluate('jwt.all(k, k != "")', members), manyElements);
    assert.deepEqual(evaluate('jwt == jwt', members), manyElements);
    assert.deepEqual(evaluate('jwt.k5 == 5 && "k10000" in jwt', members), yes);
  });
});

describe('texts', () => {
  const claims = {
    long: 'a'.repeat(1_000_000),
    longer: 'a'.repeat(1_000_001),
    other: `${'a'.repeat(999_999)}b`,
    needle: `b${'a'.repeat(1000)}`,
    path: `/${'a'.repeat(8000)}`,
    lines: numbers(2000).map(String),
    members: Object.fromEntries(numbers(1000).map((index) => [`k${index}`, index])),
    zone: 'Europe/Berlin',
  };
  for (const [source, expected] of [
    ['jwt.long.contains("b")', no],
    ['jwt.long.startsWith("aaa") && jwt.long.endsWith("aaa")', yes],
    ['jwt.long.size() == 1000000', yes],
    ['jwt.long == jwt.long', yes],
    ['jwt.long.matches("^bcdef")', muchText],
    ['jwt.path.matches("^/a+$")', yes],
    ['jwt.path.matches("^/(a|aa)+$") && !jwt.path.matches("b$")', yes],
    ['jwt.lines.all(l, !jwt.path.matches("^b.*c"))', muchText],
    ['[1, 2, 3, 4, 5].all(x, (jwt.long + jwt.long).size() == 2000000)', muchText],
    ['jwt.long.split("").size() == 1', { ok: false, problem: 'the rule looks at more than 10000 elements' }],
    ['jwt.long.replace("a", "aaaaaaaaaa").size() == 1', muchText],
    ['jwt.long.lowerAscii() == jwt.long', yes],
    ['[1, 2, 3, 4, 5].all(x, jwt.long.lowerAscii() == jwt.long)', muchText],
    ['jwt.lines.map(l, jwt.path).join("").size() == 1', muchText],
    ['jwt.lines.all(l, jwt.long < jwt.longer)', muchText],
    ['jwt.lines.exists(l, jwt.long == jwt.other)', muchText],
    ['jwt.long.contains(jwt.needle)', muchText],
    ['jwt.lines.all(l, jwt.path.endsWith(jwt.path))', yes],
    ['jwt.lines.all(l, bytes(jwt.path).size() > 0)', muchText],
    ['jwt.lines.all(l, jwt.members.size() > 0 || true)', muchText],
    ['jwt.lines.all(l, request.time.getHours(jwt.zone) == 10)', muchText],
    ['jwt.lines.all(l, request.time.getHours("Europe/Berlin") == 10)', yes],
  ] as const)
    test(source, () => assert.deepEqual(evaluate(source, claims), expected));

  test('a text that doubles in every step', () => {
    assert.deepEqual(evaluate(`["ab"]${'.map(a, a + a)'.repeat(90)} == []`), muchText);
  });
  test('bytes that double in every step', () => {
    assert.deepEqual(evaluate(`[b"ab"]${'.map(a, a + a)'.repeat(90)} == []`), muchText);
  });
  test('a text that grows tenfold in every step', () => {
    assert.deepEqual(evaluate(`"a"${'.replace("a", "aaaaaaaaaa")'.repeat(50)} == ""`), muchText);
  });
});

describe('claims without end', () => {
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level += 1) deep = [deep];

  test('nesting that the stack cannot hold is a problem, not an exception', () => {
    const outcome = evaluate('jwt.a == jwt.b', { a: [deep], b: [deep] });
    assert.equal(outcome.ok, false);
  });
  test('what is not looked at costs nothing', () => {
    assert.deepEqual(evaluate('jwt.sub == "u" && size(jwt.deep) == 1', { deep, sub: 'u' }), yes);
  });
});
