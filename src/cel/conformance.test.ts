// The conformance suite of CEL (https://github.com/google/cel-spec/tree/master/tests/simple), as far as rules have what it asks for:
// an expression that must be true says that what the suite writes gives what the suite expects, in value and in type.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  getCheckingSuite,
  getConformanceSuite,
  getParsingSuite,
  type IncrementalTest,
  type IncrementalTestSuite,
} from '@bufbuild/cel-spec/testdata/tests.js';
import type { CelType } from './cel-type.ts';
import { checkNode } from './check-node.ts';
import { CheckScope } from './check-scope.ts';
import { compileExpression } from './compile-expression.ts';
import { ExpressionError } from './expression-error.ts';
import { parseExpression } from './parse-expression.ts';
import { createVariables } from './testing/sample-variables.ts';
import { spellValue } from './testing/spell-value.ts';

/** Parts of the suite about what rules do not have. */
const foreignParts: Readonly<Record<string, string>> = {
  bindings_ext: 'cel.bind',
  block_ext: 'cel.block',
  dynamic: 'messages of protobuf',
  encoders_ext: 'base64',
  enums: 'messages of protobuf',
  macros2: 'macros with two variables',
  math_ext: 'functions of math',
  namespace: 'containers',
  optionals: 'optional values',
  proto2: 'messages of protobuf',
  proto2_ext: 'messages of protobuf',
  proto3: 'messages of protobuf',
  wrappers: 'messages of protobuf',
};

/** The same within parts that concern us. */
const foreignSyntax =
  /TestAllTypes|google\.protobuf\.\w+\{|\.format\(|strings\.quote|\.reverse\(|`|\boptional|\w\.\?|\[\?/;

interface Case {
  readonly name: string;
  readonly test: IncrementalTest;
}

function* listCases(suite: IncrementalTestSuite, path: readonly string[] = []): Generator<Case> {
  for (const each of suite.tests) yield { name: [...path, each.name].join('/'), test: each };
  for (const child of suite.suites) yield* listCases(child, [...path, child.name]);
}

const cases = [...listCases(getConformanceSuite())].filter(
  ({ name, test: { original } }) =>
    foreignParts[name.split('/')[0]!] === undefined &&
    original.container === '' &&
    !original.disableMacros &&
    !foreignSyntax.test(original.expr),
);

const variables = createVariables({ jwt: {} });

/** Whether the suite's expression gives what it expects, in our words; undefined when they cannot say it. */
function translate({ test: { original } }: Case): string | undefined {
  const written = `(${original.expr}\n)`;
  const { resultMatcher } = original;
  const expected =
    resultMatcher.case === 'value'
      ? spellValue(resultMatcher.value)
      : resultMatcher.case === 'typedResult' && resultMatcher.value.result !== undefined
        ? spellValue(resultMatcher.value.result)
        : resultMatcher.case === undefined
          ? 'true'
          : undefined;
  if (expected === undefined) return undefined;
  const isNotANumber = expected === 'double("nan")';
  const claim = isNotANumber
    ? `dyn(${written}) != dyn(${written})`
    : `type(${written}) == type(${expected}) && dyn(${written}) == dyn(${expected})`;
  return bind(original, claim);
}

/** A variable of the suite becomes the variable of a loop over its one value. */
function bind(original: IncrementalTest['original'], claim: string): string | undefined {
  let bound: string | undefined = claim;
  for (const [name, { kind }] of Object.entries(original.bindings)) {
    const value = kind.case === 'value' ? spellValue(kind.value) : undefined;
    // A variable named a.b, or one that shadows a literal.
    if (value === undefined || /\.|^(?:true|false|null)$/.test(name)) return undefined;
    bound = `[${value}].exists(${name}, ${bound})`;
  }
  return bound;
}

describe('values', () => {
  let judged = 0;
  for (const part of new Set(cases.map(({ name }) => name.split('/').slice(0, 2).join('/')))) {
    test(part, () => {
      const wrong = cases
        .filter(
          ({ name, test: { original } }) => name.startsWith(`${part}/`) && original.resultMatcher.case !== 'evalError',
        )
        .flatMap((each) => {
          const source = translate(each);
          if (source === undefined) return [];
          const compiled = compileExpression(source, 'request');
          // What no checker lets pass has a value only for implementations that can go without.
          if (!compiled.ok && each.test.original.disableCheck) return [];
          judged += 1;
          const outcome = compiled.ok ? compiled.expression.evaluate(variables) : compiled.problem;
          return 'ok' in outcome && outcome.ok && outcome.value ? [] : [{ name: each.name, source, outcome }];
        });
      assert.deepEqual(wrong, []);
    });
  }
  test('most of the suite concerns rules', () => assert.ok(judged >= 970, `${judged} values`));
});

describe('errors', () => {
  const failing = cases.filter(({ test: { original } }) => original.resultMatcher.case === 'evalError');
  test('what has no value is refused when it is loaded, or has a problem', () => {
    const wrong = failing.flatMap((each) => {
      const source = bind(each.test.original, `dyn(${each.test.original.expr}\n)`);
      if (source === undefined) return [];
      const compiled = compileExpression(source, 'request');
      const outcome = compiled.ok ? compiled.expression.evaluate(variables) : undefined;
      return outcome?.ok === true ? [each.name] : [];
    });
    assert.deepEqual(wrong, []);
  });
  test('there are some', () => assert.ok(failing.length >= 130, `${failing.length} errors`));
});

/** As cel-go spells types. */
function spellType(type: CelType): string {
  if (type.kind === 'list') return `list(${spellType(type.element)})`;
  if (type.kind === 'map') return `map(${spellType(type.key)}, ${spellType(type.value)})`;
  return type.kind === 'none' ? 'dyn' : type.kind;
}

function findType(source: string): string {
  try {
    return spellType(checkNode(parseExpression(source), new CheckScope('request')).type);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return 'error';
  }
}

/** Ours may know less (`dyn`), never something else. */
function isAsWide(ours: string, theirs: string): boolean {
  const pattern = ours
    .replaceAll(/[()]/g, '\\$&')
    .replaceAll('dyn', '.+')
    .replaceAll(/\btype\b/g, 'type.*');
  return new RegExp(`^${pattern}$`).test(theirs);
}

/** Where the checker of cel-go is of another opinion, and why. */
const otherOpinions = [
  // The specification orders numbers across types; cel-go has it switched off.
  /^1u? (?:<=?|>=?) 1\.0 && /,
  // cel-go takes null for every type.
  /^null [<>]/,
  // Keys that no map can have.
  /^\{(?:3\.3|null):/,
  // Texts that are written out are converted when the rule is loaded.
  /^(?:bool|timestamp|duration)\('/,
  // cel-go allows less nesting.
  /^\(\(\(|^\[\[\[|^1 \+ 2 \+ 3/,
  // Its type variables, and its name for the accumulator.
  /^\{\}\.map\(c,\[c,type/,
  /^\[\]\.map\(x, \[\]\.map\(y, x in y/,
  /__result__/,
];

describe('types', () => {
  const suites = [getConformanceSuite(), getCheckingSuite(), getParsingSuite()];
  const checked = suites
    .flatMap((suite) => [...listCases(suite)])
    .filter(({ name, test: { original, type, error } }) => {
      const isOurs = foreignParts[name.split('/')[0]!] === undefined && !foreignSyntax.test(original.expr);
      const isClosed =
        original.typeEnv.length === 0 && original.container === '' && Object.keys(original.bindings).length === 0;
      // The checker of cel-go was tried with variables and functions of its own.
      const isKnown = !/\b(?:i[siuzdxb]|x|y|m|f[gi]_\w+)\b/.test(original.expr) || name.includes('/');
      return isOurs && isClosed && isKnown && (type !== undefined || error !== undefined);
    })
    .filter(({ test: { original } }) => !otherOpinions.some((opinion) => opinion.test(original.expr)));

  test('are those that cel-go finds', () => {
    const wrong = checked.flatMap(({ name, test: { original, type } }) => {
      const ours = findType(original.expr);
      return (type === undefined ? ours === 'error' : isAsWide(ours, type))
        ? []
        : [{ name, source: original.expr, ours, theirs: type }];
    });
    assert.deepEqual(wrong, []);
  });
  test('there are many', () => assert.ok(checked.length >= 1200, `${checked.length} expressions`));
});
